#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// What this machine offers to embedded workers.

// What workers offer when nobody says: neuronx-cc where a real one is on `path` (a PATH), else
// xla-cpu. Our own shim, which has a marker file beside it or is `program_directory`/../shim, does
// not count.
std::vector<std::string> DefaultToolchains(absl::string_view path,
                                           const std::string& program_directory);

// What each of `workers` workers may use: nine tenths of the machine's memory, or of its
// container's limit where that is lower, divided evenly. 0 when it cannot be told.
uint64_t MemoryPerWorker(uint32_t workers);

// A private, empty directory below `base` (empty: $TMPDIR or /var/tmp), the same for each daemon on
// this store, so that what a killed one left is cleared. Not below the store: compilers fail on
// Lustre and NFS. FAILED_PRECONDITION: somebody else's file is in its place.
absl::StatusOr<std::string> PrepareScratch(const std::string& base, const std::string& data_dir);

}  // namespace neffcache
