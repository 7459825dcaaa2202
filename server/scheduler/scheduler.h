#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/scheduler/compile.h"
#include "server/scheduler/decision.h"
#include "server/scheduler/history.h"
#include "server/scheduler/retry_policy.h"
#include "server/scheduler/waiting_compiles.h"
#include "server/scheduler/worker_pool.h"

namespace neffcache {

struct SchedulerOptions {
  absl::Duration heartbeat_interval = absl::Seconds(5);
  uint32_t missed_heartbeats = 3;  // After which a worker's leases are void.
  absl::Duration compile_time_limit = absl::Hours(6);
  RetryPolicy retry;
  // Tokens count up from here. To be unique over restarts, it must be above all that any earlier
  // scheduler gave out: the daemon takes nanoseconds since the epoch, and gives out fewer than one
  // token in a nanosecond.
  LeaseToken first_token = 1;
};

// Where a compile stands, for those who wait for it.
struct CompileStatus {
  Compile::State state = Compile::State::kLookingUp;
  uint32_t position = 0;         // Compiles for the same toolchain ahead of it.
  absl::Duration expected_wait;  // Until it starts; zero when unknown.
  absl::Duration elapsed;        // Since the state began.
  absl::Duration expected;       // Of the compile itself; zero when unknown.
  uint32_t attempt = 0;          // The running one, or the next.
  std::string reason;            // Why it waits, when it is not just its turn.
};

// Decides who compiles what, and when: one compile per key, at most one live lease per compile.
//
// A state machine: events and the time come in through its functions, decisions pile up until
// TakeDecisions(). It keeps no threads, does no I/O and knows no clock, so whole days of a cluster
// are simulated in milliseconds. Time that goes backwards stands still.
//
// A lease ends when its worker reports, is removed, misses its heartbeats, or exceeds the time
// limit by far; its token is void from then on and is never given out again. Between Claim() and
// Succeeded() or Failed() a lease cannot end otherwise, so the result that is being stored
// meanwhile cannot cross another's.
//
// Not thread-safe. Pure.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);

  // --- Callers: clients that wait. An id is used once; later ids must be larger.

  enum class Asked {
    kLookUp,  // The first for this key: whoever drives this looks into the store now and reports
              // NeedGraph(), GraphKept() or End().
    kWaits,   // Joined what is in flight.
  };
  Asked Ask(CallerId caller, const Key& key, const KeyMaterial& material, Purpose purpose,
            absl::Time now);
  // The caller no longer waits. When it was to send the graph, the next is asked; a compile that
  // nobody can send the graph of is forgotten.
  void Leave(CallerId caller, absl::Time now);

  // --- What the store has

  // Neither an answer nor a graph: somebody is asked for it.
  void NeedGraph(const Key& key, absl::Time now);
  // The graph and the compile are in the store: the compile is queued.
  void GraphKept(const QueuedCompile& compile, absl::Time now);
  // A compile of the store's queue, after a restart. Ignored when it is in flight.
  void Restore(const QueuedCompile& compile, absl::Time now);
  // The kept graph of a compile that waits is no good: somebody is asked for it. Nothing for a
  // compile that runs: its worker finds out.
  void GraphLost(const Key& key, absl::Time now);
  // Forgets the compile, which the store has an answer for or which is refused; returns who waited.
  // Must not be called for a compile that is leased.
  std::vector<CallerId> End(const Key& key);
  // The same for an answer that came from elsewhere, also when the compile is leased: then its
  // worker loses the lease. Nothing for a compile that somebody looks up, or whose result is being
  // stored: whoever does so finds the answer.
  std::vector<CallerId> Published(const Key& key, absl::Time now);
  // Learns from a compile of the past.
  void Learn(const Entry& entry);

  // --- Workers. An id is used once.

