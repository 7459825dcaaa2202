#include "graph/explain/sequence_match.h"

#include <algorithm>
#include <cstddef>

namespace neffcache {
namespace {

// However long the sequences are.
constexpr int64_t kMostSteps = int64_t{1} << 28;

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

// Appends the pairs on the way to the end of both, or to the furthest point within the limit.
void MatchMiddle(absl::Span<const uint64_t> before, absl::Span<const uint64_t> after,
                 uint32_t offset, int64_t most, Pairs* pairs) {
  const int64_t n = static_cast<int64_t>(before.size());
  const int64_t m = static_cast<int64_t>(after.size());
  const int64_t limit = std::min({n + m, most, kMostSteps / (n + m)});
  // Myers' greedy algorithm, with the furthest points of every round kept for the way back.
  // Round d holds x for the diagonals -d, -d + 2, ..., d.
  std::vector<std::vector<int32_t>> rounds;
  int64_t reached_round = 0, reached_diagonal = 0, reached = -1;
  for (int64_t d = 0; d <= limit; ++d) {
    std::vector<int32_t> round(static_cast<size_t>(d) + 1, -1);
    bool done = false;
    for (int64_t k = -d; k <= d; k += 2) {
      int64_t x = 0;
      if (d > 0) {
        const std::vector<int32_t>& last = rounds.back();
        const size_t above = static_cast<size_t>((k + d) / 2);  // Diagonal k + 1 of the last round.
        const int64_t down = k < d ? last[above] : -1;
        const int64_t right = k > -d ? last[above - 1] : -1;
        // A point beyond an end leads nowhere.
        if (down < 0 && right < 0) continue;
        x = std::max(down, right < 0 ? -1 : right + 1);
        if (x > n || x - k > m) {
          x = std::min(down, right < 0 ? -1 : right + 1);
          if (x < 0 || x > n || x - k > m || x - k < 0) continue;
        }
      }
      int64_t y = x - k;
      while (x < n && y < m && before[static_cast<size_t>(x)] == after[static_cast<size_t>(y)]) {
        ++x;
        ++y;
      }
      round[static_cast<size_t>((k + d) / 2)] = static_cast<int32_t>(x);
      if (x + y > reached) {
        reached = x + y;
        reached_round = d;
        reached_diagonal = k;
      }
      if (x == n && y == m) {
        done = true;
        break;
      }
    }
    rounds.push_back(std::move(round));
    if (done) break;
  }
  // Back from there.
  const size_t first = pairs->size();
  int64_t k = reached_diagonal;
  for (int64_t d = reached_round; d >= 0; --d) {
    int64_t x = rounds[static_cast<size_t>(d)][static_cast<size_t>((k + d) / 2)];
    int64_t start = 0;
    int64_t next_k = k;
    if (d > 0) {
      const std::vector<int32_t>& last = rounds[static_cast<size_t>(d) - 1];
      const size_t above = static_cast<size_t>((k + d) / 2);
      const int64_t down = k < d ? last[above] : -1;
      const int64_t right = k > -d ? last[above - 1] : -1;
      int64_t from = std::max(down, right < 0 ? -1 : right + 1);
      if (from > n || from - k > m) from = std::min(down, right < 0 ? -1 : right + 1);
      start = from;
      next_k = from == down ? k + 1 : k - 1;
    }
    for (; x > start; --x) {
      pairs->emplace_back(static_cast<uint32_t>(x - 1) + offset,
                          static_cast<uint32_t>(x - 1 - k) + offset);
    }
    k = next_k;
  }
  std::reverse(pairs->begin() + static_cast<std::ptrdiff_t>(first), pairs->end());
}

}  // namespace

Pairs MatchSequences(absl::Span<const uint64_t> before, absl::Span<const uint64_t> after,
                     uint32_t limit) {
  Pairs pairs;
  const size_t shorter = std::min(before.size(), after.size());
  size_t prefix = 0;
  while (prefix < shorter && before[prefix] == after[prefix]) ++prefix;
  size_t suffix = 0;
  while (suffix < shorter - prefix &&
         before[before.size() - 1 - suffix] == after[after.size() - 1 - suffix]) {
    ++suffix;
  }
  for (uint32_t i = 0; i < prefix; ++i) pairs.emplace_back(i, i);
  const auto b = before.subspan(prefix, before.size() - prefix - suffix);
  const auto a = after.subspan(prefix, after.size() - prefix - suffix);
  if (!b.empty() && !a.empty()) MatchMiddle(b, a, static_cast<uint32_t>(prefix), limit, &pairs);
  for (size_t i = 0; i < suffix; ++i) {
    pairs.emplace_back(static_cast<uint32_t>(before.size() - suffix + i),
                       static_cast<uint32_t>(after.size() - suffix + i));
  }
  return pairs;
}

}  // namespace neffcache
