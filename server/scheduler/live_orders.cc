// The client's side of the dispatcher: orders, graphs, waits.

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/fingerprint.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/scheduler/live_dispatcher.h"

namespace neffcache {
namespace {

using State = Compile::State;

// Reads the graph and checks that it is what the order says.
absl::StatusOr<GraphRecord> CheckGraph(const KeyMaterial& material, const StagedContent& graph) {
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Load(graph.uncompressed_path()));
  IdentifyOptions options;
  // Only the exact tag says so; raw digests are the same in either order.
  if (absl::EndsWith(material.fingerprint.tag, "-exact")) options.order = GraphOrder::kExact;
  ASSIGN_OR_RETURN(const GraphIdentity identity, IdentifyGraph(contents.bytes(), options));
  if (!identity.cacheable()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the graph cannot be compiled elsewhere: ", identity.uncacheable_reason));
  }
  if (!(identity.fingerprint == material.fingerprint)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the graph sent has fingerprint ", ToString(identity.fingerprint),
                     ", the order says ", ToString(material.fingerprint)));
  }
  GraphRecord record;
  record.digest = graph.digest();
  record.size = graph.size();
  record.name = identity.name;
  record.instructions = identity.instructions;
  return record;
}

QueuedCompile ToQueue(const Compile& compile, absl::Time now) {
  QueuedCompile queued;
  queued.key = compile.key;
  queued.material = compile.material;
  queued.purpose = compile.purpose;
  queued.queued = now;
  return queued;
}

}  // namespace

class LiveDispatcher::LiveCall final : public Call {
 public:
  LiveCall(LiveDispatcher& dispatcher, CallerId id, std::shared_ptr<Outbox<CompileEvent>> outbox)
      : dispatcher_(dispatcher), id_(id), outbox_(std::move(outbox)) {}

  ~LiveCall() override {
    dispatcher_.Leave(id_);
    outbox_->Close();
  }

  absl::Status GraphArrived(StagedContent graph) override {
    return dispatcher_.GraphArrived(id_, std::move(graph));
  }

 private:
  LiveDispatcher& dispatcher_;
  const CallerId id_;
  const std::shared_ptr<Outbox<CompileEvent>> outbox_;
};

std::unique_ptr<CompileDispatcher::Call> LiveDispatcher::Begin(CompileOrder order,
                                                               Listener listener) {
  auto outbox = std::make_shared<Outbox<CompileEvent>>(std::move(listener));
  std::unique_ptr<LiveCall> call;
  Delivery delivery;
  bool look_up = false;
  bool draining = false;
  {
    absl::MutexLock lock(&mutex_);
    const CallerId id = next_caller_++;
    call = std::make_unique<LiveCall>(*this, id, outbox);
    draining = draining_;
    if (!draining) {
      Waiting& waiting = calls_[id];
      waiting.outbox = outbox;
      waiting.retry_failed = order.retry_failed;
      waiting.refuse_unknown_toolchain = order.refuse_unknown_toolchain;
      waiting.told = Now();
      look_up = scheduler_.Ask(id, order.key, order.material, order.purpose, Now()) ==
                Scheduler::Asked::kLookUp;
      CarryOut(delivery);
      const Compile* compile = scheduler_.Find(order.key);
      if (!look_up && compile->state != State::kLookingUp) {
        ++joined_;
        RefuseUnknownToolchain(order.key, {id}, delivery);
        compile = scheduler_.Find(order.key);
        const bool refused = compile == nullptr || !compile->callers.contains(id);
        if (!refused && compile->state != State::kNeedsGraph) {
          TellCaller(id, *compile, scheduler_.Describe(*compile, Now()), delivery);
        }
      }
    }
  }
  if (draining) delivery.Push(outbox, AnswerWhileDraining(order.key));
  delivery.Deliver();
  if (look_up) LookUp(order);
  return call;
}

absl::Status LiveDispatcher::DrainingError() {
  return absl::UnavailableError(
      "the daemon is draining; what is queued goes on when it is back: connect again then");
}

CompileEvent LiveDispatcher::AnswerWhileDraining(const Key& key) const {
  absl::StatusOr<Entry> entry = store_.Find(key);
  if (entry.ok() && entry->ready() != nullptr) return ReadyEvent{*std::move(entry), false};
  return RefusedEvent{DrainingError()};
}

