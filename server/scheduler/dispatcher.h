#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "server/scheduler/compile_event.h"
#include "server/scheduler/worker.h"
#include "server/store/content.h"
#include "server/store/entry.h"
#include "server/store/store.h"

namespace neffcache {

// What one client asks for.
struct CompileOrder {
  Key key;
  KeyMaterial material;
  Purpose purpose = Purpose::kTrainer;
  bool retry_failed = false;  // Forget a remembered failure first.
  bool refuse_unknown_toolchain =
      false;           // FAILED_PRECONDITION when no connected worker offers the toolchain.
  std::string client;  // For people.
};

// A worker's right to do one compile.
struct Lease {
  LeaseToken token = 0;
  Key key;
  KeyMaterial material;
  GraphRecord graph;
  absl::Duration time_limit;
  uint64_t memory_limit_bytes = 0;  // 0: none.
};

// How a lease ended.
struct CompileResult {
  absl::optional<StagedContent> artifact;  // A success when set,
  absl::optional<Failure> failure;         // a failure when this is.
  absl::optional<StagedContent> log;
  absl::Duration compile_time;
  uint64_t peak_memory_bytes = 0;
};

// The way to one worker; implemented by its stream. Calls may come from any thread and must not
// block or call back.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  virtual void Grant(const Lease& lease) = 0;
  virtual void Revoke(LeaseToken token, absl::string_view reason) = 0;
  virtual void Drain(absl::string_view reason) = 0;
};

// People's views.
struct CompileView {
  enum class State { kNeedsGraph, kQueued, kRunning };
  Key key;
  KeyMaterial material;
  State state = State::kQueued;
  uint32_t position = 0;
  uint32_t waiters = 0;
  absl::Duration elapsed;
  absl::Duration expected;
  uint64_t memory_bytes = 0;
  std::string worker;
  std::string last_log_line;
  uint32_t attempt = 0;
  std::string graph_name;
  std::string reason;
};

struct WorkerView {
  WorkerOffer offer;
  uint32_t busy = 0;
  uint64_t reserved_bytes = 0;
  absl::Duration connected;
  uint64_t compiles_done = 0;
  uint64_t compiles_failed = 0;
  bool draining = false;
};

struct DispatchCounts {
  uint64_t queued = 0;
  uint64_t running = 0;
  uint64_t done = 0;    // Since the start.
  uint64_t failed = 0;  // Since the start.
  uint64_t joined = 0;  // Requests that shared another's compile.
  uint64_t late = 0;    // Results that were refused because their lease was void.
  uint64_t workers = 0;
  uint64_t slots = 0;
};

struct DispatcherOptions {
  std::function<absl::Time()> clock =
      absl::Now;  // Must not go backwards: the daemon passes a monotonic one.
  // For times that are kept: when something failed, until when it is remembered.
  std::function<absl::Time()> wall_clock = absl::Now;
  absl::Duration heartbeat_interval = absl::Seconds(5);
  uint32_t missed_heartbeats = 3;
  absl::Duration compile_time_limit = absl::Hours(6);
  absl::Duration failure_ttl = absl::Hours(24);
  absl::Duration unclear_failure_ttl = absl::Minutes(10);
  uint32_t max_attempts = 3;  // For memory and transient failures.
  uint64_t max_queued = 100'000;
  // Both may be empty, are called from any thread with no lock held, and must not block or call
  // back. A compile was queued that nobody had queued before; what is taken up after a restart is
  // not told again. `reason` is why, when the dispatcher knows: it has the key's entry no more.
  std::function<void(const QueuedCompile& compile, absl::string_view reason)> on_miss;
  // A key has this entry now, ready or failed, from a worker or published.
  std::function<void(const Entry& entry)> on_entry;
  // Receives a line about each queued compile that is dropped, from any thread; may be empty.
  std::function<void(absl::string_view line)> log;
};

