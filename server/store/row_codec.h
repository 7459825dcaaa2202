#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/store/entry.h"

namespace neffcache {

// Rows other than entries as they are on disk: messages of proto/neffcache/v1/store.proto. Times
// are kept to the millisecond. Pure functions; decoding says DATA_LOSS for bytes that are no such
// row.

// Where an artifact is.
struct ArtifactRow {
  uint64_t size = 0;       // In bytes.
  bool is_inline = false;  // In column kInline; otherwise a file.
  absl::Time stored;
  bool damaged = false;  // Quarantined.
};
std::string EncodeArtifactRow(const ArtifactRow& row);
absl::StatusOr<ArtifactRow> DecodeArtifactRow(absl::string_view bytes);

std::string EncodeGraphRecord(const GraphRecord& graph);
absl::StatusOr<GraphRecord> DecodeGraphRecord(absl::string_view bytes);

// The key is the row's key, not part of its value. INVALID_ARGUMENT: the material holds text that
// could not be read back.
absl::StatusOr<std::string> EncodeQueued(const QueuedCompile& compile);
absl::StatusOr<QueuedCompile> DecodeQueued(const Key& key, absl::string_view bytes);

struct BundleTimes {
  absl::Time first_seen;
  absl::Time last_seen;
};
std::string EncodeBundleTimes(const BundleTimes& times);
absl::StatusOr<BundleTimes> DecodeBundleTimes(absl::string_view bytes);

std::string EncodeUse(const KeyUse& use);
absl::StatusOr<KeyUse> DecodeUse(absl::string_view bytes);

}  // namespace neffcache
