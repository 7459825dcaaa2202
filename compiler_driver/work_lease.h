#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "compiler_driver/child_process.h"
#include "io/digest.h"

namespace neffcache {

class DaemonCalls;

// The right to do one compile, as the daemon granted it (Lease in worker.proto).
struct WorkLease {
  uint64_t token = 0;
  std::string key;  // 64 hex digits, for messages.
  std::string toolchain;
  std::string version;
  std::vector<std::string> options;
  Digest graph_digest;
  uint64_t graph_size = 0;
  absl::Duration time_limit = absl::InfiniteDuration();
  uint64_t memory_limit_bytes = 0;  // 0: none.
  uint64_t output_limit_bytes = 0;  // 0: none.
  std::string graph_name;
};

// A lease that this worker holds, from grant to the end of its report. `lease` and `calls` are
// constant; the others are thread-safe.
struct HeldLease {
  HeldLease(WorkLease granted, std::shared_ptr<DaemonCalls> daemon)
      : lease(std::move(granted)), calls(std::move(daemon)) {}

  const WorkLease lease;
  const std::shared_ptr<DaemonCalls> calls;  // To the daemon that granted it.
  ChildProgress progress;
  std::stop_source stop;  // Requested when the lease is void: its compile is killed.
};

}  // namespace neffcache
