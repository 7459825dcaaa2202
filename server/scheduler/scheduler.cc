#include "server/scheduler/scheduler.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace neffcache {
namespace {

using State = Compile::State;

// More than any machine has: doubling stops here.
constexpr uint64_t kMostMemory = uint64_t{1} << 44;
// How long a retry insists on a worker that has not failed it yet.
constexpr absl::Duration kInsistence = absl::Minutes(2);
// What a worker may take beyond the time limit to kill the compiler and to send the result.
constexpr absl::Duration kFinishGrace = absl::Minutes(15);
// A compile that does not fit is passed over this often before a worker is kept free for it.
constexpr uint32_t kMostOvertaken = 8;
// Compiles of one toolchain that are looked at in one go for one that fits.
constexpr int kMostLookedAt = 64;

bool Leased(const Compile& compile) {
  return compile.state == State::kRunning || compile.state == State::kCommitting;
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options)
    : options_(std::move(options)), next_token_(options_.first_token) {}

absl::Time Scheduler::At(absl::Time now) {
  now_ = std::max(now_, now);
  return now_;
}

// --- Callers

Scheduler::Asked Scheduler::Ask(CallerId caller, const Key& key, const KeyMaterial& material,
                                Purpose purpose, absl::Time now) {
  now = At(now);
  Compile* compile = FindMutable(key);
  const Asked asked = compile == nullptr ? Asked::kLookUp : Asked::kWaits;
  if (compile == nullptr) compile = &Create(key, material, now);
  compile->callers[caller] = purpose;
  compile->purpose = std::min(compile->purpose, purpose);
  callers_[caller] = key;
  Reprioritize(*compile);
  // Nobody could send the graph until now.
  if (compile->state == State::kNeedsGraph && compile->asked == 0) AskNext(*compile, now);
  return asked;
}

void Scheduler::Leave(CallerId caller, absl::Time now) {
  now = At(now);
  const auto found = callers_.find(caller);
  if (found == callers_.end()) return;
  Compile& compile = *FindMutable(found->second);
  callers_.erase(found);
  compile.callers.erase(caller);
  if (compile.state == State::kNeedsGraph) {
    if (compile.asked == caller) AskNext(compile, now);
    return;
  }
  Reprioritize(compile);
}

// --- What the store has

void Scheduler::NeedGraph(const Key& key, absl::Time now) {
  Compile* compile = FindMutable(key);
  if (compile == nullptr || compile->state != State::kLookingUp) return;
  now = At(now);
  Enter(*compile, State::kNeedsGraph, now);
  AskNext(*compile, now);
}

void Scheduler::GraphKept(const QueuedCompile& queued, absl::Time now) {
  Compile* compile = FindMutable(queued.key);
  if (compile == nullptr ||
      (compile->state != State::kLookingUp && compile->state != State::kNeedsGraph)) {
    return;
  }
  now = At(now);
  compile->asked = 0;
  compile->graph = queued.graph;
  compile->queued = queued.queued;
  compile->attempts.made = queued.attempts;
  compile->expected = history_.Expect(compile->material.toolchain, queued.graph);
  compile->memory_needed = compile->expected.memory_bytes;
  Enqueue(*compile, now);
  Dispatch(now);
}

void Scheduler::Restore(const QueuedCompile& queued, absl::Time now) {
  if (Find(queued.key) != nullptr) return;
  now = At(now);
  Create(queued.key, queued.material, now).purpose = queued.purpose;
  GraphKept(queued, now);
}

std::vector<CallerId> Scheduler::End(const Key& key) {
  const Compile* compile = Find(key);
  if (compile == nullptr || Leased(*compile)) return {};
  std::vector<CallerId> callers;
  callers.reserve(compile->callers.size());
  for (const auto& [caller, purpose] : compile->callers) callers.push_back(caller);
  Forget(key);
  return callers;
}

void Scheduler::Learn(const Entry& entry) {
  if (entry.ready() == nullptr) return;
  history_.Learn(entry.material.toolchain, entry.graph, entry.peak_memory_bytes,
                 entry.compile_time);
}

// --- Compiles

const Compile* Scheduler::Find(const Key& key) const {
  const auto found = in_flight_.find(key);
  return found == in_flight_.end() ? nullptr : found->second.get();
}

Compile* Scheduler::FindMutable(const Key& key) {
  const auto found = in_flight_.find(key);
  return found == in_flight_.end() ? nullptr : found->second.get();
}

Compile& Scheduler::Create(const Key& key, const KeyMaterial& material, absl::Time now) {
  auto compile = std::make_unique<Compile>();
  compile->key = key;
  compile->material = material;
  compile->since = now;
  compile->sequence = next_sequence_++;
  return *(in_flight_[key] = std::move(compile));
}

void Scheduler::Enter(Compile& compile, State state, absl::Time now) {
  compile.state = state;
  compile.since = now;
}

void Scheduler::SetWake(Compile& compile, absl::Time wake) {
  if (compile.wake != absl::InfiniteFuture()) wakes_.erase({compile.wake, compile.key});
  compile.wake = wake;
  if (wake != absl::InfiniteFuture()) wakes_.insert({wake, compile.key});
}

void Scheduler::Enqueue(Compile& compile, absl::Time now) {
  Enter(compile, State::kQueued, now);
  SetWake(compile, compile.insists_until > now ? compile.insists_until : absl::InfiniteFuture());
  compile.overtaken = 0;
  compile.rank = {UrgencyOf(compile), -absl::ToInt64Milliseconds(compile.expected.duration),
                  compile.sequence};
  queue_.Insert(compile);
  decisions_.emplace_back(Queued{compile.key, compile.attempts.made});
}

void Scheduler::Reprioritize(Compile& compile) {
  if (compile.state != State::kQueued) return;
  const int urgency = UrgencyOf(compile);
  if (urgency == compile.rank.urgency) return;
  queue_.Erase(compile);
  compile.rank.urgency = urgency;
  queue_.Insert(compile);
}

void Scheduler::AskNext(Compile& compile, absl::Time now) {
  if (compile.callers.empty()) {
    Forget(compile.key);
    return;
  }
  Enter(compile, State::kNeedsGraph, now);
  compile.asked = compile.callers.begin()->first;
  decisions_.emplace_back(AskGraph{compile.asked, compile.key});
}

void Scheduler::Forget(const Key& key) {
  const auto found = in_flight_.find(key);
  if (found == in_flight_.end()) return;
  Compile& compile = *found->second;
  SetWake(compile, absl::InfiniteFuture());
  if (compile.state == State::kQueued) queue_.Erase(compile);
  for (const auto& [caller, purpose] : compile.callers) callers_.erase(caller);
  in_flight_.erase(found);
}

// --- Leases

void Scheduler::EndLease(Compile& compile) {
  workers_.Release(compile.lease->worker, compile.lease->token);
  leases_.erase(compile.lease->token);
  compile.lease.reset();
}

const Compile* Scheduler::FindLease(WorkerId id, LeaseToken token) const {
  const auto found = leases_.find(token);
  if (found == leases_.end()) return nullptr;
  const Compile* compile = Find(found->second);
  return compile->lease->worker == id ? compile : nullptr;
}

absl::Status Scheduler::Claim(WorkerId id, LeaseToken token, absl::Time now) {
  now = At(now);
  const Compile* lease = FindLease(id, token);
  if (lease == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "lease ", token, " is void: its compile was given to another worker or ended"));
  }
  if (lease->state == State::kCommitting) {
    return absl::FailedPreconditionError(
        absl::StrCat("a result of lease ", token, " is being stored already"));
  }
  Enter(*FindMutable(lease->key), State::kCommitting, now);
  return absl::OkStatus();
}

