// The worker's side of the dispatcher: leases and what comes of them.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/scheduler/live_dispatcher.h"

namespace neffcache {
namespace {

constexpr size_t kMostLogTail = size_t{64} << 10;

}  // namespace

absl::StatusOr<WorkerId> LiveDispatcher::AddWorker(WorkerOffer offer, WorkerLink& link) {
  if (offer.toolchains.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("worker ", offer.name, " offers no toolchain"));
  }
  if (offer.slots == 0) {
    return absl::InvalidArgumentError(absl::StrCat("worker ", offer.name, " offers no slot"));
  }
  auto outbox = std::make_shared<WorkerOutbox>([&link](const WorkerMessage& message) {
    if (const auto* lease = std::get_if<Lease>(&message)) {
      link.Grant(*lease);
    } else if (const auto* revoked = std::get_if<Revoked>(&message)) {
      link.Revoke(revoked->token, revoked->reason);
    } else if (const auto* drain = std::get_if<DrainOrder>(&message)) {
      link.Drain(drain->reason);
    }
  });
  Delivery delivery;
  WorkerId id = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (draining_) return DrainingError();
    id = next_worker_++;
    links_[id] = std::move(outbox);
    scheduler_.AddWorker(id, std::move(offer), Now());
    CarryOut(delivery);
  }
  delivery.Deliver();
  return id;
}

void LiveDispatcher::RemoveWorker(WorkerId worker) {
  Delivery delivery;
  std::shared_ptr<WorkerOutbox> outbox;
  {
    absl::MutexLock lock(&mutex_);
    const auto link = links_.find(worker);
    if (link == links_.end()) return;
    outbox = std::move(link->second);
    links_.erase(link);
    scheduler_.RemoveWorker(worker, Now());
    CarryOut(delivery);
  }
  outbox->Close();
  delivery.Deliver();
}

void LiveDispatcher::Heartbeat(WorkerId worker, absl::Span<const LeaseProgress> progress) {
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    scheduler_.Heartbeat(worker, progress, Now());
    CarryOut(delivery);
  }
  delivery.Deliver();
}

void LiveDispatcher::WorkerLeaving(WorkerId worker) {
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    scheduler_.WorkerLeaving(worker, Now());
    CarryOut(delivery);
  }
  delivery.Deliver();
}

absl::StatusOr<Lease> LiveDispatcher::FindLease(WorkerId worker, LeaseToken token) const {
  absl::MutexLock lock(&mutex_);
  const Compile* compile = scheduler_.FindLease(worker, token);
  if (compile == nullptr) {
    return absl::NotFoundError(absl::StrCat("lease ", token, " is void"));
  }
  Lease lease;
  lease.token = token;
  lease.key = compile->key;
  lease.material = compile->material;
  lease.graph = compile->graph;
  lease.time_limit = options_.compile_time_limit;
  lease.memory_limit_bytes = compile->lease->memory_limit_bytes;
  return lease;
}

absl::StatusOr<bool> LiveDispatcher::Finish(WorkerId worker, LeaseToken token,
                                            CompileResult result) {
  if (result.artifact.has_value() == result.failure.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the result of lease ", token, " must be either an artifact or a failure"));
  }
  Entry entry;
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status claimed = scheduler_.Claim(worker, token, Now()); !claimed.ok()) {
      ++late_;
      return claimed;
    }
    entry = EntryOf(*scheduler_.FindLease(worker, token));
  }
  entry.compile_time = result.compile_time;
  entry.peak_memory_bytes = result.peak_memory_bytes;
  if (result.log) entry.log = result.log->digest();
  // Notes of earlier attempts must not come after the commit.
  writer_.Await(entry.key);
  return result.artifact ? FinishReady(token, std::move(entry), std::move(result))
                         : FinishFailed(token, std::move(entry), std::move(result));
}

absl::StatusOr<bool> LiveDispatcher::FinishReady(LeaseToken token, Entry entry,
                                                 CompileResult result) {
  entry.state = Artifact{result.artifact->digest(), result.artifact->size()};
  absl::StatusOr<Store::Committed> committed =
      store_.CommitReady(entry, *std::move(result.artifact), std::move(result.log));
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    if (committed.ok()) {
      ++done_;
      TellLast(scheduler_.Succeeded(token, result.compile_time, result.peak_memory_bytes, Now()),
               ReadyEvent{committed->entry, true}, delivery);
    } else {
      Failure failure;
      failure.failure_class = FailureClass::kTransient;
      failure.message =
          absl::StrCat("the artifact could not be stored: ", committed.status().message());
      scheduler_.Failed(token, failure, result.peak_memory_bytes, Now());
    }
    CarryOut(delivery);
  }
  delivery.Deliver();
  if (!committed.ok()) return committed.status();
  if (committed->accepted && options_.on_entry) options_.on_entry(committed->entry);
  return committed->accepted;
}

absl::StatusOr<bool> LiveDispatcher::FinishFailed(LeaseToken token, Entry entry,
                                                  CompileResult result) {
  Failure failure = *std::move(result.failure);
  if (failure.log_tail.size() > kMostLogTail) {
    failure.log_tail.erase(0, failure.log_tail.size() - kMostLogTail);
  }
  absl::optional<GaveUp> gave_up;
  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    scheduler_.Failed(token, failure, result.peak_memory_bytes, Now());
    gave_up = CarryOut(delivery, &entry.key);
  }
  delivery.Deliver();
  if (!gave_up) return false;  // It is tried again.
  const bool remembered = gave_up->remember > absl::ZeroDuration();
  return StoreFailure(*gave_up, std::move(entry), std::move(result.log)).ok() && remembered;
}

absl::Status LiveDispatcher::StoreFailure(const GaveUp& gave_up, Entry entry,
                                          absl::optional<StagedContent> log) {
  Failure failure = gave_up.failure;
  failure.failed_at = options_.wall_clock();
  failure.remembered_until = gave_up.remember > absl::ZeroDuration()
                                 ? failure.failed_at + gave_up.remember
                                 : absl::InfinitePast();
  entry.worker = failure.worker;
  entry.state = failure;
  absl::Status stored = store_.CommitFailed(entry, std::move(log));
  if (!stored.ok()) {
    failure.remembered_until = absl::InfinitePast();
    absl::StrAppend(&failure.message, " (which could not be stored: ", stored.message(), ")");
    entry.state = failure;
    entry.log = Digest();
  }
  // Somebody may have published an artifact meanwhile, which is what the callers want.
  const absl::StatusOr<Entry> now_held = store_.Find(entry.key);
  const bool ready = now_held.ok() && now_held->ready() != nullptr;

  Delivery delivery;
  {
    absl::MutexLock lock(&mutex_);
    ++failed_;
    const CompileEvent event =
        ready ? CompileEvent(ReadyEvent{*now_held, true}) : CompileEvent(FailedEvent{entry});
    TellLast(scheduler_.End(entry.key), event, delivery);
  }
  delivery.Deliver();
  if (stored.ok() && !ready && options_.on_entry) options_.on_entry(entry);
  return stored;
}

Entry LiveDispatcher::EntryOf(const Compile& compile) const {
  Entry entry;
  entry.key = compile.key;
  entry.material = compile.material;
  entry.created = options_.wall_clock();
  entry.graph = compile.graph;
  if (compile.lease) {
    entry.worker = compile.lease->worker_name;
    entry.fencing_token = compile.lease->token;
  }
  return entry;
}

}  // namespace neffcache