void LiveDispatcher::LookUp(const CompileOrder& order) {
  const Key& key = order.key;
  absl::string_view reason;
  if (order.purpose == Purpose::kRebuild) reason = "the artifact that it had was damaged";
  while (true) {
    absl::StatusOr<Entry> entry = store_.Find(key);
    if (absl::IsNotFound(entry.status()) || absl::IsDataLoss(entry.status())) {
      entry = store_.Recall(key);
      // An entry that is lost is as good as none: the commit of the next compile replaces it.
      if (!entry.ok()) break;
    }
    if (!entry.ok()) return RefuseAll(key, entry.status());
    if (Answer(*entry)) return;
    const absl::Status forgotten = store_.ForgetFailure(key);
    if (!forgotten.ok() && !absl::IsNotFound(forgotten)) return RefuseAll(key, forgotten);
    reason = "its last compile failed, and it was asked for anew";
  }
  if (!Admit(key)) return;

  QueuedCompile queued;
  {
    absl::MutexLock lock(&mutex_);
    queued = ToQueue(*scheduler_.Find(key), options_.wall_clock());
  }
  bool kept = false;
  if (absl::optional<GraphRecord> graph = FindWholeGraph(order.material.fingerprint)) {
    queued.graph = *std::move(graph);
    const absl::Status enqueued = store_.Enqueue(queued, absl::nullopt);
    // The graph may have gone meanwhile: then somebody is asked for it.
    if (!enqueued.ok() && !absl::IsFailedPrecondition(enqueued)) return RefuseAll(key, enqueued);
    kept = enqueued.ok();
  }

  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    RefuseUnknownToolchain(key, CallersOf(key), delivery);
    if (const Compile* compile = scheduler_.Find(key); !compile->callers.empty()) {
      joined_ += compile->callers.size() - 1;
    }
    if (kept) {
      scheduler_.GraphKept(queued, Now());
    } else {
      scheduler_.NeedGraph(key, Now());
    }
    CarryOut(delivery);
  }
  delivery.Deliver();
  if (kept && options_.on_miss) options_.on_miss(queued, reason);
  // Published() leaves a compile alone that is being looked up: what came meanwhile is seen here.
  const absl::StatusOr<Entry> entry = store_.Find(key);
  if (entry.ok() && entry->ready() != nullptr) AnswerWaiting(*entry);
}

void LiveDispatcher::Published(const Entry& entry) {
  if (entry.ready() == nullptr) return;
  if (options_.on_entry) options_.on_entry(entry);
  AnswerWaiting(entry);
}

void LiveDispatcher::AnswerWaiting(const Entry& entry) {
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    TellLast(scheduler_.Published(entry.key, Now()), ReadyEvent{entry, false}, delivery);
    CarryOut(delivery);
  }
  delivery.Deliver();
}

absl::optional<GraphRecord> LiveDispatcher::FindWholeGraph(const Fingerprint& fingerprint) {
  absl::StatusOr<GraphRecord> graph = store_.FindGraph(fingerprint);
  if (!graph.ok() || !CheckWhole(*graph).ok()) return absl::nullopt;
  return *std::move(graph);
}

absl::Status LiveDispatcher::CheckWhole(const GraphRecord& graph) {
  absl::Status checked = store_.CheckGraph(graph);
  if (absl::IsDataLoss(checked) || absl::IsNotFound(checked)) {
    // One that cannot be forgotten is found damaged again, or replaced by what a client sends.
    store_.ForgetGraph(graph.digest).IgnoreError();
  }
  return checked;
}

void LiveDispatcher::CheckGraphsOf(const std::vector<QueuedCompile>& queue,
                                   const std::stop_token& stop) {
  absl::flat_hash_map<Digest, absl::Status> checked;  // Several compiles may start from one graph.
  for (const QueuedCompile& queued : queue) {
    if (stop.stop_requested()) return;
    const auto [graph, first] = checked.try_emplace(queued.graph.digest);
    if (first) graph->second = CheckWhole(queued.graph);
    const absl::Status& whole = graph->second;
    if (absl::IsDataLoss(whole) || absl::IsNotFound(whole)) DropQueued(queued.key, whole);
  }
}

void LiveDispatcher::DropQueued(const Key& key, const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    const Compile* compile = scheduler_.Find(key);
    if (compile == nullptr || !compile->waits()) return;
  }
  if (options_.log) {
    options_.log(absl::StrCat("compile ", key.Hex(), " left the queue: ", why.message()));
  }
  // Before the compile ends: its successor's row is not for us. A row that stays is dropped by the
  // next start.
  store_.Dequeue(key).IgnoreError();
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    scheduler_.GraphLost(key, Now());
    CarryOut(delivery);
  }
  delivery.Deliver();
}

bool LiveDispatcher::Answer(const Entry& entry) {
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    const Compile& compile = *scheduler_.Find(entry.key);
    for (const auto& [caller, purpose] : compile.callers) {
      const auto call = calls_.find(caller);
      if (entry.failed() != nullptr && call != calls_.end() && call->second.retry_failed) {
        return false;
      }
    }
    const CompileEvent event = entry.failed() != nullptr ? CompileEvent(FailedEvent{entry})
                                                         : CompileEvent(ReadyEvent{entry, false});
    TellLast(scheduler_.End(entry.key), event, delivery);
  }
  delivery.Deliver();
  return true;
}