std::vector<CallerId> Scheduler::Succeeded(LeaseToken token, absl::Duration compile_time,
                                           uint64_t peak_memory_bytes, absl::Time now) {
  const auto found = leases_.find(token);
  if (found == leases_.end()) return {};
  now = At(now);
  const Key key = found->second;
  Compile& compile = *FindMutable(key);
  if (Worker* worker = workers_.Find(compile.lease->worker)) {
    ++worker->compiles_done;
    worker->troubles = 0;
  }
  history_.Learn(compile.material.toolchain, compile.graph, peak_memory_bytes, compile_time);
  EndLease(compile);
  Enter(compile, State::kEnding, now);
  std::vector<CallerId> callers = End(key);
  Dispatch(now);
  return callers;
}

void Scheduler::Failed(LeaseToken token, const Failure& failure, uint64_t peak_memory_bytes,
                       absl::Time now) {
  const auto found = leases_.find(token);
  if (found == leases_.end()) return;
  now = At(now);
  Compile& compile = *FindMutable(found->second);
  if (Worker* worker = workers_.Find(compile.lease->worker)) {
    ++worker->compiles_failed;
    worker->troubles = failure.failure_class == FailureClass::kTransient ? worker->troubles + 1 : 0;
  }
  compile.memory_needed = std::max(compile.memory_needed, compile.lease->reserved_bytes);
  if (failure.failure_class == FailureClass::kMemory) {
    compile.memory_needed = std::max(compile.memory_needed, peak_memory_bytes);
  }
  ++compile.attempts.made;
  if (failure.failure_class == FailureClass::kUnclear) ++compile.attempts.unclear;
  Settle(compile, failure, options_.retry.Judge(failure.failure_class, compile.attempts), now);
  Dispatch(now);
}

