#include "server/store/content_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/content_state.h"

namespace neffcache {
namespace {

// The store puts regular files there and nothing else: whatever else stands there is damage, and
// is neither followed nor waited for.
absl::StatusOr<Fd> OpenRegular(const std::string& path) {
  int fd;
  do {
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  } while (fd < 0 && errno == EINTR);
  // A symbolic link or a socket.
  const bool never_ours = fd < 0 && (errno == ELOOP || errno == ENXIO);
  if (fd < 0 && !never_ours) return absl::ErrnoToStatus(errno, absl::StrCat("opening ", path));
  Fd owned(fd);
  struct stat info = {};
  if (!never_ours && fstat(fd, &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("looking at ", path));
  }
  if (never_ours || !S_ISREG(info.st_mode)) {
    return absl::DataLossError(absl::StrCat("opening ", path, ": it is no regular file"));
  }
  return owned;
}

}  // namespace

ContentFiles::ContentFiles(StoreLayout layout, const SpaceGuard& guard, uint64_t inline_limit)
    : layout_(std::move(layout)),
      directory_(layout_.artifacts()),
      guard_(guard),
      inline_limit_(inline_limit) {}

absl::StatusOr<ContentWriter> ContentFiles::Stage(ContentKind kind) const {
  RETURN_IF_ERROR(guard_.Check());
  const uint64_t in_memory = kind == ContentKind::kArtifact ? inline_limit_ : 0;
  return ContentWriter(
      std::make_unique<ContentWriter::State>(kind, layout_.temporary(), in_memory, guard_));
}

bool ContentFiles::IsInline(const StagedContent& content) {
  return !content.state_->file.has_value();
}

absl::string_view ContentFiles::InlineBytes(const StagedContent& content) {
  return content.state_->memory;
}

std::string ContentFiles::ArtifactPath(const Digest& digest) const {
  return directory_.PathOf(digest.Hex());
}

std::string ContentFiles::CompressedPath(const Digest& digest) const {
  return absl::StrCat(ArtifactPath(digest), ".zst");
}

absl::Status ContentFiles::Keep(StagedContent content) {
  StagedContent::State& state = *content.state_;
  content.ReleaseUncompressed();
  if (!state.file.has_value()) return absl::InternalError("keeping content: it has no file");
  const std::string path = state.kind == ContentKind::kArtifact ? ArtifactPath(state.digest)
                                                                : CompressedPath(state.digest);
  RETURN_IF_ERROR(directory_.Prepare(state.digest.Hex()));
  return NeverNotFound(state.file->CommitAs(path, Durability::kSynced));
}

absl::StatusOr<ContentReader> ContentFiles::Open(const std::string& path) const {
  absl::StatusOr<Fd> file = OpenRegular(path);
  if (absl::IsNotFound(file.status())) {
    // With the whole store gone, a missing file says nothing about the file.
    ASSIGN_OR_RETURN(const std::string id, layout_.ReadId());
    if (id.empty()) return NeverNotFound(file.status());
  }
  if (!file.ok()) return std::move(file).status();
  auto state = std::make_unique<ContentReader::State>();
  state->file = *std::move(file);
  state->name = path;
  ASSIGN_OR_RETURN(state->size, FileSize(state->file.get(), path));
  return ContentReader(std::move(state));
}

absl::StatusOr<ContentReader> ContentFiles::OpenArtifact(const Digest& digest,
                                                         uint64_t size) const {
  ASSIGN_OR_RETURN(ContentReader reader, Open(ArtifactPath(digest)));
  if (reader.stored_size() == size) return reader;
  return absl::DataLossError(absl::StrCat("opening artifact ", digest.Hex(), ": its file has ",
                                          reader.stored_size(), " bytes instead of ", size));
}

absl::StatusOr<ContentReader> ContentFiles::OpenCompressed(const Digest& digest) const {
  return Open(CompressedPath(digest));
}

ContentReader ContentFiles::FromMemory(std::string bytes) {
  auto state = std::make_unique<ContentReader::State>();
  state->size = bytes.size();
  state->memory = std::move(bytes);
  return ContentReader(std::move(state));
}

absl::Status ContentFiles::RemoveArtifact(const Digest& digest) const {
  const std::string path = ArtifactPath(digest);
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return Remove(path);
  // Somebody's directory would be in the way of the next commit: out of it, until the next start.
  const std::string aside = absl::StrCat(layout_.temporary(), "/", digest.Hex(), ".damaged");
  if (std::rename(path.c_str(), aside.c_str()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("moving ", path, " to ", aside));
}

absl::Status ContentFiles::RemoveCompressed(const Digest& digest) const {
  return Remove(CompressedPath(digest));
}

absl::Status ContentFiles::Remove(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("deleting ", path));
}

}  // namespace neffcache
