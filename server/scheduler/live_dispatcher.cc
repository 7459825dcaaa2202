#include "server/scheduler/live_dispatcher.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

using State = Compile::State;

// How often waiters' positions are looked at.
constexpr absl::Duration kSweepInterval = absl::Seconds(1);
// A waiter hears something at least this often; the protocol allows twice that.
constexpr absl::Duration kLongestSilence = absl::Seconds(5);
// Entries that the expectations start from. Keys are hashes, so the first ones are a fair sample.
constexpr int kLearntEntries = 5000;

SchedulerOptions OptionsFor(const DispatcherOptions& options) {
  SchedulerOptions scheduler;
  scheduler.heartbeat_interval = options.heartbeat_interval;
  scheduler.missed_heartbeats = options.missed_heartbeats;
  scheduler.compile_time_limit = options.compile_time_limit;
  scheduler.retry.max_attempts = options.max_attempts;
  scheduler.retry.failure_ttl = options.failure_ttl;
  scheduler.retry.unclear_failure_ttl = options.unclear_failure_ttl;
  scheduler.first_token = std::max<int64_t>(1, absl::ToUnixNanos(options.wall_clock()));
  return scheduler;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CompileDispatcher>> CompileDispatcher::Open(
    Store& store, DispatcherOptions options) {
  auto dispatcher = std::make_unique<LiveDispatcher>(store, std::move(options));
  RETURN_IF_ERROR(dispatcher->Start());
  return dispatcher;
}

LiveDispatcher::LiveDispatcher(Store& store, DispatcherOptions options)
    : store_(store),
      options_(std::move(options)),
      scheduler_(OptionsFor(options_)),
      next_worker_(std::max<int64_t>(1, absl::ToUnixNanos(options_.wall_clock()))) {}

LiveDispatcher::~LiveDispatcher() {
  graph_checker_.request_stop();
  Shutdown();
  {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
    timer_wakes_.Signal();
  }
  if (timer_.joinable()) timer_.join();
}

absl::Status LiveDispatcher::Start() {
  ASSIGN_OR_RETURN(const std::vector<QueuedCompile> queue, TakeUpQueue());
  int learnt = 0;
  std::vector<Entry> past;
  // Only expectations come of it: an entry that cannot be read does not keep a daemon from
  // starting.
  store_
      .ForEachEntry([&](const Entry& entry) {
        if (entry.ready() != nullptr) past.push_back(entry);
        return ++learnt < kLearntEntries;
      })
      .IgnoreError();

  {
    absl::MutexLock lock(&mutex_);
    for (const Entry& entry : past) scheduler_.Learn(entry);
    for (const QueuedCompile& queued : queue) scheduler_.Restore(queued, Now());
    scheduler_.TakeDecisions();  // Nobody is there yet to be told.
  }
  timer_ = std::jthread([this] { RunTimer(); });
  graph_checker_ =
      std::jthread([this, queue](const std::stop_token& stop) { CheckGraphsOf(queue, stop); });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<QueuedCompile>> LiveDispatcher::TakeUpQueue() {
  ASSIGN_OR_RETURN(std::vector<QueuedCompile> queue, store_.LoadQueue());
  std::vector<Key> keys;
  keys.reserve(queue.size());
  for (const QueuedCompile& queued : queue) keys.push_back(queued.key);
  ASSIGN_OR_RETURN(const auto entries, store_.Find(keys));
  std::vector<QueuedCompile> open;
  for (size_t i = 0; i < queue.size(); ++i) {
    // Else answered by somebody who published, or between a commit and a crash.
    if (!entries[i].has_value()) {
      open.push_back(std::move(queue[i]));
    } else {
      RETURN_IF_ERROR(store_.Dequeue(queue[i].key));
    }
  }
  return open;
}

void LiveDispatcher::RunTimer() {
  absl::MutexLock lock(&mutex_);
  while (!ended_) {
    const absl::Duration wait =
        std::clamp(scheduler_.NextDeadline() - Now(), absl::Milliseconds(1), kSweepInterval);
    const auto before = std::chrono::steady_clock::now();
    timer_wakes_.WaitWithTimeout(&mutex_, wait);
    if (ended_) return;
    // When this process was stopped (a debugger, a frozen machine), the workers' heartbeats wait in
    // its sockets: they are not to blame.
    const absl::Duration overslept =
        absl::FromChrono(std::chrono::steady_clock::now() - before) - wait;
    if (overslept >= options_.heartbeat_interval) scheduler_.Excuse(overslept);
    mutex_.Unlock();
    Tick();
    mutex_.Lock();
  }
}

void LiveDispatcher::Tick() {
  RequeueQuarantined();
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = Now();
    scheduler_.Advance(now);
    CarryOut(delivery);
    if (now - swept_ >= kSweepInterval) {
      swept_ = now;
      Sweep(delivery);
    }
  }
  delivery.Deliver();
}

void LiveDispatcher::Drain() {
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    if (draining_) return;
    draining_ = true;
    scheduler_.StopGranting();
    while (!calls_.empty()) Refuse(calls_.begin()->first, DrainingError(), delivery);
    for (const auto& [id, outbox] : links_) {
      scheduler_.WorkerLeaving(id, Now());
      delivery.Push(outbox, WorkerMessage(DrainOrder{"the daemon is draining"}));
    }
    CarryOut(delivery);
  }
  delivery.Deliver();
}

