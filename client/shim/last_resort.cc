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
#include <ctime>
#include <vector>

namespace neffcache::shim {
namespace {

constexpr int kStopSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// The compiler's exit status for any error of its own.
constexpr int kHangExit = 70;

// Written before the handlers are installed, read by them.
char real_compiler_path[PATH_MAX];
char** real_compiler_argv = nullptr;

// The flag is raised after the path is written and lowered by whoever removes the directory, so
// that it is removed once.
char staging_directory[PATH_MAX];
std::atomic<bool> staging_present = false;

// The mask of the caller, for the compiler.
sigset_t original_mask;

timer_t hang_timer;
bool hang_timer_exists = false;

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

template <size_t kSize>
void WriteToStderr(const char (&text)[kSize]) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, kSize - 1);
}

// Only what is safe in a signal handler. Returns when it cannot.
void BecomeRealCompiler() {
  pthread_sigmask(SIG_SETMASK, &original_mask, nullptr);
  execve(real_compiler_path, real_compiler_argv, environ);
}

void OnCrash(int signal, siginfo_t* info, void*) {
  RemoveStagingDirectory();
  // Sent by somebody (kill -ABRT to get a core file): not a crash, and to be obeyed. abort() shows
  // as SI_TKILL, a fault with a positive code.
  if (info->si_code != SI_USER && real_compiler_path[0] != '\0') {
    WriteToStderr("neffcache: the shim itself failed; compiling here\n");
    BecomeRealCompiler();
  }
  RestoreDefault(signal);
  kill(getpid(), signal);
}

void OnHang(int) {
  RemoveStagingDirectory();
  if (real_compiler_path[0] != '\0') {
    WriteToStderr("neffcache: the shim itself hangs; compiling here\n");
    BecomeRealCompiler();
  }
  WriteToStderr("neffcache: the shim itself hangs, and there is no compiler here\n");
  _exit(kHangExit);
}

void Install(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void ArmLastResort(const std::string& real_compiler, char** argv) {
  pthread_sigmask(SIG_SETMASK, nullptr, &original_mask);
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
    Install(signal, OnStop);
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

void ExpectSignOfLifeWithin(absl::Duration limit) {
  if (!hang_timer_exists) {
    Install(SIGALRM, OnHang);
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
    // A timer of this kind ends with exec, unlike alarm().
    struct sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    hang_timer_exists = timer_create(CLOCK_MONOTONIC, &event, &hang_timer) == 0;
    if (!hang_timer_exists) return;
  }
  struct itimerspec when = {};
  when.it_value = absl::ToTimespec(limit);
  timer_settime(hang_timer, 0, &when, nullptr);
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
  pthread_sigmask(SIG_SETMASK, &original_mask, nullptr);
  execv(path.c_str(), arguments.data());
}

}  // namespace neffcache::shim
