#include "client/shim/last_resort.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace neffcache::shim {
namespace {

constexpr int kStopSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// Written before the handlers are installed, read by them.
char real_compiler_path[PATH_MAX];
char** real_compiler_argv = nullptr;

// The flag is raised after the path is written and lowered by whoever removes the directory, so
// that it is removed once.
char staging_directory[PATH_MAX];
std::atomic<bool> staging_present = false;

alignas(16) char crash_stack[64 << 10];

// What getdents64 fills its buffer with; the C library has no declaration for it.
struct DirectoryEntry {
  uint64_t inode;
  int64_t offset;
  uint16_t size;
  uint8_t type;
  char name[];
};

void RestoreDefault(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

void OnStop(int signal) {
  RemoveStagingDirectory();
  RestoreDefault(signal);
  kill(getpid(), signal);
}

void OnCrash(int signal, siginfo_t* info, void*) {
  RemoveStagingDirectory();
  RestoreDefault(signal);
  // Sent by somebody (kill -ABRT to get a core file): not a crash, and to be obeyed. abort() shows
  // as SI_TKILL, a fault with a positive code.
  if (info->si_code == SI_USER || real_compiler_path[0] == '\0') {
    kill(getpid(), signal);
    return;
  }
  constexpr char kMessage[] = "neffcache: the shim itself failed; compiling here\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  execve(real_compiler_path, real_compiler_argv, environ);
  kill(getpid(), signal);
}

}  // namespace

void ArmLastResort(const std::string& real_compiler, char** argv) {
  if (!real_compiler.empty() && real_compiler.size() < sizeof(real_compiler_path)) {
    std::memcpy(real_compiler_path, real_compiler.c_str(), real_compiler.size() + 1);
    static std::vector<char*> arguments;
    arguments.assign(1, real_compiler_path);
    for (char** argument = argv[0] == nullptr ? argv : argv + 1; *argument != nullptr; ++argument) {
      arguments.push_back(*argument);
    }
    arguments.push_back(nullptr);
    real_compiler_argv = arguments.data();
  }

  for (const int signal : kStopSignals) {
    struct sigaction old = {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = OnStop;
    sigaction(signal, &action, nullptr);
  }

  // A stack of its own for the main thread, whose overflow is one of the crashes.
  stack_t stack = {};
  stack.ss_sp = crash_stack;
  stack.ss_size = sizeof(crash_stack);
  sigaltstack(&stack, nullptr);
  for (const int signal : kCrashSignals) {
    struct sigaction action = {};
    action.sa_sigaction = OnCrash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  }
}

bool SetStagingDirectory(const std::string& path) {
  staging_present = false;
  if (path.size() >= sizeof(staging_directory)) return false;
  std::memcpy(staging_directory, path.c_str(), path.size() + 1);
  staging_present = !path.empty();
  return true;
}

void RemoveStagingDirectory() {
  if (!staging_present.exchange(false)) return;
  const int fd = open(staging_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    alignas(DirectoryEntry) char buffer[2048];
    while (true) {
      const long size = syscall(SYS_getdents64, fd, buffer, sizeof(buffer));
      if (size <= 0) break;
      for (long at = 0; at < size;) {
        const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
        unlinkat(fd, entry->name, 0);  // "." and ".." refuse.
        at += entry->size;
      }
    }
    close(fd);
  }
  rmdir(staging_directory);
}

void EndBySignal(int signal) {
  // The compiler's core file would tell something; ours would not.
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  RestoreDefault(signal);
  kill(getpid(), signal);
  // Only a signal whose default effect is not to end the process gets here.
  _exit(128 + signal);
}

void BecomeProgram(const std::string& path, char** argv) {
  std::vector<char*> arguments = {const_cast<char*>(path.c_str())};
  for (char** argument = argv[0] == nullptr ? argv : argv + 1; *argument != nullptr; ++argument) {
    arguments.push_back(*argument);
  }
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
}

}  // namespace neffcache::shim