bool LiveDispatcher::AwaitDrained(absl::Time deadline, const std::stop_token& stop) {
  // Conditions are looked at again when the lock is let go.
  const std::stop_callback wake(stop, [this] { const absl::MutexLock lock(&mutex_); });
  absl::MutexLock lock(&mutex_);
  const auto over = [&] {
    mutex_.AssertReaderHeld();
    return scheduler_.running() == 0 || stop.stop_requested();
  };
  mutex_.AwaitWithDeadline(absl::Condition(&over), deadline);
  return scheduler_.running() == 0;
}

void LiveDispatcher::Shutdown() {
  Drain();
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, worker] : scheduler_.workers().all()) {
      const auto link = links_.find(id);
      if (link == links_.end()) continue;
      for (const auto& [token, bytes] : worker.leases) {
        delivery.Push(link->second, WorkerMessage(Revoked{id, token, "the daemon is stopping"}));
      }
    }
  }
  delivery.Deliver();
}

// --- Decisions

absl::optional<GaveUp> LiveDispatcher::CarryOut(Delivery& delivery, const Key* mine) {
  absl::optional<GaveUp> my_failure;
  for (const Decision& decision : scheduler_.TakeDecisions()) {
    if (const auto* ask = std::get_if<AskGraph>(&decision)) {
      const auto call = calls_.find(ask->caller);
      if (call == calls_.end()) continue;
      call->second.told = Now();
      delivery.Push(call->second.outbox, CompileEvent(NeedGraphEvent{}));
    } else if (const auto* queued = std::get_if<Queued>(&decision)) {
      const Compile* compile = scheduler_.Find(queued->key);
      if (compile == nullptr) continue;
      if (queued->attempts > 0) NoteAttempt(*compile);
      // It may run already: then the grant tells.
      if (compile->waits()) TellStatus(*compile, delivery);
    } else if (const auto* granted = std::get_if<Granted>(&decision)) {
      CarryOutGrant(*granted, delivery);
    } else if (const auto* revoked = std::get_if<Revoked>(&decision)) {
      const auto link = links_.find(revoked->worker);
      if (link != links_.end()) delivery.Push(link->second, WorkerMessage(*revoked));
    } else if (const auto* progressed = std::get_if<Progressed>(&decision)) {
      if (const Compile* compile = scheduler_.Find(progressed->key)) TellStatus(*compile, delivery);
    } else if (const auto* gave_up = std::get_if<GaveUp>(&decision)) {
      if (mine != nullptr && gave_up->key == *mine) {
        my_failure = *gave_up;
        continue;
      }
      writer_.Post(gave_up->key, [this, failure = *gave_up,
                                  entry = EntryOf(*scheduler_.Find(gave_up->key))]() mutable {
        // The waiters hear of the failure and of what became of its record.
        StoreFailure(failure, std::move(entry), absl::nullopt).IgnoreError();
      });
    }
  }
  return my_failure;
}

