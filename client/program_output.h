#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace neffcache {

// Runs a program and returns what it printed on stdout and stderr, up to 64 KiB; its exit status
// does not matter. It sees this process's environment changed by `extra_environment` ("NAME=value")
// and no input. When the time is up it is killed with its process group:
// DEADLINE_EXCEEDED. UNAVAILABLE: it cannot be started.
//
// The calling thread waits. Safe in a process with other threads.
absl::StatusOr<std::string> ProgramOutput(std::vector<std::string> arguments,
                                          std::vector<std::string> extra_environment,
                                          absl::Duration timeout);

}  // namespace neffcache
