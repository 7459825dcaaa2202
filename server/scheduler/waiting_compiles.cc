#include "server/scheduler/waiting_compiles.h"

#include <cassert>

namespace neffcache {

void WaitingCompiles::Insert(Compile& compile) {
  const Toolchain& toolchain = compile.material.toolchain;
  Lane& lane = lanes_[{toolchain.name, toolchain.version}];
  if (lane.ranking.empty()) lane.toolchain = toolchain;
  lane.ranking.insert({compile.rank, &compile});
  lane.expected_total += compile.expected.duration;
  ++size_;
}

void WaitingCompiles::Erase(Compile& compile) {
  const Toolchain& toolchain = compile.material.toolchain;
  const auto lane = lanes_.find({toolchain.name, toolchain.version});
  if (lane == lanes_.end() || !lane->second.ranking.erase(compile.rank)) return;
  lane->second.expected_total -= compile.expected.duration;
  --size_;
  if (lane->second.ranking.empty()) lanes_.erase(lane);
}

const WaitingCompiles::Lane* WaitingCompiles::Find(const Toolchain& toolchain) const {
  const auto lane = lanes_.find({toolchain.name, toolchain.version});
  return lane == lanes_.end() ? nullptr : &lane->second;
}

size_t WaitingCompiles::Position(const Toolchain& toolchain, const QueueRank& rank) const {
  const Lane* lane = Find(toolchain);
  return lane == nullptr ? 0 : lane->ranking.order_of_key(rank);
}

size_t WaitingCompiles::size(const Toolchain& toolchain) const {
  const Lane* lane = Find(toolchain);
  return lane == nullptr ? 0 : lane->ranking.size();
}

absl::Duration WaitingCompiles::ExpectedTotal(const Toolchain& toolchain) const {
  const Lane* lane = Find(toolchain);
  return lane == nullptr ? absl::ZeroDuration() : lane->expected_total;
}

void WaitingCompiles::Visit(absl::FunctionRef<bool(const Toolchain&)> wanted,
                            absl::FunctionRef<Next(Compile&)> visit) {
  // The next compile of each lane. Pointers to compiles, not iterators: taking a compile out may
  // remove its lane. There are few lanes, so the smallest rank is found by looking at all.
  struct Cursor {
    LaneName lane;
    Compile* next;
  };
  std::vector<Cursor> cursors;
  for (auto& [name, lane] : lanes_) {
    if (wanted(lane.toolchain)) cursors.push_back({name, lane.ranking.begin()->second});
  }
  while (!cursors.empty()) {
    auto first = cursors.begin();
    for (auto cursor = cursors.begin(); cursor != cursors.end(); ++cursor) {
      if (cursor->next->rank < first->next->rank) first = cursor;
    }
    const QueueRank rank = first->next->rank;
    const Next next = visit(*first->next);
    const auto lane = lanes_.find(first->lane);
    if (next == Next::kSkipToolchain || lane == lanes_.end()) {
      cursors.erase(first);
      continue;
    }
    const auto following = lane->second.ranking.upper_bound(rank);
    if (following == lane->second.ranking.end()) {
      cursors.erase(first);
    } else {
      first->next = following->second;
    }
  }
}

void WaitingCompiles::ForEach(absl::FunctionRef<void(const Compile&)> visit) const {
  for (const auto& [name, lane] : lanes_) {
    for (const auto& [rank, compile] : lane.ranking) visit(*compile);
  }
}

}  // namespace neffcache
