#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "client/cli/console.h"
#include "client/cli/program.h"

int main(int argc, char** argv) {
  // Debian's Abseil is built with its lock-order checker on; only tests want it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // A reader that went away is an error of writing, with its exit status.
  std::signal(SIGPIPE, SIG_IGN);
  neffcache::cli::Console console(std::cout, std::cerr, isatty(STDERR_FILENO) == 1);
  return neffcache::cli::RunProgram(std::vector<std::string>(argv + 1, argv + argc), console);
}
