#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/key.h"

namespace neffcache {

// Valid for one stream of one worker; never reused, over restarts of the daemon neither.
using WorkerId = uint64_t;

// The fencing token of a lease: never reused, over restarts of the daemon neither.
using LeaseToken = uint64_t;

// What a worker says of itself when it connects.
struct WorkerOffer {
  std::string name;
  std::vector<Toolchain> toolchains;
  uint32_t slots = 1;
  uint64_t memory_bytes = 0;  // That compiles may use together; 0: only the slots limit.
  bool embedded = false;
};

// From a heartbeat.
struct LeaseProgress {
  LeaseToken token = 0;
  uint64_t memory_bytes = 0;
  std::string last_log_line;
};

}  // namespace neffcache
