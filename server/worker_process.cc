#include "server/worker_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace neffcache {
namespace {

// Attributes of posix_spawn, freed in every case.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes_, &all);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

}  // namespace

absl::StatusOr<WorkerProcess> WorkerProcess::Spawn(const std::vector<std::string>& argv) {
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const SpawnAttributes attributes;
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, argv[0].c_str(), nullptr, attributes.get(), arguments.data(), environ);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("starting ", argv[0]));
  // This glibc declares pidfd_open() for C only.
  WorkerProcess child(pid, Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))));
  if (!child.pidfd_.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("watching ", argv[0]));  // Kills it.
  }
  return child;
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), pidfd_(std::move(other.pidfd_)) {}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  if (this != &other) {
    WorkerProcess old(std::move(*this));
    pid_ = std::exchange(other.pid_, 0);
    pidfd_ = std::move(other.pidfd_);
  }
  return *this;
}

WorkerProcess::~WorkerProcess() {
  if (pid_ == 0) return;
  Signal(SIGKILL);
  Reap();
}

void WorkerProcess::Signal(int signal) const {
  // Not reaped yet, so the number is still this process's.
  if (pid_ != 0) kill(pid_, signal);
}

std::string WorkerProcess::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  pidfd_.Close();
  return WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status))
                             : absl::StrCat("exit status ", WEXITSTATUS(status));
}

}  // namespace neffcache
