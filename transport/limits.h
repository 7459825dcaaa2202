#pragma once

#include <cstddef>

#include "absl/time/time.h"

namespace neffcache {

// Limits of the protocol; the .proto files state them, this is where programs take them from.

// Graphs, artifacts and logs travel in pieces of this size.
inline constexpr size_t kPieceSize = size_t{1} << 20;
// No message is larger.
inline constexpr size_t kMaxMessageSize = size_t{4} << 20;
// Keys in one Lookup.
inline constexpr size_t kMaxLookupKeys = 10'000;
// Artifacts up to this size may come inside a Lookup or Compile answer.
inline constexpr size_t kMaxInlineArtifact = size_t{1} << 20;
// Bytes of options, names and log lines in one message.
inline constexpr size_t kMaxOptionsBytes = size_t{256} << 10;
inline constexpr size_t kMaxNameBytes = 256;
// Computations in the parts of a graph; of more the largest travel, and are kept.
inline constexpr size_t kMaxPartComputations = 128;
// The end of a compiler's output that a failure carries.
inline constexpr size_t kMaxLogTail = size_t{64} << 10;
// No stream is silent for longer, in either direction.
inline constexpr absl::Duration kMaxSilence = absl::Seconds(10);
// A peer that was silent for this long is taken for dead.
inline constexpr absl::Duration kDeadAfter = absl::Seconds(30);

}  // namespace neffcache
