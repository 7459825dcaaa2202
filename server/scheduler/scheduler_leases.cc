// How leases end: by a result, with their worker, or in time.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/scheduler/scheduler.h"

namespace neffcache {
namespace {

using State = Compile::State;

// More than any machine has: doubling stops here.
constexpr uint64_t kMostMemory = uint64_t{1} << 44;
// How long a retry insists on a worker that has not failed it yet.
constexpr absl::Duration kInsistence = absl::Minutes(2);
// What a worker may take beyond the time limit to kill the compiler and to send the result.
constexpr absl::Duration kFinishGrace = absl::Minutes(15);

}  // namespace

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

std::vector<CallerId> Scheduler::Published(const Key& key, absl::Time now) {
  Compile* compile = FindMutable(key);
  if (compile == nullptr || compile->state == State::kLookingUp ||
      compile->state == State::kCommitting || compile->state == State::kEnding) {
    return {};
  }
  now = At(now);
  if (compile->state != State::kRunning) return End(key);
  decisions_.emplace_back(Revoked{compile->lease->worker, compile->lease->token,
                                  "somebody else published the artifact"});
  EndLease(*compile);
  Enter(*compile, State::kEnding, now);
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

}  // namespace neffcache
