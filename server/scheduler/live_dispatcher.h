#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "server/scheduler/dispatcher.h"
#include "server/scheduler/outbox.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/store_writer.h"

namespace neffcache {

// The dispatcher over a real store.
//
// One mutex guards the scheduler and the lists of calls and workers, and is held for bookkeeping
// only. Under it, decisions become messages in the outbox of a call or worker, or writes posted to
// the StoreWriter; after it, the messages are delivered (Delivery). The store is called with no
// lock held.
//
// Why no commit is missed: an order joins the compile in flight first, and consults the store only
// when there is none; a compile stays in flight until its result is committed. So whoever finds no
// compile in flight finds the result of the last one in the store. The first order of a key makes
// the compile (kLookingUp) before it consults the store, so that it alone does.
//
// Why a write never crosses a later one of its key: writes posted are done in order, and a commit
// first waits for those of its key. While a result is being committed its lease is claimed, so that
// nothing is posted for the key.
class LiveDispatcher final : public CompileDispatcher {
 public:
  LiveDispatcher(Store& store, DispatcherOptions options);
  ~LiveDispatcher() override;

  // Learns from the store's entries and takes up its queue; then starts the clock.
  absl::Status Start();

  std::unique_ptr<Call> Begin(CompileOrder order, Listener listener) override;

  void Published(const Entry& entry) override;

  absl::StatusOr<WorkerId> AddWorker(WorkerOffer offer, WorkerLink& link) override;
  void RemoveWorker(WorkerId worker) override;
  void Heartbeat(WorkerId worker, absl::Span<const LeaseProgress> progress) override;
  void WorkerLeaving(WorkerId worker) override;
  absl::StatusOr<Lease> FindLease(WorkerId worker, LeaseToken token) const override;
  absl::StatusOr<bool> Finish(WorkerId worker, LeaseToken token, CompileResult result) override;

  std::vector<CompileView> ListCompiles() const override;
  absl::optional<CompileView> FindCompile(const Key& key) const override;
  std::vector<bool> AreInFlight(absl::Span<const Key> keys) const override;
  std::vector<Key> KeysInFlight() const override;
  std::vector<WorkerView> ListWorkers() const override;
  std::vector<Toolchain> ListToolchains() const override;
  DispatchCounts Count() const override;

  void Tick() override;
  void Drain() override;
  bool AwaitDrained(absl::Time deadline, const std::stop_token& stop) override;
  void Shutdown() override;

 private:
  class LiveCall;

  // A client that waits, and what it was told last.
  struct Waiting {
    std::shared_ptr<Outbox<CompileEvent>> outbox;
    bool retry_failed = false;
    bool refuse_unknown_toolchain = false;
    absl::Time told;
    uint32_t told_position = 0;
    std::string told_reason;
  };

  struct DrainOrder {
    std::string reason;
  };
  using WorkerMessage = std::variant<Lease, Revoked, DrainOrder>;
  using WorkerOutbox = Outbox<WorkerMessage>;

  // The compiles of the store's queue that can go on; the others leave it.
  absl::StatusOr<std::vector<QueuedCompile>> TakeUpQueue();
  // Reads the graphs of compiles taken up, beside the daemon's service: they may be many gigabytes.
  // A compile whose graph is damaged or gone leaves the queue; who waits for it is asked for the
  // graph. One whose graph cannot be read just now stays: its worker tries again.
  void CheckGraphsOf(const std::vector<QueuedCompile>& queue, const std::stop_token& stop);
  void DropQueued(const Key& key, const absl::Status& why);

  // --- Orders (live_orders.cc)

