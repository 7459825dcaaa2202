#pragma once

#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace neffcache::shim {

// What the compiler shows on its standard output: a row of dots while it works, a closing line at
// the end. Not thread-safe.
class CompilerProgress {
 public:
  // `out` outlives this object. `now` is the time of the call.
  CompilerProgress(FILE* out, absl::Time now) : out_(out), last_dot_(now) {}

  // Draws a dot when the last one is old enough.
  void Tick(absl::Time now);

  // Ends the row (of one dot at least) and says that the compile passed.
  void Pass();

 private:
  FILE* const out_;
  absl::Time last_dot_;
  bool drawn_ = false;
};

// Appends to the log file that the compiler would have written: `logfile` from the command line, or
// the compiler's own choice in the working directory when empty. Trouble is ignored: the log is for
// people, and the artifact is what the caller waits for.
void AppendCompilerLog(const std::string& logfile, absl::string_view text);

// One line in the form of the compiler's log.
std::string LogLine(absl::Time now, int pid, absl::string_view text);

}  // namespace neffcache::shim
