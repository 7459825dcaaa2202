#include "client/verified_file.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "transport/framing.h"

namespace neffcache {
namespace {

// More than gRPC's GRPC_SLICE_INLINED_SIZE.
constexpr size_t kMayBeInline = 64;

std::string Writing(const std::string& path) {
  return absl::StrCat("writing ", path);
}

// An error of the file layer, told of the path that the user knows.
absl::Status OfPath(const absl::Status& status, const std::string& path) {
  const absl::string_view message = status.message();
  const size_t at = message.rfind(": ");
  return absl::Status(
      status.code(),
      absl::StrCat(Writing(path), ": ",
                   at == absl::string_view::npos ? message : message.substr(at + 2)));
}

// Where the bytes go: through a symbolic link to the file behind it. A rename onto a device or pipe
// would replace it.
absl::StatusOr<std::string> FinalPath(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("writing an artifact: its path is empty");
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return path;
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(Writing(path), ": it is a directory"));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(Writing(path), ": it is not a regular file"));
  }
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

// One system call for the many small slices of a piece.
absl::Status WriteParts(int fd, std::vector<iovec> parts, const std::string& path) {
  size_t first = 0;
  while (first < parts.size()) {
    const int count = static_cast<int>(std::min<size_t>(parts.size() - first, IOV_MAX));
    ssize_t n = writev(fd, parts.data() + first, count);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, Writing(path));
    for (; first < parts.size() && static_cast<size_t>(n) >= parts[first].iov_len; ++first) {
      n -= static_cast<ssize_t>(parts[first].iov_len);
    }
    if (n > 0) {
      parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + n;
      parts[first].iov_len -= static_cast<size_t>(n);
    }
  }
  return absl::OkStatus();
}

absl::Status Damaged(const std::string& path, const Digest& digest, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat(Writing(path), ": artifact ", digest.Hex(), " arrived damaged: ", what));
}

}  // namespace

absl::StatusOr<std::unique_ptr<VerifiedFile>> VerifiedFile::Create(const std::string& path,
                                                                   const Digest& digest,
                                                                   uint64_t size) {
  ASSIGN_OR_RETURN(AtomicFile file, CreateOutput(path));
  return std::unique_ptr<VerifiedFile>(new VerifiedFile(std::move(file), path, digest, size));
}

VerifiedFile::VerifiedFile(AtomicFile file, std::string path, const Digest& digest, uint64_t size)
    : file_(std::move(file)), path_(std::move(path)), digest_(digest), size_(size) {}

absl::Status VerifiedFile::Append(const grpc::ByteBuffer& piece) {
  std::vector<iovec> parts;
  std::deque<std::string> small;
  RETURN_IF_ERROR(ReadPiece(piece, [&](absl::string_view bytes) {
    written_ += bytes.size();
    // A few bytes live inside their slice object and go with it; more are kept by the piece.
    if (bytes.size() < kMayBeInline) bytes = small.emplace_back(bytes);
    parts.push_back({const_cast<char*>(bytes.data()), bytes.size()});
    return absl::OkStatus();
  }));
  if (written_ > size_) {
    return Damaged(path_, digest_, absl::StrCat("it has more than its ", size_, " bytes"));
  }
  hash_.Add(piece);
  return WriteParts(file_.fd(), std::move(parts), path_);
}

absl::Status VerifiedFile::Commit() {
  if (written_ != size_) {
    return Damaged(path_, digest_, absl::StrCat("it has ", written_, " bytes instead of ", size_));
  }
  const Digest digest = hash_.Finish();
  if (digest != digest_) {
    return Damaged(path_, digest_, absl::StrCat("its bytes have the digest ", digest.Hex()));
  }
  if (absl::Status status = file_.Commit(Durability::kBuffered); !status.ok()) {
    return OfPath(status, path_);
  }
  return absl::OkStatus();
}

absl::Status CheckOutput(const std::string& path) {
  return FinalPath(path).status();
}

absl::StatusOr<AtomicFile> CreateOutput(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string final_path, FinalPath(path));
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(final_path);
  if (!file.ok()) return OfPath(file.status(), path);
  return file;
}

absl::Status WriteVerified(const std::string& path, absl::string_view bytes, const Digest& digest) {
  if (const Digest actual = Sha256Of(bytes); actual != digest) {
    return Damaged(path, digest, absl::StrCat("its bytes have the digest ", actual.Hex()));
  }
  ASSIGN_OR_RETURN(AtomicFile file, CreateOutput(path));
  absl::Status status = file.Write(bytes);
  if (status.ok()) status = file.Commit(Durability::kBuffered);
  return status.ok() ? status : OfPath(status, path);
}

}  // namespace neffcache
