#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace neffcache {

// Pairs of equal tokens, ascending on both sides: a longest common subsequence where the sequences
// differ in at most `limit` places, fewer pairs where they differ in more. Time is at most linear
// times the limit, memory its square, whatever the tokens are.
std::vector<std::pair<uint32_t, uint32_t>> MatchSequences(absl::Span<const uint64_t> before,
                                                          absl::Span<const uint64_t> after,
                                                          uint32_t limit = 1000);

}  // namespace neffcache