void Scheduler::Settle(Compile& compile, Failure failure, const Verdict& verdict, absl::Time now) {
  failure.worker = compile.lease->worker_name;
  failure.attempts = compile.attempts.made;
  EndLease(compile);
  compile.last_failure = failure.message;
  compile.memory_bytes = 0;
  compile.last_log_line.clear();
  if (!verdict.retry) {
    Enter(compile, State::kEnding, now);
    decisions_.emplace_back(GaveUp{compile.key, std::move(failure), verdict.remember});
    return;
  }
  if (verdict.double_memory) {
    compile.memory_needed = std::min(kMostMemory, 2 * compile.memory_needed);
  }
  if (verdict.elsewhere) {
    compile.avoided.insert(failure.worker);
    compile.insists_until = now + verdict.back_off + kInsistence;
  }
  if (verdict.back_off > absl::ZeroDuration()) {
    Enter(compile, State::kBackingOff, now);
    SetWake(compile, now + verdict.back_off);
    decisions_.emplace_back(Queued{compile.key, compile.attempts.made});
    return;
  }
  Enqueue(compile, now);
}

// --- Workers

void Scheduler::AddWorker(WorkerId id, WorkerOffer offer, absl::Time now) {
  now = At(now);
  workers_.Add(id, std::move(offer), now);
  Dispatch(now);
}

void Scheduler::RemoveWorker(WorkerId id, absl::Time now) {
  now = At(now);
  LoseLeases(id, "was lost", now);
  workers_.Remove(id);
  Dispatch(now);
}

void Scheduler::WorkerLeaving(WorkerId id, absl::Time now) {
  now = At(now);
  if (Worker* worker = workers_.Find(id)) worker->draining = true;
  // What waited for this worker's memory may now go to a smaller one.
  Dispatch(now);
}

void Scheduler::Heartbeat(WorkerId id, absl::Span<const LeaseProgress> progress, absl::Time now) {
  now = At(now);
  Worker* worker = workers_.Find(id);
  if (worker == nullptr) return;
  worker->last_heard = now;
  worker->silent = false;
  for (const LeaseProgress& report : progress) {
    if (FindLease(id, report.token) == nullptr) {
      decisions_.emplace_back(Revoked{id, report.token, "the lease has ended"});
      continue;
    }
    Compile& compile = *FindMutable(leases_.at(report.token));
    if (compile.memory_bytes == report.memory_bytes &&
        compile.last_log_line == report.last_log_line) {
      continue;
    }
    compile.memory_bytes = report.memory_bytes;
    compile.last_log_line = report.last_log_line;
    decisions_.emplace_back(Progressed{compile.key});
  }
  Dispatch(now);
}

void Scheduler::LoseLeases(WorkerId id, absl::string_view why, absl::Time now) {
  const Worker* worker = workers_.Find(id);
  if (worker == nullptr) return;
  std::vector<LeaseToken> tokens;
  for (const auto& [token, bytes] : worker->leases) tokens.push_back(token);
  for (const LeaseToken token : tokens) {
    Compile& compile = *FindMutable(leases_.at(token));
    // Its result is here: the worker is not needed any more.
    if (compile.state == State::kCommitting) continue;
    const std::string reason = absl::StrCat("worker ", worker->offer.name, " ", why);
    decisions_.emplace_back(Revoked{id, token, reason});
    ++compile.attempts.made;
    Failure failure;
    failure.failure_class = FailureClass::kTransient;
    failure.message = reason;
    Settle(compile, std::move(failure), options_.retry.JudgeLostWorker(compile.attempts), now);
  }
}

// --- Time