  // What an order gets that comes while the daemon drains.
  CompileEvent AnswerWhileDraining(const Key& key) const;
  // Answers the first order of a key from the store, or starts its compile.
  void LookUp(const CompileOrder& order);
  // The kept graph with this fingerprint, read and found whole; a damaged one is forgotten.
  absl::optional<GraphRecord> FindWholeGraph(const Fingerprint& fingerprint);
  // OK: a compile can start from the graph. DATA_LOSS, NOT_FOUND: it never can; it is forgotten.
  absl::Status CheckWhole(const GraphRecord& graph);
  // Ends the waits with the store's entry; false when somebody wants its failure forgotten instead.
  bool Answer(const Entry& entry);
  // Whether the compile may be queued: the queue has room, and somebody still wants it.
  bool Admit(const Key& key);
  // Refuses those of the callers who do not want to wait for a worker with the toolchain, when
  // there is none.
  void RefuseUnknownToolchain(const Key& key, const std::vector<CallerId>& callers,
                              Delivery& delivery) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<CallerId> CallersOf(const Key& key) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Ends the compile and the waits for it.
  void RefuseAll(const Key& key, const absl::Status& status);
  void Refuse(CallerId caller, absl::Status status, Delivery& delivery)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status GraphArrived(CallerId caller, StagedContent graph);
  // Keeps the graph of a caller that was asked for it, and queues the compile.
  absl::Status KeepGraph(CallerId caller, const QueuedCompile& queued, StagedContent graph);
  // False when the compile has ended meanwhile; its successor may be being looked up.
  bool AwaitsGraph(const Key& key) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Takes what was queued after its artifact was published out of the store's queue.
  void DropIfAnswered(const Key& key);
  // Ends the key's compile for all who wait: its artifact is in the store.
  void AnswerWaiting(const Entry& entry);
  void Leave(CallerId caller);
  // Compiles again what was found damaged, where the graph is kept, though nobody asks.
  void RequeueQuarantined();

  // --- Results (live_results.cc)

  absl::StatusOr<bool> FinishReady(LeaseToken token, Entry entry, CompileResult result);
  absl::StatusOr<bool> FinishFailed(LeaseToken token, Entry entry, CompileResult result);
  // Stores the failure, ends the compile and tells its waiters.
  absl::Status StoreFailure(const GaveUp& gave_up, Entry entry, absl::optional<StagedContent> log);

  // --- Decisions and events (live_dispatcher.cc)

  // Carries out the scheduler's decisions. Giving up is left to the writer, but for the compile of
  // `mine`, which the caller sees to.
  absl::optional<GaveUp> CarryOut(Delivery& delivery, const Key* mine = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CarryOutGrant(const Granted& granted, Delivery& delivery)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteAttempt(const Compile& compile) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellStatus(const Compile& compile, Delivery& delivery) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellCaller(CallerId caller, const Compile& compile, const CompileStatus& status,
                  Delivery& delivery) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells every waiter what changed, and breaks silences.
  void Sweep(Delivery& delivery) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the callers' waits.
  void TellLast(const std::vector<CallerId>& callers, const CompileEvent& event, Delivery& delivery)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Entry EntryOf(const Compile& compile) const;
  CompileView ViewOf(const Compile& compile) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  static absl::Status DrainingError();
  absl::Time Now() const { return options_.clock(); }
  void RunTimer();

  Store& store_;
  const DispatcherOptions options_;

  mutable absl::Mutex mutex_;
  absl::CondVar timer_wakes_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;  // Drain().
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;     // The destructor.
  Scheduler scheduler_ ABSL_GUARDED_BY(mutex_);
  std::map<CallerId, Waiting> calls_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<WorkerId, std::shared_ptr<WorkerOutbox>> links_ ABSL_GUARDED_BY(mutex_);
  CallerId next_caller_ ABSL_GUARDED_BY(mutex_) = 1;
  WorkerId next_worker_ ABSL_GUARDED_BY(mutex_);
  absl::Time swept_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t joined_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t late_ ABSL_GUARDED_BY(mutex_) = 0;

  StoreWriter writer_;
  std::jthread timer_;
  std::jthread graph_checker_;
};

}  // namespace neffcache