// One compile per key, cluster-wide: joins the pure Scheduler to the store, to the workers and to
// the clients that wait. Knows nothing of gRPC.
//
// A client's order is answered from the store, joins the compile that is in flight for its key, or
// starts one (asking exactly one client for the graph; when that client goes, the next is asked). A
// compile is in the store's queue before anyone is told that it is queued, and is taken up again
// after a restart. A worker's result counts only while its lease's token is valid.
//
// What the store has quarantined is compiled again from the kept graph, as a rebuild.
//
// Listeners and links are called with no lock held, each one call at a time and in the order of
// what was decided; by the calling thread, another caller's, or the dispatcher's own.
//
// Thread-safe. Begin(), Call::GraphArrived() and Finish() block on the store and must not be called
// from a gRPC reactor's thread; all other functions do not block. Calls are destroyed and workers
// removed before the dispatcher is.
class CompileDispatcher {
 public:
  // Called from any thread, one at a time per call; must not block or call back. Nothing follows a
  // terminal event.
  using Listener = std::function<void(const CompileEvent&)>;

  // One client's wait. Destroying it leaves; the compile goes on. After the destructor the listener
  // is not called.
  class Call {
   public:
    virtual ~Call() = default;
    // The graph that a NeedGraphEvent asked for. An error ends this wait, and no event follows.
    // OK also when the wait has ended already, as its last event says.
    // INVALID_ARGUMENT when its fingerprint is not the order's (the dispatcher computes it), or it
    // cannot be compiled elsewhere; the next waiting client is asked then. RESOURCE_EXHAUSTED: the
    // disk is full; the other waiting clients are refused, too.
    virtual absl::Status GraphArrived(StagedContent graph) = 0;
  };

  // Takes up the compiles of the store's queue, and reads their graphs in the background. `store`
  // must outlive this.
  static absl::StatusOr<std::unique_ptr<CompileDispatcher>> Open(Store& store,
                                                                 DispatcherOptions options);
  virtual ~CompileDispatcher() = default;

  // Events come through `listener`, possibly before this returns.
  virtual std::unique_ptr<Call> Begin(CompileOrder order, Listener listener) = 0;

  // The key holds this artifact from somebody else than a worker, committed by now: whoever waits
  // gets it, and the compile ends; a worker that runs it loses its lease. Nothing happens when a
  // result is being stored already: its waiters are told then.
  virtual void Published(const Entry& entry) = 0;

  // `link` is used until RemoveWorker(id) returns, and may be before this returns.
  // INVALID_ARGUMENT: the offer is empty.
  virtual absl::StatusOr<WorkerId> AddWorker(WorkerOffer offer, WorkerLink& link) = 0;
  virtual void RemoveWorker(WorkerId worker) = 0;
  virtual void Heartbeat(WorkerId worker, absl::Span<const LeaseProgress> progress) = 0;
  virtual void WorkerLeaving(WorkerId worker) = 0;

  // NOT_FOUND: the lease is void.
  virtual absl::StatusOr<Lease> FindLease(WorkerId worker, LeaseToken token) const = 0;
  // True when the key holds this result now. FAILED_PRECONDITION: the lease is void.
  virtual absl::StatusOr<bool> Finish(WorkerId worker, LeaseToken token, CompileResult result) = 0;

  virtual std::vector<CompileView> ListCompiles() const = 0;
  virtual absl::optional<CompileView> FindCompile(const Key& key) const = 0;
  // For each key whether FindCompile() finds it, at a fraction of the cost.
  virtual std::vector<bool> AreInFlight(absl::Span<const Key> keys) const = 0;
  // Of what ListCompiles() lists, in no order.
  virtual std::vector<Key> KeysInFlight() const = 0;
  virtual std::vector<WorkerView> ListWorkers() const = 0;
  virtual std::vector<Toolchain> ListToolchains() const = 0;
  virtual DispatchCounts Count() const = 0;

  // Does what time has made due. The dispatcher does so by itself once a second and when something
  // runs out; for tests that move the clock.
  virtual void Tick() = 0;

  // The daemon is about to end: gives no more leases, tells workers to drain, ends every wait with
  // UNAVAILABLE and refuses new orders so, but for keys that are ready. Leases stay valid, so that
  // what runs can be finished; the queue stays in the store. Idempotent.
  virtual void Drain() = 0;
  // After Drain(): returns true when no worker holds a lease any more, false at the deadline or
  // when a stop is requested.
  virtual bool AwaitDrained(absl::Time deadline, const std::stop_token& stop) = 0;
  // Drain(), and tells workers to stop what they still run: it is compiled after a restart.
  virtual void Shutdown() = 0;
};

}  // namespace neffcache
