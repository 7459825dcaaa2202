#include "server/scheduler/worker_pool.h"

#include <algorithm>
#include <tuple>

namespace neffcache {
namespace {

// A lease's limit is above its reservation: expectations are rough, and a kill costs the whole
// compile. Small ones get what an ordinary process may have.
constexpr uint64_t kLeastLimit = uint64_t{4} << 30;
constexpr uint64_t kLimitFactor = 2;

uint64_t LimitFor(uint64_t needed, uint64_t worker_memory) {
  const uint64_t limit = std::max(kLeastLimit, needed * kLimitFactor);
  return worker_memory == UINT64_MAX ? 0 : std::min(limit, worker_memory);
}

}  // namespace

bool Worker::Offers(const Toolchain& toolchain) const {
  return std::find(offer.toolchains.begin(), offer.toolchains.end(), toolchain) !=
         offer.toolchains.end();
}

Worker& WorkerPool::Add(WorkerId id, WorkerOffer offer, absl::Time now) {
  Worker& worker = workers_[id];
  worker.id = id;
  worker.offer = std::move(offer);
  worker.connected = now;
  worker.last_heard = now;
  return worker;
}

void WorkerPool::Remove(WorkerId id) {
  workers_.erase(id);
}

Worker* WorkerPool::Find(WorkerId id) {
  const auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

const Worker* WorkerPool::Find(WorkerId id) const {
  const auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

WorkerPool::Capacity WorkerPool::CapacityFor(const Toolchain& toolchain) const {
  Capacity capacity;
  for (const auto& [id, worker] : workers_) {
    if (!worker.Offers(toolchain)) continue;
    if (!worker.takes_leases()) {
      ++capacity.leaving;
      continue;
    }
    ++capacity.workers;
    capacity.slots += worker.offer.slots;
    capacity.free_slots += worker.offer.slots - worker.busy();
    capacity.largest_memory = std::max(capacity.largest_memory, worker.memory());
  }
  return capacity;
}

absl::optional<WorkerPool::Placement> WorkerPool::Place(
    const Compile& compile, absl::Time now, const absl::flat_hash_set<WorkerId>& held) const {
  const Toolchain& toolchain = compile.material.toolchain;
  const uint64_t largest = CapacityFor(toolchain).largest_memory;
  const uint64_t needed = compile.memory_needed;

  bool others_exist = false;
  const Worker* best = nullptr;
  // Compared in this order, smallest first.
  std::tuple<bool, uint32_t, double, uint64_t> best_cost;
  for (const auto& [id, worker] : workers_) {
    if (!worker.takes_leases() || !worker.Offers(toolchain)) continue;
    const bool could_ever = worker.memory() >= needed || worker.memory() == largest;
    const bool avoided = compile.avoided.contains(worker.offer.name);
    others_exist |= could_ever && !avoided;
    if (worker.busy() >= worker.offer.slots || held.contains(id)) continue;
    const bool fits = worker.unreserved() >= needed;
    const bool alone = needed > largest && worker.memory() == largest && worker.busy() == 0;
    if (!fits && !alone) continue;
    const double load = static_cast<double>(worker.busy()) / worker.offer.slots;
    const std::tuple cost{avoided, worker.troubles, load, UINT64_MAX - worker.unreserved()};
    if (best == nullptr || cost < best_cost) {
      best = &worker;
      best_cost = cost;
    }
  }
  if (best == nullptr) return absl::nullopt;
  const bool avoided = std::get<0>(best_cost);
  if (avoided && others_exist && now < compile.insists_until) return absl::nullopt;
  return Placement{best->id, std::min(needed, best->memory()), LimitFor(needed, best->memory())};
}

WorkerId WorkerPool::WorthWaitingFor(const Compile& compile,
                                     const absl::flat_hash_set<WorkerId>& held) const {
  const Toolchain& toolchain = compile.material.toolchain;
  const uint64_t largest = CapacityFor(toolchain).largest_memory;
  const Worker* best = nullptr;
  for (const auto& [id, worker] : workers_) {
    if (!worker.takes_leases() || !worker.Offers(toolchain) || held.contains(id)) continue;
    if (worker.memory() < compile.memory_needed && worker.memory() != largest) continue;
    if (best == nullptr || worker.unreserved() > best->unreserved()) best = &worker;
  }
  return best == nullptr ? 0 : best->id;
}

void WorkerPool::Reserve(WorkerId worker, LeaseToken token, uint64_t bytes) {
  Worker& taker = workers_.at(worker);
  taker.leases[token] = bytes;
  taker.reserved_bytes += bytes;
}

void WorkerPool::Release(WorkerId worker, LeaseToken token) {
  Worker* holder = Find(worker);
  if (holder == nullptr) return;
  const auto lease = holder->leases.find(token);
  if (lease == holder->leases.end()) return;
  holder->reserved_bytes -= lease->second;
  holder->leases.erase(lease);
}

}  // namespace neffcache
