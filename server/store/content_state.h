#pragma once

#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/zstd.h"
#include "server/store/content.h"
#include "server/store/space_guard.h"

namespace neffcache {

// The insides of content.h, for content.cc and content_files.cc.

struct StagedContent::State {
  ContentKind kind = ContentKind::kArtifact;
  Digest digest;
  uint64_t size = 0;
  std::string memory;                // The bytes when there is no file.
  absl::optional<AtomicFile> file;   // As it will be kept.
  absl::optional<AtomicFile> plain;  // A graph's uncompressed bytes; never committed.
  std::string plain_path;            // Of `plain`.
};

struct ContentWriter::State {
  State(ContentKind k, std::string directory, uint64_t memory_bytes, const SpaceGuard& space);

  const std::string temporary_directory;
  const uint64_t memory_limit;  // What stays in memory.
  const SpaceGuard& guard;
  uint64_t limit;            // Of uncompressed bytes.
  uint64_t stored = 0;       // Bytes written to `content`.
  uint64_t since_check = 0;  // Bytes since the guard was asked.
  bool failed = false;
  Sha256 hash;
  absl::optional<ZstdDecompressor> unfold;  // Of graphs and logs.
  StagedContent::State content;

  absl::Status Append(absl::string_view bytes);
  absl::Status Unfold(absl::string_view bytes);
  absl::Status Store(absl::string_view bytes);
};

struct ContentReader::State {
  uint64_t size = 0;
  std::string memory;  // The bytes when there is no file.
  Fd file;
  std::string name;
};

}  // namespace neffcache