void LiveDispatcher::CarryOutGrant(const Granted& granted, Delivery& delivery) {
  const Compile* compile = scheduler_.Find(granted.key);
  const auto link = links_.find(granted.worker);
  // Revoked again by a later decision of the same batch.
  if (compile == nullptr || !compile->lease || compile->lease->token != granted.token) return;
  if (link == links_.end()) return;
  Lease lease;
  lease.token = granted.token;
  lease.key = compile->key;
  lease.material = compile->material;
  lease.graph = compile->graph;
  lease.time_limit = granted.time_limit;
  lease.memory_limit_bytes = granted.memory_limit_bytes;
  delivery.Push(link->second, WorkerMessage(std::move(lease)));
  TellStatus(*compile, delivery);
}

void LiveDispatcher::NoteAttempt(const Compile& compile) {
  QueuedCompile queued;
  queued.key = compile.key;
  queued.material = compile.material;
  queued.graph = compile.graph;
  queued.purpose = compile.purpose;
  queued.queued = compile.queued;
  queued.attempts = compile.attempts.made;
  writer_.Post(compile.key, [this, queued = std::move(queued)] {
    // Without the note a restarted daemon tries more often than it should, and no worse.
    store_.UpdateQueued(queued).IgnoreError();
  });
}

// --- Events

void LiveDispatcher::TellCaller(CallerId caller, const Compile& compile,
                                const CompileStatus& status, Delivery& delivery) {
  const auto call = calls_.find(caller);
  if (call == calls_.end()) return;
  Waiting& waiting = call->second;
  waiting.told = Now();
  waiting.told_position = status.position;
  waiting.told_reason = status.reason;
  if (compile.waits()) {
    QueuedEvent event;
    event.position = status.position;
    event.expected_wait = status.expected_wait;
    event.reason = status.reason;
    delivery.Push(waiting.outbox, CompileEvent(std::move(event)));
    return;
  }
  if (compile.state == State::kLookingUp || compile.state == State::kNeedsGraph) {
    QueuedEvent event;
    event.kept = false;
    event.reason = compile.state == State::kLookingUp ? "the store is being asked"
                   : compile.asked == caller          ? "the graph is awaited"
                                             : "another client was asked to send the graph";
    delivery.Push(waiting.outbox, CompileEvent(std::move(event)));
    return;
  }
  RunningEvent event;
  event.elapsed = status.elapsed;
  event.expected = status.expected;
  event.memory_bytes = compile.memory_bytes;
  event.last_log_line = compile.last_log_line;
  if (compile.lease) event.worker = compile.lease->worker_name;
  event.attempt = status.attempt;
  delivery.Push(waiting.outbox, CompileEvent(std::move(event)));
}

void LiveDispatcher::TellStatus(const Compile& compile, Delivery& delivery) {
  if (compile.callers.empty()) return;
  const CompileStatus status = scheduler_.Describe(compile, Now());
  for (const auto& [caller, purpose] : compile.callers) {
    TellCaller(caller, compile, status, delivery);
  }
}

void LiveDispatcher::Sweep(Delivery& delivery) {
  const absl::Time now = Now();
  scheduler_.ForEach([&](const Compile& compile) {
    mutex_.AssertHeld();
    if (compile.callers.empty()) return;
    const CompileStatus status = scheduler_.Describe(compile, now);
    for (const auto& [caller, purpose] : compile.callers) {
      const auto call = calls_.find(caller);
      if (call == calls_.end()) continue;
      const Waiting& waiting = call->second;
      const bool moved = compile.waits() && (waiting.told_position != status.position ||
                                             waiting.told_reason != status.reason);
      if (moved || now - waiting.told >= kLongestSilence) {
        TellCaller(caller, compile, status, delivery);
      }
    }
  });
}

void LiveDispatcher::TellLast(const std::vector<CallerId>& callers, const CompileEvent& event,
                              Delivery& delivery) {
  for (const CallerId caller : callers) {
    const auto call = calls_.find(caller);
    if (call == calls_.end()) continue;
    delivery.Push(call->second.outbox, event);
    calls_.erase(call);
  }
}

}  // namespace neffcache
