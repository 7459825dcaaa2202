#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace neffcache {

// Pairs of equal tokens, ascending on both sides: a longest common subsequence where the sequences
// differ in few places, fewer pairs where that would take long. Time and memory are bounded
// whatever the tokens are: linear, and the square of the number of differences up to a limit.
std::vector<std::pair<uint32_t, uint32_t>> MatchSequences(absl::Span<const uint64_t> before,
                                                          absl::Span<const uint64_t> after);

}  // namespace neffcache
