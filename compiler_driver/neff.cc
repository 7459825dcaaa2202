#include "compiler_driver/neff.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

constexpr size_t kTarMagicOffset = 257;
constexpr absl::string_view kTarMagic = "ustar";
constexpr absl::string_view kGzipMagic = "\x1f\x8b";

uint64_t LittleEndian(absl::string_view bytes, size_t offset, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[offset + i]);
  return value;
}

// Text in a field of fixed size, padded with NULs.
std::string Text(absl::string_view bytes, size_t offset, size_t size) {
  const absl::string_view field = bytes.substr(offset, size);
  return std::string(field.substr(0, field.find('\0')));
}

NeffHeader Parse(absl::string_view bytes) {
  NeffHeader header;
  header.pkg_version = LittleEndian(bytes, 0, 8);
  header.data_size = LittleEndian(bytes, 16, 8);
  header.version_major = LittleEndian(bytes, 24, 8);
  header.version_minor = LittleEndian(bytes, 32, 8);
  header.build_version = Text(bytes, 40, 128);
  std::copy_n(bytes.begin() + 204, header.uuid.size(), header.uuid.begin());
  header.name = Text(bytes, 220, 256);
  header.feature_bits = LittleEndian(bytes, 544, 8);
  header.lnc_size = static_cast<uint32_t>(LittleEndian(bytes, 552, 4));
  return header;
}

}  // namespace

absl::StatusOr<NeffHeader> CheckNeff(absl::string_view prefix, uint64_t file_size) {
  if (file_size < NeffHeader::kSize || prefix.size() < NeffHeader::kSize) {
    return absl::DataLossError(absl::StrCat("not a complete NEFF: it has ", file_size,
                                            " bytes, its header alone has ", NeffHeader::kSize));
  }
  const uint64_t header_size = LittleEndian(prefix, 8, 8);
  if (header_size != NeffHeader::kSize) {
    return absl::DataLossError(absl::StrCat("not a NEFF: its header states its own size as ",
                                            header_size, " bytes instead of ", NeffHeader::kSize));
  }
  NeffHeader header = Parse(prefix);
  if (header.data_size != file_size - NeffHeader::kSize) {
    return absl::DataLossError(absl::StrCat("not a complete NEFF: its header announces ",
                                            header.data_size, " bytes of payload, it has ",
                                            file_size - NeffHeader::kSize));
  }
  if (header.version_major != 1 && header.version_major != 2) {
    return absl::DataLossError(absl::StrCat("a NEFF of unknown version ", header.version_major, ".",
                                            header.version_minor, "; versions 1 and 2 are known"));
  }
  const absl::string_view payload = prefix.substr(NeffHeader::kSize);
  const bool gzip = payload.substr(0, kGzipMagic.size()) == kGzipMagic;
  const bool tar = payload.size() >= kTarMagicOffset + kTarMagic.size() &&
                   payload.substr(kTarMagicOffset, kTarMagic.size()) == kTarMagic;
  if (!gzip && !tar) {
    return absl::DataLossError("not a NEFF: its payload is neither gzip nor tar");
  }
  if (std::all_of(header.uuid.begin(), header.uuid.end(), [](uint8_t b) { return b == 0; })) {
    return absl::DataLossError("not a complete NEFF: its uuid is zero");
  }
  return header;
}

absl::StatusOr<NeffHeader> CheckNeffFile(const std::string& path) {
  ASSIGN_OR_RETURN(const Fd fd, OpenForRead(path));
  ASSIGN_OR_RETURN(const uint64_t size, FileSize(fd.get(), path));
  char prefix[kNeffPrefixSize];
  ASSIGN_OR_RETURN(const size_t got, ReadAt(fd.get(), 0, std::span<char>(prefix), path));
  absl::StatusOr<NeffHeader> header = CheckNeff(absl::string_view(prefix, got), size);
  if (!header.ok()) {
    return absl::Status(header.status().code(),
                        absl::StrCat(path, " is ", header.status().message()));
  }
  return header;
}

}  // namespace neffcache