void Scheduler::Advance(absl::Time now) {
  now = At(now);
  const absl::Duration patience = options_.heartbeat_interval * options_.missed_heartbeats;
  for (auto& [id, worker] : workers_.all()) {
    if (worker.silent || now - worker.last_heard < patience) continue;
    worker.silent = true;
    LoseLeases(id, absl::StrCat("was not heard for ", absl::FormatDuration(patience)), now);
  }

  std::vector<LeaseToken> overdue;
  for (const auto& [token, key] : leases_) {
    const Compile& compile = *Find(key);
    if (compile.state == State::kRunning &&
        now - compile.since >= options_.compile_time_limit + kFinishGrace) {
      overdue.push_back(token);
    }
  }
  std::sort(overdue.begin(), overdue.end());
  for (const LeaseToken token : overdue) {
    Compile& compile = *FindMutable(leases_.at(token));
    const std::string reason =
        absl::StrCat("worker ", compile.lease->worker_name, " did not end the compile within ",
                     absl::FormatDuration(options_.compile_time_limit));
    decisions_.emplace_back(Revoked{compile.lease->worker, token, reason});
    Failure failure;
    failure.failure_class = FailureClass::kTransient;
    failure.message = reason;
    Failed(token, failure, 0, now);
  }

  while (!wakes_.empty() && wakes_.begin()->first <= now) {
    Compile& compile = *FindMutable(wakes_.begin()->second);
    SetWake(compile, absl::InfiniteFuture());
    if (compile.state == State::kBackingOff) Enqueue(compile, now);
  }
  Dispatch(now);
}

absl::Time Scheduler::NextDeadline() const {
  absl::Time next = wakes_.empty() ? absl::InfiniteFuture() : wakes_.begin()->first;
  for (const auto& [id, worker] : workers_.all()) {
    if (worker.silent) continue;
    next = std::min(next,
                    worker.last_heard + options_.heartbeat_interval * options_.missed_heartbeats);
  }
  for (const auto& [token, key] : leases_) {
    const Compile& compile = *Find(key);
    if (compile.state != State::kRunning) continue;
    next = std::min(next, compile.since + options_.compile_time_limit + kFinishGrace);
  }
  return next;
}

void Scheduler::Excuse(absl::Duration silence) {
  for (auto& [id, worker] : workers_.all()) worker.last_heard += silence;
}

// --- Placement

void Scheduler::Dispatch(absl::Time now) {
  if (!granting_ || queue_.size() == 0) return;
  absl::flat_hash_set<WorkerId> held;
  std::vector<Compile*> passed_over;
  // Slots that are free for the toolchain, on workers that are not kept free for another compile.
  const auto open_slots = [&](const Toolchain& toolchain) {
    uint64_t slots = 0;
    for (const auto& [id, worker] : workers_.all()) {
      if (!worker.takes_leases() || held.contains(id) || !worker.Offers(toolchain)) continue;
      slots += worker.offer.slots - worker.busy();
    }
    return slots;
  };
  absl::flat_hash_map<std::pair<std::string, std::string>, int> looked_at;

  queue_.Visit([&](const Toolchain& toolchain) { return open_slots(toolchain) > 0; },
               [&](Compile& compile) {
                 const Toolchain& toolchain = compile.material.toolchain;
                 if (open_slots(toolchain) == 0) return WaitingCompiles::Next::kSkipToolchain;
                 if (const auto placement = workers_.Place(compile, now, held)) {
                   const Worker& taker = *workers_.Find(placement->worker);
                   for (Compile* other : passed_over) {
                     if (taker.Offers(other->material.toolchain)) ++other->overtaken;
                   }
                   Grant(compile, *placement, now);
                   return WaitingCompiles::Next::kGoOn;
                 }
                 // One that waits for another worker than those that failed it is not overtaken:
                 // its turn
                 // comes when its insistence ends.
                 if (compile.avoided.empty() || now >= compile.insists_until) {
                   if (compile.overtaken >= kMostOvertaken) {
                     if (const WorkerId kept = workers_.WorthWaitingFor(compile, held))
                       held.insert(kept);
                   }
                   passed_over.push_back(&compile);
                 }
                 return ++looked_at[{toolchain.name, toolchain.version}] >= kMostLookedAt
                            ? WaitingCompiles::Next::kSkipToolchain
                            : WaitingCompiles::Next::kGoOn;
               });
}

void Scheduler::Grant(Compile& compile, const WorkerPool::Placement& placement, absl::Time now) {
  queue_.Erase(compile);
  SetWake(compile, absl::InfiniteFuture());
  Enter(compile, State::kRunning, now);
  Compile::Lease lease;
  lease.token = next_token_++;
  lease.worker = placement.worker;
  lease.worker_name = workers_.Find(placement.worker)->offer.name;
  lease.reserved_bytes = placement.reserve_bytes;
  lease.memory_limit_bytes = placement.memory_limit_bytes;
  lease.granted = now;
  leases_[lease.token] = compile.key;
  workers_.Reserve(lease.worker, lease.token, lease.reserved_bytes);
  decisions_.emplace_back(Granted{compile.key, lease.worker, lease.token,
                                  options_.compile_time_limit, lease.memory_limit_bytes});
  compile.lease = std::move(lease);
}

}  // namespace neffcache