bool LiveDispatcher::Admit(const Key& key) {
  Delivery delivery;
  bool admitted = true;
  {
    absl::MutexLock lock(&mutex_);
    RefuseUnknownToolchain(key, CallersOf(key), delivery);
    if (scheduler_.Find(key)->callers.empty()) {
      scheduler_.End(key);
      admitted = false;
    } else if (scheduler_.waiting() > options_.max_queued) {
      const absl::Status full = absl::ResourceExhaustedError(
          absl::StrCat("the queue is full: ", options_.max_queued, " compiles wait"));
      TellLast(scheduler_.End(key), RefusedEvent{full}, delivery);
      admitted = false;
    }
  }
  delivery.Deliver();
  return admitted;
}

std::vector<CallerId> LiveDispatcher::CallersOf(const Key& key) const {
  std::vector<CallerId> callers;
  if (const Compile* compile = scheduler_.Find(key)) {
    for (const auto& [caller, purpose] : compile->callers) callers.push_back(caller);
  }
  return callers;
}

void LiveDispatcher::RefuseUnknownToolchain(const Key& key, const std::vector<CallerId>& callers,
                                            Delivery& delivery) {
  const Compile* compile = scheduler_.Find(key);
  if (compile == nullptr || scheduler_.Offers(compile->material.toolchain)) return;
  const absl::Status status = absl::FailedPreconditionError(
      absl::StrCat("no connected worker offers ", ToString(compile->material.toolchain)));
  for (const CallerId caller : callers) {
    const auto call = calls_.find(caller);
    if (call == calls_.end() || !call->second.refuse_unknown_toolchain) continue;
    Refuse(caller, status, delivery);
  }
  CarryOut(delivery);
}

void LiveDispatcher::Refuse(CallerId caller, absl::Status status, Delivery& delivery) {
  TellLast({caller}, RefusedEvent{std::move(status)}, delivery);
  scheduler_.Leave(caller, Now());
}

void LiveDispatcher::RefuseAll(const Key& key, const absl::Status& status) {
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    TellLast(scheduler_.End(key), RefusedEvent{status}, delivery);
  }
  delivery.Deliver();
}

absl::Status LiveDispatcher::GraphArrived(CallerId caller, StagedContent graph) {
  QueuedCompile queued;
  {
    absl::MutexLock lock(&mutex_);
    const Compile* compile = scheduler_.WaitedFor(caller);
    // The wait has ended (the last event says how), or another's graph came first.
    if (compile == nullptr || compile->state != State::kNeedsGraph) return absl::OkStatus();
    if (compile->asked != caller) {
      return absl::FailedPreconditionError("the graph was not asked for");
    }
    queued = ToQueue(*compile, options_.wall_clock());
  }
  absl::StatusOr<GraphRecord> record = CheckGraph(queued.material, graph);
  if (!record.ok()) {
    Leave(caller);  // Which asks the next.
    return record.status();
  }
  queued.graph = *std::move(record);
  return KeepGraph(caller, queued, std::move(graph));
}

absl::Status LiveDispatcher::KeepGraph(CallerId caller, const QueuedCompile& queued,
                                       StagedContent graph) {
  graph.ReleaseUncompressed();
  if (absl::Status kept = store_.Enqueue(queued, std::move(graph)); !kept.ok()) {
    Delivery delivery;
    {
      absl::MutexLock lock(&mutex_);
      // The sender hears it from the status that is returned.
      calls_.erase(caller);
      // The others' copies would meet the same store.
      if (AwaitsGraph(queued.key))
        TellLast(scheduler_.End(queued.key), RefusedEvent{kept}, delivery);
    }
    delivery.Deliver();
    return kept;
  }
  Delivery delivery;
  bool wanted = true;
  {
    absl::MutexLock lock(&mutex_);
    wanted = AwaitsGraph(queued.key);
    if (wanted) scheduler_.GraphKept(queued, Now());
    CarryOut(delivery);
  }
  delivery.Deliver();
  if (!wanted) {
    DropIfAnswered(queued.key);
  } else if (options_.on_miss) {
    options_.on_miss(queued, "");
  }
  return absl::OkStatus();
}

bool LiveDispatcher::AwaitsGraph(const Key& key) const {
  const Compile* compile = scheduler_.Find(key);
  return compile != nullptr && compile->state == State::kNeedsGraph;
}

void LiveDispatcher::DropIfAnswered(const Key& key) {
  const absl::StatusOr<Entry> entry = store_.Find(key);
  // When it fails, the next start drops it.
  if (entry.ok() && entry->ready() != nullptr) store_.Dequeue(key).IgnoreError();
}

void LiveDispatcher::RequeueQuarantined() {
  for (Entry& entry : store_.TakeQuarantined()) {
    CompileOrder order;
    order.key = entry.key;
    order.material = std::move(entry.material);
    order.purpose = Purpose::kRebuild;
    // As a client would that asks and leaves: without a kept graph nothing comes of it.
    writer_.Post(entry.key,
                 [this, order = std::move(order)] { Begin(order, [](const CompileEvent&) {}); });
  }
}

void LiveDispatcher::Leave(CallerId caller) {
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    calls_.erase(caller);
    scheduler_.Leave(caller, Now());
    CarryOut(delivery);
  }
  delivery.Deliver();
}

}  // namespace neffcache
