#include "tests/bench/daemon_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "io/file.h"
#include "tests/bench/measurement.h"

namespace neffcache::bench {
namespace {

constexpr absl::Duration kStartLimit = absl::Seconds(30);
constexpr uint64_t kLongestAddress = 4096;
constexpr uint64_t kLongestLog = 1 << 20;

// What a file says, once it exists; the daemon writes it whole.
std::string AwaitAddress(const std::string& path, pid_t daemon, const std::string& log) {
  const absl::Time deadline = absl::Now() + kStartLimit;
  while (true) {
    absl::StatusOr<std::string> text = ReadWholeFile(path, kLongestAddress);
    if (text.ok()) return std::string(absl::StripAsciiWhitespace(*text));
    if (waitpid(daemon, nullptr, WNOHANG) != 0 || absl::Now() > deadline) {
      kill(daemon, SIGTERM);
      Require(absl::UnavailableError(absl::StrCat("neffcached did not come up: ",
                                                  ReadWholeFile(log, kLongestLog).value_or(""))));
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
}

}  // namespace

DaemonProcess::DaemonProcess(const std::string& program) {
  directory_ = (std::filesystem::temp_directory_path() / "neffcache-bench-XXXXXX").string();
  if (mkdtemp(directory_.data()) == nullptr) Require(absl::ErrnoToStatus(errno, directory_));
  const std::string address_file = directory_ + "/address";
  std::vector<std::string> arguments = {program,    "--data-dir",     directory_ + "/data",
                                        "--listen", "127.0.0.1:0",    "--workers",
                                        "0",        "--address-file", address_file};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string log = directory_ + "/neffcached.log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const int error = posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) Require(absl::ErrnoToStatus(error, absl::StrCat("running ", program)));

  address_ = AwaitAddress(address_file, pid_, log);
}

DaemonProcess::~DaemonProcess() {
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace neffcache::bench
