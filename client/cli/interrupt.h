#pragma once

#include <csignal>

namespace neffcache::cli {

// While it lives, the first SIGINT or SIGTERM only sets requested(), so that a command can clean up
// after itself; the second ends the program as ever. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // Safe in any thread.
  static bool requested();

 private:
  struct sigaction old_interrupt_;
  struct sigaction old_terminate_;
};

}  // namespace neffcache::cli
