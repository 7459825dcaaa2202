#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/digest.h"
#include "server/store/content.h"
#include "server/store/layout.h"
#include "server/store/sharded_directory.h"
#include "server/store/space_guard.h"

namespace neffcache {

// The digest-named files below artifacts/, and the staging in tmp/ that they come from.
//
// A file gets its name only when all of it is on the disk, so a name stands for whole content.
// Files are never changed; replacing one brings the same bytes anew. Thread-safe.
class ContentFiles {
 public:
  // `guard` must outlive this and every writer.
  ContentFiles(StoreLayout layout, const SpaceGuard& guard, uint64_t inline_limit);

  absl::StatusOr<ContentWriter> Stage(ContentKind kind) const;

  // An artifact that stayed in memory, to be kept inline.
  static bool IsInline(const StagedContent& content);
  static absl::string_view InlineBytes(const StagedContent& content);

  // Puts staged content under its final name, durably, replacing what is there.
  absl::Status Keep(StagedContent content);

  // NOT_FOUND: there is no such file. DATA_LOSS: it does not have `size` bytes.
  absl::StatusOr<ContentReader> OpenArtifact(const Digest& digest, uint64_t size) const;
  // A graph or log. NOT_FOUND.
  absl::StatusOr<ContentReader> OpenCompressed(const Digest& digest) const;
  static ContentReader FromMemory(std::string bytes);

  // Not an error when it is not there.
  absl::Status RemoveArtifact(const Digest& digest) const;
  absl::Status RemoveCompressed(const Digest& digest) const;

 private:
  // An artifact's file, exactly its bytes.
  std::string ArtifactPath(const Digest& digest) const;
  // A graph's or log's file: zstd, named by the digest of the uncompressed bytes.
  std::string CompressedPath(const Digest& digest) const;
  absl::StatusOr<ContentReader> Open(const std::string& path) const;
  static absl::Status Remove(const std::string& path);

  const StoreLayout layout_;
  ShardedDirectory directory_;
  const SpaceGuard& guard_;
  const uint64_t inline_limit_;
};

}  // namespace neffcache
