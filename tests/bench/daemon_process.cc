#include "tests/bench/daemon_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/channel.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "tests/bench/measurement.h"
#include "transport/channel.h"

namespace neffcache::bench {
namespace {

constexpr std::chrono::seconds kStartLimit{30};

// Free when asked; the daemon refuses to start on a port that somebody took since.
int FreePort() {
  const Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd.get(), generic, size) != 0 || getsockname(fd.get(), generic, &size) != 0) {
    Require(absl::ErrnoToStatus(errno, "finding a free port"));
  }
  return ntohs(address.sin_port);
}

}  // namespace

DaemonProcess::DaemonProcess(const std::string& program) {
  directory_ = (std::filesystem::temp_directory_path() / "neffcache-bench-XXXXXX").string();
  if (mkdtemp(directory_.data()) == nullptr) Require(absl::ErrnoToStatus(errno, directory_));
  address_ = absl::StrCat("127.0.0.1:", FreePort());

  std::vector<std::string> arguments = {
      program, "--data-dir", directory_ + "/data", "--listen", address_, "--workers", "0"};
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

  const std::shared_ptr<grpc::Channel> channel = OpenChannel(address_);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + kStartLimit)) {
    kill(pid_, SIGTERM);
    Require(absl::UnavailableError(absl::StrCat("neffcached did not come up; see ", log)));
  }
}

DaemonProcess::~DaemonProcess() {
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace neffcache::bench
