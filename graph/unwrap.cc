#include "graph/unwrap.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "io/zstd.h"

namespace neffcache {
namespace {

constexpr absl::string_view kGzipMagic("\x1f\x8b", 2);
constexpr absl::string_view kZstdMagic("\x28\xb5\x2f\xfd", 4);

// Owns a zlib stream that reads gzip.
class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) std::abort();  // Out of memory.
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  absl::Status Run(absl::string_view in, uint64_t limit, std::string* out) {
    constexpr size_t kMostAtOnce = size_t{1} << 30;  // zlib counts in 32 bits.
    std::vector<char> piece(64 << 10);
    for (;;) {
      if (stream_.avail_in == 0) {
        const size_t size = std::min(in.size(), kMostAtOnce);
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
        stream_.avail_in = static_cast<uInt>(size);
        in.remove_prefix(size);
      }
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream_.avail_out = static_cast<uInt>(piece.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      const size_t made = piece.size() - stream_.avail_out;
      if (made > limit - out->size()) {
        return absl::ResourceExhaustedError(
            absl::StrCat("unwrapping gzip: more than ", limit, " bytes come out"));
      }
      out->append(piece.data(), made);
      if (result == Z_STREAM_END) {
        if (stream_.avail_in == 0 && in.empty()) return absl::OkStatus();
        if (inflateReset(&stream_) != Z_OK) std::abort();  // A broken library.
      } else if (result == Z_BUF_ERROR ||
                 (result == Z_OK && made == 0 && stream_.avail_in == 0 && in.empty())) {
        return absl::DataLossError("unwrapping gzip: the input is cut short");
      } else if (result != Z_OK) {
        return absl::DataLossError("unwrapping gzip: the input is damaged");
      }
    }
  }

 private:
  z_stream stream_ = {};
};

}  // namespace

absl::StatusOr<absl::string_view> Unwrap(absl::string_view bytes, uint64_t limit,
                                         std::string* storage) {
  if (absl::StartsWith(bytes, kGzipMagic)) {
    storage->clear();
    Inflater inflater;
    if (absl::Status status = inflater.Run(bytes, limit, storage); !status.ok()) return status;
    return absl::string_view(*storage);
  }
  if (absl::StartsWith(bytes, kZstdMagic)) {
    absl::StatusOr<std::string> unwrapped = ZstdDecompress(bytes, limit);
    if (!unwrapped.ok()) return unwrapped.status();
    *storage = *std::move(unwrapped);
    return absl::string_view(*storage);
  }
  return bytes;
}

}  // namespace neffcache