  void AddWorker(WorkerId id, WorkerOffer offer, absl::Time now);
  void RemoveWorker(WorkerId id, absl::Time now);
  void WorkerLeaving(WorkerId id, absl::Time now);
  // Renews the worker's leases; tokens it reports that are void are revoked (again).
  void Heartbeat(WorkerId id, absl::Span<const LeaseProgress> progress, absl::Time now);
  // Takes hold of a lease whose result came. FAILED_PRECONDITION: the token is void, or claimed
  // already.
  absl::Status Claim(WorkerId id, LeaseToken token, absl::Time now);
  // The claimed lease's artifact is stored: forgets the compile; returns who waited.
  std::vector<CallerId> Succeeded(LeaseToken token, absl::Duration compile_time,
                                  uint64_t peak_memory_bytes, absl::Time now);
  // The claimed lease failed: the compile is queued again, or given up.
  void Failed(LeaseToken token, const Failure& failure, uint64_t peak_memory_bytes, absl::Time now);

  // --- Time

  // Ends what has run out and starts what may start. Every other event does the latter too.
  void Advance(absl::Time now);
  // When Advance() has something to do next.
  absl::Time NextDeadline() const;
  // Nothing was heard for this long because the daemon itself stood still: workers get the time
  // back.
  void Excuse(absl::Duration silence);
  // No leases are given out from here on.
  void StopGranting() { granting_ = false; }

  std::vector<Decision> TakeDecisions() { return std::exchange(decisions_, {}); }

  // --- Views

  // nullptr: not in flight. Valid until the next event.
  const Compile* Find(const Key& key) const;
  // What the caller waits for. nullptr: it does not.
  const Compile* WaitedFor(CallerId caller) const;
  // nullptr: void.
  const Compile* FindLease(WorkerId id, LeaseToken token) const;
  CompileStatus Describe(const Compile& compile, absl::Time now) const;
  // Running ones first, then in the order in which they will start, then the others.
  std::vector<const Compile*> InOrder() const;
  void ForEach(absl::FunctionRef<void(const Compile&)> visit) const;
  const WorkerPool& workers() const { return workers_; }
  // Whether a connected worker offers the toolchain.
  bool Offers(const Toolchain& toolchain) const;
  size_t waiting() const { return in_flight_.size() - leases_.size(); }
  size_t running() const { return leases_.size(); }

 private:
  Compile* FindMutable(const Key& key);
  Compile& Create(const Key& key, const KeyMaterial& material, absl::Time now);
  void Enter(Compile& compile, Compile::State state, absl::Time now);
  void Enqueue(Compile& compile, absl::Time now);
  void Reprioritize(Compile& compile);
  void AskNext(Compile& compile, absl::Time now);
  void SetWake(Compile& compile, absl::Time wake);
  void Forget(const Key& key);
  // Takes the lease away; its token is void.
  void EndLease(Compile& compile);
  // Queues again or gives up what has lost its lease.
  void Settle(Compile& compile, Failure failure, const Verdict& verdict, absl::Time now);
  void LoseLeases(WorkerId id, absl::string_view why, absl::Time now);
  // Gives leases while there is anything that fits.
  void Dispatch(absl::Time now);
  void Grant(Compile& compile, const WorkerPool::Placement& placement, absl::Time now);
  // Follows `now`, never backwards.
  absl::Time At(absl::Time now);
  std::string ReasonToWait(const Compile& compile, const WorkerPool::Capacity& capacity,
                           absl::Time now) const;

  const SchedulerOptions options_;
  bool granting_ = true;
  absl::Time now_ = absl::InfinitePast();
  LeaseToken next_token_;
  uint64_t next_sequence_ = 1;

  // unique_ptr: queue and callers keep pointers and keys.
  absl::flat_hash_map<Key, std::unique_ptr<Compile>> in_flight_;
  absl::flat_hash_map<CallerId, Key> callers_;
  absl::flat_hash_map<LeaseToken, Key> leases_;
  std::set<std::pair<absl::Time, Key>> wakes_;
  WaitingCompiles queue_;
  WorkerPool workers_;
  CompileHistory history_;
  std::vector<Decision> decisions_;
};

}  // namespace neffcache
