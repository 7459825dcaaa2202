#pragma once

#include <cstdint>
#include <string>

namespace neffcache {

// Memory in bytes that this process and its children may use: the machine's, or the limit of its
// cgroup (v1 or v2, the tightest on the way up) where that is lower. `proc` and `cgroup` are where
// /proc and /sys/fs/cgroup are, for tests. 0 when neither can be read.
uint64_t UsableMemory(const std::string& proc = "/proc",
                      const std::string& cgroup = "/sys/fs/cgroup");

}  // namespace neffcache
