#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/digest.h"

namespace neffcache {

// What content is, which decides how it is kept: artifacts byte for byte (inline or as a file that
// has exactly the artifact's bytes), graphs and logs as zstd files named by the SHA-256 of the
// uncompressed bytes.
enum class ContentKind { kArtifact, kGraph, kLog };

// Content that is written and hashed, and waits in tmp/ (or in memory, when small) for the commit
// that takes it. Dropped without a commit, it is deleted. Move-only.
class StagedContent {
 public:
  StagedContent(StagedContent&&) noexcept;
  StagedContent& operator=(StagedContent&&) noexcept;
  ~StagedContent();

  ContentKind kind() const;
  const Digest& digest() const;  // Of the uncompressed bytes.
  uint64_t size() const;         // Of the uncompressed bytes.
  // Kept graphs can be looked into before they are committed: a file with the uncompressed bytes,
  // which lives as long as this object or until ReleaseUncompressed(). Empty for other kinds.
  const std::string& uncompressed_path() const;
  void ReleaseUncompressed();

 private:
  friend class ContentWriter;
  friend class ContentFiles;
  struct State;  // server/store/content_state.h
  explicit StagedContent(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Takes content in pieces, hashing as they come. After an error only destruction is left. Not
// thread-safe; blocks on the disk; must not outlive its store, and nor must what it finishes.
class ContentWriter {
 public:
  ContentWriter(ContentWriter&&) noexcept;
  ContentWriter& operator=(ContentWriter&&) noexcept;
  ~ContentWriter();

  // Artifacts: the bytes themselves. Graphs and logs: one zstd stream, as it travels; it is
  // unfolded for hashing, to at most `limit` bytes (SetLimit). RESOURCE_EXHAUSTED: the limit or the
  // disk. DATA_LOSS: a damaged stream.
  absl::Status Write(absl::string_view bytes);
  // Before the first Write. Otherwise 8 GiB for graphs, 256 MiB for logs, the disk for artifacts.
  void SetLimit(uint64_t uncompressed_bytes);
  // Ends the content. DATA_LOSS: the zstd stream is cut short.
  absl::StatusOr<StagedContent> Finish() &&;

 private:
  friend class ContentFiles;
  struct State;
  explicit ContentWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Reads content as it is kept: artifacts plain, graphs and logs compressed. Thread-safe; keeps
// working when the content is deleted meanwhile, and when the store is closed.
class ContentReader {
 public:
  ContentReader(ContentReader&&) noexcept;
  ContentReader& operator=(ContentReader&&) noexcept;
  ~ContentReader();

  uint64_t stored_size() const;
  // Fills `out` from `offset`; fewer bytes only at the end.
  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> out) const;
  // Gives all of it to `take` in pieces of 1 MiB, until the end or the first error of either.
  absl::Status ForEachPiece(absl::FunctionRef<absl::Status(absl::string_view)> take) const;
  // The whole content when it is kept in memory (inline artifacts); empty view otherwise.
  absl::string_view in_memory() const;

 private:
  friend class ContentFiles;
  struct State;
  explicit ContentReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace neffcache
