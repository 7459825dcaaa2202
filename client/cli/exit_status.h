#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace neffcache::cli {

// What the program's exit status says. When several apply, the largest is given.
enum class ExitStatus : int {
  kDone = 0,
  kFailed = 1,         // What was asked for failed or is absent.
  kUsage = 2,          // The command line or the configuration is wrong.
  kUnreachable = 3,    // The daemon does not answer.
  kNotPermitted = 4,   // The daemon refuses.
  kInterrupted = 130,  // By SIGINT or SIGTERM: as a shell tells of it.
};

// INVALID_ARGUMENT whose exit status is kUsage.
absl::Status UsageError(absl::string_view sentence);

// Of an error of the client library. A file that may not be read is kFailed, not kNotPermitted.
ExitStatus ExitStatusOf(const absl::Status& status);

}  // namespace neffcache::cli
