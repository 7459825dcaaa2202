#include "compiler_driver/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace neffcache {
namespace {

constexpr int kReportFd = 3;

struct StartFailure {
  StartStep step;
  int32_t error;
};

void CloseFrom(unsigned first) {
  if (close_range(first, ~0U, 0) == 0) return;
  // A kernel before 5.9.
  rlimit files;
  const int last =
      getrlimit(RLIMIT_NOFILE, &files) == 0 ? static_cast<int>(files.rlim_cur) : 1 << 16;
  for (int fd = static_cast<int>(first); fd < last; ++fd) close(fd);
}

// Leaves stdin on /dev/null, stdout and stderr on the output pipe, the report pipe, and nothing
// else: an inherited connection would live on after the worker.
void ArrangeFds(const SupervisedCommand& command) {
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null_fd, STDIN_FILENO);
  dup2(command.output_fd, STDOUT_FILENO);
  dup2(command.output_fd, STDERR_FILENO);
  dup2(command.report_fd, kReportFd);
  fcntl(kReportFd, F_SETFD, FD_CLOEXEC);
  CloseFrom(kReportFd + 1);
}

void RestoreSignals() {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// When memory runs out the compiler shall die, not the worker or a trainer beside it.
void OfferToOomKiller(const char* adjustment) {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, adjustment, strlen(adjustment));
  close(fd);
}

[[noreturn]] void FailStart(int failure_fd, StartStep step) {
  const StartFailure failure = {step, errno};
  [[maybe_unused]] const ssize_t written = write(failure_fd, &failure, sizeof failure);
  _exit(127);
}

[[noreturn]] void BecomeCompiler(const SupervisedCommand& command, pid_t supervisor,
                                 int failure_fd) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(127);
  OfferToOomKiller(command.oom_score_adjustment);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (chdir(command.working_directory) != 0) FailStart(failure_fd, StartStep::kChdir);
  RestoreSignals();
  if (command.address_space_bytes != 0) {
    const rlimit space = {command.address_space_bytes, command.address_space_bytes};
    if (setrlimit(RLIMIT_AS, &space) != 0) FailStart(failure_fd, StartStep::kLimits);
  }
  execve(command.argv[0], const_cast<char* const*>(command.argv),
         const_cast<char* const*>(command.environment));
  FailStart(failure_fd, StartStep::kExec);
}

// Kills our direct children. Each is ours to reap, so its pid cannot mean somebody else.
void KillChildren() {
  const int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char buffer[1024];
  pid_t child = 0;
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) {
    for (ssize_t i = 0; i < n; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        child = child * 10 + (buffer[i] - '0');
      } else if (child > 0) {
        kill(child, SIGKILL);
        child = 0;
      }
    }
  }
  if (child > 0) kill(child, SIGKILL);
  close(fd);
}

// Kills and reaps until nothing is left: what a killed process leaves behind becomes our child.
// Returns the wait status of `compiler`.
int KillTree(pid_t compiler) {
  int compiler_status = 0;
  // Before the compiler is reaped, while its group id is certainly its own.
  kill(-compiler, SIGKILL);
  kill(compiler, SIGKILL);
  for (;;) {
    KillChildren();
    int status;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == ECHILD) return compiler_status;
    if (ended == compiler) compiler_status = status;
  }
}

// Returns when the compiler has ended (unreaped still) or the tree is to be killed.
void AwaitCompiler(pid_t compiler) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  for (;;) {
    for (;;) {
      siginfo_t ended;
      ended.si_pid = 0;
      if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) break;
      if (ended.si_pid == compiler) return;
      waitpid(ended.si_pid, nullptr, 0);  // An orphan of the tree.
    }
    if (sigwaitinfo(&awaited, nullptr) == SIGTERM) return;
  }
}

[[noreturn]] void Report(const SupervisorReport& report) {
  [[maybe_unused]] const ssize_t written = write(kReportFd, &report, sizeof report);
  _exit(0);
}

}  // namespace

void Supervise(const SupervisedCommand& command) {
  ArrangeFds(command);
  // Out of the worker's group: a Ctrl-C at the terminal is the worker's to handle.
  setpgid(0, 0);
  prctl(PR_SET_NAME, "neffcache-super");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != command.parent) _exit(1);

  SupervisorReport report;
  int failure_pipe[2];
  const pid_t self = getpid();
  // fork() would run the handlers that gRPC has registered in the worker and take locks that one of
  // its threads may have held.
  const pid_t compiler = pipe2(failure_pipe, O_CLOEXEC) == 0 ? _Fork() : -1;
  if (compiler < 0) {
    report.failed_step = StartStep::kFork;
    report.start_errno = errno;
    Report(report);
  }
  if (compiler == 0) BecomeCompiler(command, self, failure_pipe[1]);
  setpgid(compiler, compiler);  // The child does it too; whoever comes first.
  close(failure_pipe[1]);

  StartFailure failure;
  if (read(failure_pipe[0], &failure, sizeof failure) == sizeof failure) {
    waitpid(compiler, nullptr, 0);
    report.failed_step = failure.step;
    report.start_errno = failure.error;
    Report(report);
  }
  close(failure_pipe[0]);

  AwaitCompiler(compiler);
  report.wait_status = KillTree(compiler);
  rusage usage;
  if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
    report.max_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) << 10;
  }
  Report(report);
}

}  // namespace neffcache
