#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>

#include "absl/functional/function_ref.h"
#include "server/scheduler/compile.h"

namespace neffcache {

// Compiles that wait for a worker, in the order in which they will start: one ranking for each
// toolchain, so that a long queue for a toolchain that nobody offers costs the others nothing.
// Positions are found in logarithmic time.
//
// Keeps pointers to compiles, which must stay in place while they are in the queue and keep their
// `rank`. Not thread-safe.
class WaitingCompiles {
 public:
  void Insert(Compile& compile);
  void Erase(Compile& compile);

  // Compiles for the same toolchain ahead of a compile of this rank.
  size_t Position(const Toolchain& toolchain, const QueueRank& rank) const;
  size_t size() const { return size_; }
  size_t size(const Toolchain& toolchain) const;
  // Expected durations of all that wait for the toolchain, added up.
  absl::Duration ExpectedTotal(const Toolchain& toolchain) const;

  // What to do after a compile was offered.
  enum class Next {
    kGoOn,          // To the next in order.
    kSkipToolchain  // No more of this toolchain.
  };
  // Offers compiles in order, whatever their toolchains. `visit` may take the visited compile (and
  // no other) out of the queue.
  void Visit(absl::FunctionRef<bool(const Toolchain&)> wanted,
             absl::FunctionRef<Next(Compile&)> visit);

  // All, toolchain by toolchain, each in order.
  void ForEach(absl::FunctionRef<void(const Compile&)> visit) const;

 private:
  using Ranking =
      __gnu_pbds::tree<QueueRank, Compile*, std::less<QueueRank>, __gnu_pbds::rb_tree_tag,
                       __gnu_pbds::tree_order_statistics_node_update>;
  struct Lane {
    Toolchain toolchain;
    Ranking ranking;
    absl::Duration expected_total;
  };
  using LaneName = std::pair<std::string, std::string>;

  const Lane* Find(const Toolchain& toolchain) const;

  std::map<LaneName, Lane> lanes_;  // Only those that have compiles.
  size_t size_ = 0;
};

}  // namespace neffcache
