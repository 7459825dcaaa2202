#pragma once

#include <cstdint>

namespace neffcache {

// Below this a cluster of ordinary size may use up the daemon's descriptors.
inline constexpr uint64_t kLowFileLimit = 8192;

// Raises this process's limit of open files as far as it may: the soft one to the hard one and,
// with the privilege for it, the hard one to at least 65536. Returns what then holds. Before other
// threads open files.
uint64_t RaiseFileLimit();

}  // namespace neffcache
