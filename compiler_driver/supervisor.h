#pragma once

#include <sys/types.h>

#include <cstdint>

namespace neffcache {

// Between the worker and each compiler stands a supervisor: a fork of the worker that never execs.
// It is the sub-reaper of the compiler's whole tree, so that it finds and kills every descendant,
// also those that left the process group, and it does so as well when the worker itself is killed
// (PR_SET_PDEATHSIG reaches one process only, and not its children).
//
//   worker ──fork──▶ supervisor ──fork, exec──▶ compiler ──▶ its children
//
// It kills the tree at SIGTERM, at the death of the thread that forked it, and when the compiler
// has ended and left others behind. Then it writes one SupervisorReport and exits.

// Which step before exec failed.
enum class StartStep : int32_t { kNone = 0, kFork, kChdir, kLimits, kExec };

// Written to the report pipe in one piece. End of file without one: the supervisor was killed.
struct SupervisorReport {
  StartStep failed_step = StartStep::kNone;
  int32_t start_errno = 0;  // Why it failed.
  int32_t wait_status = 0;  // The compiler's, as waitpid gives it, when no step failed.
  int32_t padding = 0;
  uint64_t max_rss_bytes = 0;  // Of the largest single process of the tree.
};

// All pointers are prepared before the fork: the supervisor allocates nothing.
struct SupervisedCommand {
  const char* const* argv = nullptr;  // argv[0] is the program's path.
  const char* const* environment = nullptr;
  const char* working_directory = nullptr;
  const char* oom_score_adjustment = nullptr;  // Decimal text.
  uint64_t address_space_bytes = 0;            // RLIMIT_AS of each process; 0: as inherited.
  int output_fd = -1;                          // Becomes the compiler's stdout and stderr; above 2.
  int report_fd = -1;                          // Above 2.
  pid_t parent = 0;                            // The worker.
};

// The supervisor's whole life; runs right after fork() in the child, with every signal blocked.
// Makes async-signal-safe calls only: the worker has other threads.
[[noreturn]] void Supervise(const SupervisedCommand& command);

}  // namespace neffcache
