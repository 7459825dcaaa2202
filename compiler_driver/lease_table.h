#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "compiler_driver/work_lease.h"

namespace neffcache {

// The leases that this worker holds: filled by the stream from the daemon, emptied by the slots.
//
// Thread-safe. Stop requests are made with no lock held.
class LeaseTable {
 public:
  struct Progress {
    uint64_t token = 0;
    ChildProgress::Snapshot child;
  };

  void Grant(const std::shared_ptr<HeldLease>& lease) ABSL_LOCKS_EXCLUDED(mu_);

  // Kills the compile of a void lease; unknown tokens (it has just ended) are ignored.
  void Revoke(uint64_t token) ABSL_LOCKS_EXCLUDED(mu_);
  void RevokeAll() ABSL_LOCKS_EXCLUDED(mu_);

  // The next lease that no slot has taken; blocks for it. Null once the table is closed.
  std::shared_ptr<HeldLease> Take() ABSL_LOCKS_EXCLUDED(mu_);
  // A taken lease has ended and its slot is free.
  void Release(uint64_t token) ABSL_LOCKS_EXCLUDED(mu_);

  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  std::vector<Progress> ReadProgress() const ABSL_LOCKS_EXCLUDED(mu_);
  bool empty() const ABSL_LOCKS_EXCLUDED(mu_);
  void AwaitEmpty() const ABSL_LOCKS_EXCLUDED(mu_);
  // Since when the table has been empty; InfiniteFuture when it is not. Never before `at_least`.
  absl::Time IdleSince(absl::Time at_least) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  bool EmptyLocked() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return held_.empty(); }
  bool CanTake() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return closed_ || !waiting_.empty(); }

  mutable absl::Mutex mu_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<HeldLease>> held_ ABSL_GUARDED_BY(mu_);
  std::deque<uint64_t> waiting_ ABSL_GUARDED_BY(mu_);  // Tokens in held_ that no slot has taken.
  absl::Time emptied_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace neffcache
