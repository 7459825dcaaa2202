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

  // Shows what a compiler that failed showed here; its dots stand for the row when there is none.
  void Fail(absl::string_view text);

 private:
  FILE* const out_;
  absl::Time last_dot_;
  bool drawn_ = false;
};

// What a compiler printed on its two streams, told apart.
struct CompilerStreams {
  std::string out;
  std::string err;
};

// Workers keep both streams as one text, in the order in which they came. Rows of dots and the
// closing "Compiler status" line are what the compiler shows on its standard output; the rest is
// what a caller looks for on standard error. A row of dots does not end its line, so that what
// follows it there is of the other stream.
CompilerStreams SplitStreams(absl::string_view log);

// Appends to the log file that the compiler would have written: `logfile` from the command line, or
// the compiler's own choice in the working directory when empty. Trouble is ignored: the log is for
// people, and the artifact is what the caller waits for.
void AppendCompilerLog(const std::string& logfile, absl::string_view text);

// One line in the form of the compiler's log.
std::string LogLine(absl::Time now, int pid, absl::string_view text);

}  // namespace neffcache::shim
