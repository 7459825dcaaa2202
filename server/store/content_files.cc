#include "server/store/content_files.h"

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/content_state.h"

namespace neffcache {

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
  absl::StatusOr<Fd> file = OpenForRead(path);
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
  return Remove(ArtifactPath(digest));
}

absl::Status ContentFiles::RemoveCompressed(const Digest& digest) const {
  return Remove(CompressedPath(digest));
}

absl::Status ContentFiles::Remove(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("deleting ", path));
}

}  // namespace neffcache
