#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace neffcache {

// All living descendants of `root`, without `root`, found through /proc; parents come before their
// children. A snapshot: processes may come and go meanwhile. Does not see those that were orphaned
// past `root`, so `root` should be a sub-reaper (supervisor.h).
std::vector<pid_t> Descendants(pid_t root);

// Resident memory of these processes together, in bytes. Shared pages count for each; a process
// that has gone counts nothing.
uint64_t ResidentBytes(const std::vector<pid_t>& processes);

// Sends `signal` to each of them; one that has gone is not an error.
void SignalAll(const std::vector<pid_t>& processes, int signal);

}  // namespace neffcache
