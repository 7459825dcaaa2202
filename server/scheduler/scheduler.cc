#include "server/scheduler/scheduler.h"

#include <algorithm>

namespace neffcache {
namespace {

using State = Compile::State;

// A compile that does not fit is passed over this often before a worker is kept free for it.
constexpr uint32_t kMostOvertaken = 8;
// Compiles of one toolchain that are looked at in one go for one that fits.
constexpr int kMostLookedAt = 64;

bool Leased(const Compile& compile) {
  return compile.state == State::kRunning || compile.state == State::kCommitting;
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options)
    : options_(options), next_token_(options_.first_token) {}

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

void Scheduler::GraphLost(const Key& key, absl::Time now) {
  Compile* compile = FindMutable(key);
  if (compile == nullptr) return;
  if (!compile->waits()) return;
  if (compile->state == State::kQueued) queue_.Erase(*compile);
  SetWake(*compile, absl::InfiniteFuture());
  now = At(now);
  Enter(*compile, State::kNeedsGraph, now);
  AskNext(*compile, now);
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
