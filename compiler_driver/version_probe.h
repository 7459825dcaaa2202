#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace neffcache {

// Runs `program --version` in `directory` and returns what it printed. UNAVAILABLE when it cannot
// be started, exits with another code than 0 or takes longer than two minutes (a Python compiler
// on a cold network file system is slow, but not that slow).
absl::StatusOr<std::string> AskVersion(const std::string& program,
                                       const std::vector<std::string>& environment,
                                       const std::string& directory, const std::stop_token& stop);

}  // namespace neffcache
