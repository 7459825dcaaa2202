#include "client/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "io/file.h"
#include "io/status_macros.h"

extern char** environ;

namespace neffcache {
namespace {

constexpr size_t kOutputLimit = size_t{64} << 10;

// Pointers for exec, valid as long as the strings are.
std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);  // And the null that ends it.
  for (std::string& string : strings) pointers.push_back(string.data());
  return pointers;
}

// True when `settings` has one of the name of `variable`: shells differ in which of two they take.
bool IsSetIn(const std::vector<std::string>& settings, absl::string_view variable) {
  const absl::string_view name = variable.substr(0, variable.find('='));
  return std::any_of(settings.begin(), settings.end(), [name](absl::string_view setting) {
    return setting.substr(0, setting.find('=')) == name;
  });
}

// Starts the program in a process group of its own with `output` as its stdout and stderr.
absl::StatusOr<pid_t> Start(std::vector<std::string>& arguments,
                            std::vector<std::string>& extra_environment, int output) {
  std::vector<char*> argv = Pointers(arguments);
  argv.push_back(nullptr);
  std::vector<char*> environment = Pointers(extra_environment);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!IsSetIn(extra_environment, *variable)) environment.push_back(*variable);
  }
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);

  pid_t child = 0;
  const int error =
      posix_spawn(&child, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("running ", arguments[0], ": ", std::strerror(error)));
  }
  return child;
}

void Reap(pid_t child) {
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

absl::StatusOr<std::string> ProgramOutput(std::vector<std::string> arguments,
                                          std::vector<std::string> extra_environment,
                                          absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "making a pipe");
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  ASSIGN_OR_RETURN(const pid_t child, Start(arguments, extra_environment, writer.get()));
  writer.Close();
  // A child that closed its output and lives on is of no use either.
  absl::Cleanup end = [child] {
    kill(-child, SIGKILL);
    Reap(child);
  };

  std::string output;
  while (output.size() < kOutputLimit) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    pollfd readable = {reader.get(), POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return absl::ErrnoToStatus(errno, absl::StrCat("waiting for ", arguments[0]));
    if (ready == 0) {
      return absl::DeadlineExceededError(absl::StrCat(
          "running ", arguments[0], ": no answer within ", absl::FormatDuration(timeout)));
    }
    char buffer[4096];
    const ssize_t n = read(reader.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, absl::StrCat("reading from ", arguments[0]));
    if (n == 0) break;
    output.append(buffer, static_cast<size_t>(n));
  }
  return output;
}

}  // namespace neffcache
