#include "server/store/content.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "server/store/content_state.h"
#include "server/store/layout.h"

namespace neffcache {
namespace {

constexpr uint64_t kGraphLimit = uint64_t{8} << 30;
constexpr uint64_t kLogLimit = uint64_t{256} << 20;
constexpr uint64_t kCheckSpaceEvery = uint64_t{8} << 20;

uint64_t DefaultLimit(ContentKind kind) {
  switch (kind) {
    case ContentKind::kArtifact:
      return std::numeric_limits<uint64_t>::max();
    case ContentKind::kGraph:
      return kGraphLimit;
    case ContentKind::kLog:
      return kLogLimit;
  }
  return 0;
}

// Most that `limit` bytes take as zstd. Without this, a stream of empty frames has no end.
uint64_t CompressedLimit(uint64_t limit) {
  constexpr uint64_t kHeadroom = uint64_t{1} << 20;
  const uint64_t extra = limit / 64 + kHeadroom;
  return limit > std::numeric_limits<uint64_t>::max() - extra ? limit : limit + extra;
}

absl::Status TooLarge(uint64_t limit) {
  return absl::ResourceExhaustedError(absl::StrCat("storing: more than ", limit, " bytes"));
}

absl::StatusOr<AtomicFile> TemporaryIn(const std::string& directory) {
  // The final name is known when all is hashed.
  absl::StatusOr<AtomicFile> file = AtomicFile::CreateIn(directory, directory);
  if (!file.ok()) return NeverNotFound(file.status());
  return file;
}

}  // namespace

StagedContent::StagedContent(std::unique_ptr<State> state) : state_(std::move(state)) {}
StagedContent::StagedContent(StagedContent&&) noexcept = default;
StagedContent& StagedContent::operator=(StagedContent&&) noexcept = default;
StagedContent::~StagedContent() = default;

ContentKind StagedContent::kind() const {
  return state_->kind;
}

const Digest& StagedContent::digest() const {
  return state_->digest;
}

uint64_t StagedContent::size() const {
  return state_->size;
}

const std::string& StagedContent::uncompressed_path() const {
  return state_->plain_path;
}

void StagedContent::ReleaseUncompressed() {
  state_->plain.reset();
  state_->plain_path.clear();
}

ContentWriter::State::State(ContentKind k, std::string directory, uint64_t memory_bytes,
                            const SpaceGuard& space)
    : temporary_directory(std::move(directory)),
      memory_limit(memory_bytes),
      guard(space),
      limit(DefaultLimit(k)) {
  content.kind = k;
}

absl::Status ContentWriter::State::Append(absl::string_view bytes) {
  if (content.kind != ContentKind::kArtifact) return Unfold(bytes);
  if (bytes.size() > limit - content.size) return TooLarge(limit);
  hash.Update(bytes);
  content.size += bytes.size();
  return Store(bytes);
}

absl::Status ContentWriter::State::Unfold(absl::string_view bytes) {
  if (stored + bytes.size() > CompressedLimit(limit)) return TooLarge(limit);
  if (!unfold.has_value()) unfold.emplace(limit);
  if (content.kind == ContentKind::kGraph && !content.plain.has_value()) {
    ASSIGN_OR_RETURN(content.plain, TemporaryIn(temporary_directory));
    content.plain_path = content.plain->temporary_path();
  }
  RETURN_IF_ERROR(unfold->Write(bytes, [this](absl::string_view plain) {
    hash.Update(plain);
    content.size += plain.size();
    since_check += plain.size();
    return content.plain.has_value() ? content.plain->Write(plain) : absl::OkStatus();
  }));
  return Store(bytes);
}

absl::Status ContentWriter::State::Store(absl::string_view bytes) {
  stored += bytes.size();
  if (!content.file.has_value() && stored <= memory_limit) {
    content.memory.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  since_check += bytes.size();
  if (since_check > kCheckSpaceEvery) {
    RETURN_IF_ERROR(guard.Check());
    since_check = 0;
  }
  if (!content.file.has_value()) {
    ASSIGN_OR_RETURN(content.file, TemporaryIn(temporary_directory));
    RETURN_IF_ERROR(content.file->Write(content.memory));
    content.memory = std::string();
  }
  return content.file->Write(bytes);
}

ContentWriter::ContentWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ContentWriter::ContentWriter(ContentWriter&&) noexcept = default;
ContentWriter& ContentWriter::operator=(ContentWriter&&) noexcept = default;
ContentWriter::~ContentWriter() = default;

absl::Status ContentWriter::Write(absl::string_view bytes) {
  if (state_->failed) return absl::FailedPreconditionError("storing: an earlier write failed");
  absl::Status status = state_->Append(bytes);
  state_->failed = !status.ok();
  return status;
}

void ContentWriter::SetLimit(uint64_t uncompressed_bytes) {
  state_->limit = uncompressed_bytes;
}

absl::StatusOr<StagedContent> ContentWriter::Finish() && {
  if (state_->failed) return absl::FailedPreconditionError("storing: an earlier write failed");
  if (state_->content.kind != ContentKind::kArtifact) {
    if (!state_->unfold.has_value()) return absl::DataLossError("storing: there is no content");
    RETURN_IF_ERROR(state_->unfold->Finish());
  }
  state_->content.digest = state_->hash.Finish();
  auto staged = std::make_unique<StagedContent::State>(std::move(state_->content));
  state_.reset();
  return StagedContent(std::move(staged));
}

ContentReader::ContentReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ContentReader::ContentReader(ContentReader&&) noexcept = default;
ContentReader& ContentReader::operator=(ContentReader&&) noexcept = default;
ContentReader::~ContentReader() = default;

uint64_t ContentReader::stored_size() const {
  return state_->size;
}

absl::StatusOr<size_t> ContentReader::ReadAt(uint64_t offset, std::span<char> out) const {
  if (state_->file.valid()) {
    return neffcache::ReadAt(state_->file.get(), offset, out, state_->name);
  }
  if (offset >= state_->size) return 0;
  const size_t size = std::min<uint64_t>(out.size(), state_->size - offset);
  std::memcpy(out.data(), state_->memory.data() + offset, size);
  return size;
}

absl::Status ContentReader::ForEachPiece(
    absl::FunctionRef<absl::Status(absl::string_view)> take) const {
  std::vector<char> piece(size_t{1} << 20);
  for (uint64_t offset = 0; offset < stored_size(); offset += piece.size()) {
    ASSIGN_OR_RETURN(const size_t size, ReadAt(offset, piece));
    RETURN_IF_ERROR(take({piece.data(), size}));
  }
  return absl::OkStatus();
}

absl::string_view ContentReader::in_memory() const {
  return state_->memory;
}

}  // namespace neffcache
