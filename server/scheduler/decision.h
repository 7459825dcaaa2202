#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "server/scheduler/compile.h"
#include "server/scheduler/worker.h"
#include "server/store/entry.h"

namespace neffcache {

// What the Scheduler decides; whoever drives it carries it out, in order.

// This caller shall send the graph of the key.
struct AskGraph {
  CallerId caller = 0;
  Key key;
};

// The compile waits for a worker: from the start, or again after an attempt. `attempts` are over.
struct Queued {
  Key key;
  uint32_t attempts = 0;
};

// The worker gets the lease.
struct Granted {
  Key key;
  WorkerId worker = 0;
  LeaseToken token = 0;
  absl::Duration time_limit;
  uint64_t memory_limit_bytes = 0;  // 0: none.
};

// The worker has lost the lease, and shall stop.
struct Revoked {
  WorkerId worker = 0;
  LeaseToken token = 0;
  std::string reason;
};

// There is news of a running compile.
struct Progressed {
  Key key;
};

// The compile has failed for good. Its waiters are told after the failure is stored; then the
// compile is ended with Scheduler::End().
struct GaveUp {
  Key key;
  Failure failure;          // Without times.
  absl::Duration remember;  // Zero: not.
};

using Decision = std::variant<AskGraph, Queued, Granted, Revoked, Progressed, GaveUp>;

}  // namespace neffcache
