#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace neffcache {

struct ChildLimits {
  absl::Duration wall_clock = absl::InfiniteDuration();
  uint64_t memory_bytes = 0;         // Resident memory of the whole tree, sampled; 0: no limit.
  uint64_t address_space_bytes = 0;  // RLIMIT_AS of each process; 0: no limit.
  uint64_t output_bytes = 0;         // Size of ChildSpec::output_file; 0: no limit.
  absl::Duration grace = absl::Seconds(5);  // From SIGTERM to SIGKILL.
  size_t log_head_bytes = 256 << 10;
  size_t log_tail_bytes = 768 << 10;
};

struct ChildSpec {
  std::vector<std::string> argv;         // argv[0] is a path; PATH is not searched.
  std::vector<std::string> environment;  // "NAME=value"; nothing else is inherited.
  std::string working_directory;
  std::string output_file;  // What limits.output_bytes watches; may be empty.
  ChildLimits limits;
};

enum class ChildEnd {
  kExited,      // By itself, with exit_code.
  kSignalled,   // By a signal that was not ours.
  kNotStarted,  // start_error says why.
  kTimedOut,    // Killed by us: limits.wall_clock,
  kCancelled,   // ... the stop token,
  kOverMemory,  // ... limits.memory_bytes,
  kOverOutput,  // ... limits.output_bytes.
};

struct ChildResult {
  ChildEnd end = ChildEnd::kNotStarted;
  int exit_code = -1;
  int signal = 0;
  absl::Status start_error;
  absl::Duration wall_clock;
  uint64_t peak_memory_bytes = 0;  // Resident, of the whole tree together.
  std::string log;                 // stdout and stderr as they came; see BoundedLog.
};

// How a running child does, for whoever wants to look. Thread-safe.
class ChildProgress {
 public:
  struct Snapshot {
    uint64_t peak_memory_bytes = 0;
    std::string last_log_line;  // Raw bytes.
  };

  void SetPeakMemory(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  void SetLastLogLine(std::string line) ABSL_LOCKS_EXCLUDED(mu_);
  Snapshot Read() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable absl::Mutex mu_;
  Snapshot snapshot_ ABSL_GUARDED_BY(mu_);
};

// Runs one child to its end, under a supervisor (supervisor.h), and returns how it ended. Nothing
// of its process tree is alive afterwards, however it ended, and neither when this process is
// killed meanwhile.
//
// The child has a process group of its own, stdin on /dev/null, no core file. Its tree is sent
// SIGTERM and, after the grace, SIGKILL when a limit is passed or `stop` is requested (from any
// thread); a tree that passes its memory limit gets no grace, for the machine has none to give.
//
// Blocks the calling thread, which must live on until this returns. Thread-safe: any number at a
// time. `progress` may be null.
ChildResult RunChild(const ChildSpec& spec, const std::stop_token& stop, ChildProgress* progress);

}  // namespace neffcache
