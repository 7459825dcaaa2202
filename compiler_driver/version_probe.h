#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace neffcache {

// Runs `program --version` in `directory` and returns what it printed. UNAVAILABLE when it cannot
// be started, exits with another code than 0 or takes longer than two minutes (a Python compiler
// on a cold network file system is slow, but not that slow).
absl::StatusOr<std::string> AskVersion(const std::string& program,
                                       const std::vector<std::string>& environment,
                                       const std::string& directory, const std::stop_token& stop);

// Identity, size and modification time of these files as text; a file that is missing counts as
// such.
std::string StampOf(absl::Span<const std::string> paths);

// The directories beginning with `prefix` among the Python packages of the environment that
// `program`, a file in its bin/, belongs to. pip makes them anew whenever it changes a package.
std::vector<std::string> PythonPackages(const std::string& program, absl::string_view prefix);

// True for a regular file that we may execute.
bool IsExecutableFile(const std::string& path);

}  // namespace neffcache
