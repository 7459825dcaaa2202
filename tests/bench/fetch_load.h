#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace neffcache::bench {

struct FetchLoad {
  double per_second = 0;
  std::vector<absl::Duration> latencies;  // Sorted.
};

// Fetches artifacts of `size` bytes, named by their 32-byte digests, for `duration`: `clients`
// connections with one Fetch at a time each, driven from one thread so that the load itself takes
// little of the machine. A failed or short Fetch ends the benchmark.
FetchLoad LoadWithFetches(const std::string& address, const std::vector<std::string>& digests,
                          uint64_t size, int clients, absl::Duration duration);

}  // namespace neffcache::bench
