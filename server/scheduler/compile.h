#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/scheduler/history.h"
#include "server/scheduler/retry_policy.h"
#include "server/scheduler/worker.h"
#include "server/store/entry.h"

namespace neffcache {

// One client's wait for one compile. Ids grow, so that the order of ids is the order of arrival.
using CallerId = uint64_t;

// Where a compile stands in the queue: compared member by member, the smallest is the next.
struct QueueRank {
  int urgency = 0;
  int64_t minus_expected_ms = 0;  // Longest first.
  uint64_t sequence = 0;          // Then first come, first served.

  friend auto operator<=>(const QueueRank&, const QueueRank&) = default;
};

// The single unit of work for a key, as the Scheduler keeps it from the first request to the end.
//
//   kLookingUp ──▶ kNeedsGraph ──▶ kQueued ⇄ kRunning ──▶ kCommitting ──▶ (gone)
//        └──────────────────────────▲ ▲─ kBackingOff ◀─┴───────┴──▶ kEnding ──▶ (gone)
//
// A queued graph that turns out damaged leads back to kNeedsGraph; an artifact that somebody else
// publishes ends the compile from any state in which nothing is being stored or looked up.
struct Compile {
  enum class State {
    kLookingUp,   // Somebody looks into the store.
    kNeedsGraph,  // `asked` was asked to send the graph.
    kQueued,      // Waits for a worker.
    kBackingOff,  // Waits for `wake`, then for a worker.
    kRunning,     // A worker holds `lease`.
    kCommitting,  // The worker's result is being stored: the lease can no longer be lost.
    kEnding,      // Failed for good: the failure is being stored.
  };

  struct Lease {
    LeaseToken token = 0;
    WorkerId worker = 0;
    std::string worker_name;
    uint64_t reserved_bytes = 0;
    uint64_t memory_limit_bytes = 0;  // 0: none.
    absl::Time granted;
  };

  Key key;
  KeyMaterial material;
  State state = State::kLookingUp;
  absl::Time since;  // When the state began.

  std::map<CallerId, Purpose> callers;
  CallerId asked = 0;                   // In kNeedsGraph.
  Purpose purpose = Purpose::kRebuild;  // The most urgent that was ever asked.

  GraphRecord graph;
  absl::Time queued = absl::UnixEpoch();  // By the wall clock, as the store has it.
  Expectation expected;
  uint64_t memory_needed = 0;  // What is reserved: the expectation, or more after a retry.

  QueueRank rank;  // In kQueued, as the queue has it.
  uint64_t sequence = 0;
  uint32_t overtaken = 0;  // Compiles behind it that started because it did not fit.

  Attempts attempts;
  std::string last_failure;                  // Of the last attempt, for people.
  absl::flat_hash_set<std::string> avoided;  // Names of workers that failed it.
  absl::Time wake = absl::InfiniteFuture();  // The back-off's end, or of the patience with it.
  absl::Time insists_until = absl::InfinitePast();  // Until then no avoided worker takes it.

  absl::optional<Lease> lease;  // In kRunning and kCommitting.
  uint64_t memory_bytes = 0;    // From heartbeats.
  std::string last_log_line;

  // For a worker, now or after a back-off.
  bool waits() const { return state == State::kQueued || state == State::kBackingOff; }
};

// The urgency of a compile: trainers' before precompiles, those before rebuilds, and within each
// what somebody waits for first. A trainer's compile that nobody waits for any more is no more
// urgent than a precompile.
int UrgencyOf(const Compile& compile);

}  // namespace neffcache
