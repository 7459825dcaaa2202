#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/file.h"

namespace neffcache {

// An embedded worker's process: a child in a process group of its own, with our environment and
// output, no signal blocked and the default action for each. Move-only; not thread-safe. The
// destructor kills and reaps it.
class WorkerProcess {
 public:
  // `argv[0]` is the program's path. Errors name it.
  static absl::StatusOr<WorkerProcess> Spawn(const std::vector<std::string>& argv);
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;

  int pid() const { return pid_; }
  // Becomes readable (poll) when the process ends.
  int pidfd() const { return pidfd_.get(); }
  void Signal(int signal) const;
  // Of a process that has ended, waiting for it if need be: "exit status 1" or "signal 9". It is
  // gone after this.
  std::string Reap();

 private:
  WorkerProcess(int pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  int pid_ = 0;  // 0: none (any more).
  Fd pidfd_;
};

}  // namespace neffcache
