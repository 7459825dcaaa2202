#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/scheduler/compile.h"
#include "server/scheduler/worker.h"

namespace neffcache {

// A connected worker.
struct Worker {
  WorkerId id = 0;
  WorkerOffer offer;
  absl::Time connected;
  absl::Time last_heard;
  bool draining = false;  // Leaves when its compiles have ended.
  bool silent = false;    // Missed its heartbeats; gets no leases until it is heard again.
  std::map<LeaseToken, uint64_t> leases;  // With the memory that each reserves.
  uint64_t reserved_bytes = 0;
  uint32_t troubles = 0;  // Transient failures since the last result that was no fault of its own.
  uint64_t compiles_done = 0;
  uint64_t compiles_failed = 0;

  uint32_t busy() const { return static_cast<uint32_t>(leases.size()); }
  // UINT64_MAX where only the slots limit.
  uint64_t memory() const { return offer.memory_bytes == 0 ? UINT64_MAX : offer.memory_bytes; }
  uint64_t unreserved() const { return memory() - reserved_bytes; }
  bool takes_leases() const { return !draining && !silent; }
  bool Offers(const Toolchain& toolchain) const;
};

// The connected workers: which of them can take a compile now.
//
// A compile fits on a worker that offers its toolchain, has a free slot and has as much unreserved
// memory as the compile needs. One that needs more than any worker has runs alone on the largest,
// which then is reserved entirely.
//
// Not thread-safe. Pure.
class WorkerPool {
 public:
  Worker& Add(WorkerId id, WorkerOffer offer, absl::Time now);
  void Remove(WorkerId id);
  // nullptr: not connected.
  Worker* Find(WorkerId id);
  const Worker* Find(WorkerId id) const;
  const std::map<WorkerId, Worker>& all() const { return workers_; }
  std::map<WorkerId, Worker>& all() { return workers_; }

  // What the workers that take leases have for a toolchain.
  struct Capacity {
    uint32_t workers = 0;  // That offer it and take leases.
    uint32_t leaving = 0;  // That offer it and take none any more.
    uint64_t slots = 0;
    uint64_t free_slots = 0;
    uint64_t largest_memory = 0;
  };
  Capacity CapacityFor(const Toolchain& toolchain) const;

  struct Placement {
    WorkerId worker = 0;
    uint64_t reserve_bytes = 0;
    uint64_t memory_limit_bytes = 0;  // 0: none.
  };
  // Where the compile fits now, the least busy worker first. Workers whose names it avoids come
  // last, and not at all while it insists on others and there are such. `held` workers are passed
  // over.
  absl::optional<Placement> Place(const Compile& compile, absl::Time now,
                                  const absl::flat_hash_set<WorkerId>& held) const;
  // The worker on which the compile will fit soonest, to be kept free for it. 0: none ever will.
  WorkerId WorthWaitingFor(const Compile& compile, const absl::flat_hash_set<WorkerId>& held) const;

  void Reserve(WorkerId worker, LeaseToken token, uint64_t bytes);
  // Does nothing when the worker is gone.
  void Release(WorkerId worker, LeaseToken token);

 private:
  std::map<WorkerId, Worker> workers_;  // Ordered, so that placement is deterministic.
};

}  // namespace neffcache
