#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/rpc/chunk_pool.h"
#include "server/rpc/executor.h"
#include "server/rpc/verified_artifacts.h"
#include "server/scheduler/dispatcher.h"
#include "server/store/store.h"
#include "transport/limits.h"

namespace neffcache {

// Since the start. Atomics: every call adds to them.
struct ServiceCounters {
  std::atomic<uint64_t> lookups{0};
  std::atomic<uint64_t> hits{0};
  std::atomic<int64_t> compile_ms_saved{0};
  std::atomic<uint64_t> bytes_served{0};

  // An artifact that was asked for was there, and is handed out.
  void CountHit(absl::Duration compile_time) {
    hits.fetch_add(1, std::memory_order_relaxed);
    compile_ms_saved.fetch_add(absl::ToInt64Milliseconds(compile_time), std::memory_order_relaxed);
  }
  // An artifact was asked for.
  void CountLookup() { lookups.fetch_add(1, std::memory_order_relaxed); }
  void CountServed(uint64_t bytes) { bytes_served.fetch_add(bytes, std::memory_order_relaxed); }
};

struct ServiceLimits {
  uint64_t graph_bytes = uint64_t{8} << 30;     // Uncompressed.
  uint64_t artifact_bytes = uint64_t{8} << 30;  // Largest that is taken.
  uint64_t log_bytes = uint64_t{64} << 20;      // Uncompressed.
  absl::Duration heartbeat_interval = absl::Seconds(5);
  // A client that owes the graph and sends nothing for this long is taken for dead.
  absl::Duration dead_after = kDeadAfter;
  size_t chunk_budget_bytes = size_t{48} << 20;
};

// What every call works with. Lives as long as the server; all parts are thread-safe.
struct ServiceContext {
  ServiceContext(Store& the_store, CompileDispatcher& the_dispatcher, ServiceLimits the_limits)
      : store(the_store),
        dispatcher(the_dispatcher),
        limits(the_limits),
        started(absl::Now()),
        chunks(the_limits.chunk_budget_bytes),
        reads(8),
        commits(8),
        control(2),
        checks(2) {}

  Store& store;
  CompileDispatcher& dispatcher;
  const ServiceLimits limits;
  const absl::Time started;
  ServiceCounters counters;
  ChunkPool chunks;
  VerifiedArtifacts verified;

  // Pools of their own, so that lookups and fetches never wait behind somebody's fsync, nor a
  // worker's heartbeat behind either, nor anything behind the check of a huge graph. Last: they
  // finish before the rest goes; checks first, which end on commits.
  Executor reads;
  Executor commits;
  Executor control;
  Executor checks;
};

}  // namespace neffcache
