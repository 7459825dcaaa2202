#pragma once

#include "absl/strings/string_view.h"

namespace neffcache {

// Counters in column kDefault; each changes in the batch that changes what it counts.
inline constexpr absl::string_view kReadyCounter = "count.entries_ready";
inline constexpr absl::string_view kArtifactCounter = "count.artifacts";
inline constexpr absl::string_view kArtifactBytesCounter = "count.artifact_bytes";

}  // namespace neffcache
