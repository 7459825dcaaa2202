#include "compiler_driver/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "compiler_driver/bounded_log.h"
#include "compiler_driver/process_tree.h"
#include "compiler_driver/supervisor.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

// A compiler takes gigabytes within a second; reading /proc for a tree of ten costs a millisecond.
constexpr auto kSampleInterval = std::chrono::milliseconds(200);
// What a supervisor gets to kill and reap a tree before it is given up (a process stuck in the
// kernel dies when the kernel lets it).
constexpr auto kKillPatience = std::chrono::seconds(10);
constexpr int kOomAdjustment = 300;

struct Pipe {
  Fd read;
  Fd write;
};

// Above the standard descriptors, where dup2() in the supervisor could meet it.
absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "making a pipe");
  Pipe pipe = {Fd(fds[0]), Fd(fds[1])};
  for (Fd* fd : {&pipe.read, &pipe.write}) {
    if (fd->get() > STDERR_FILENO) continue;
    Fd moved(fcntl(fd->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!moved.valid()) return absl::ErrnoToStatus(errno, "making a pipe");
    *fd = std::move(moved);
  }
  return pipe;
}

std::vector<const char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(string.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

// Ours is the floor: raising it needs no privilege.
std::string OomScoreAdjustment() {
  int own = 0;
  Fd fd(open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC));
  char text[16];
  const ssize_t n = fd.valid() ? read(fd.get(), text, sizeof text) : 0;
  if (n > 0 && !absl::SimpleAtoi(absl::string_view(text, static_cast<size_t>(n)), &own)) own = 0;
  return absl::StrCat(std::min(1000, own + kOomAdjustment));
}

Time After(Time from, absl::Duration duration) {
  // Far enough to mean never, near enough not to overflow.
  return from + absl::ToChronoNanoseconds(std::min(duration, absl::Hours(24 * 365)));
}

// One child from fork to the end of its supervisor. Used by one thread.
class Child {
 public:
  Child(const ChildSpec& spec, ChildProgress* progress)
      : spec_(spec),
        progress_(progress),
        log_(spec.limits.log_head_bytes, spec.limits.log_tail_bytes) {}

  absl::Status Start();
  ChildResult Run(int stop_fd);

 private:
  // What has been done about ending the tree so far, mildest first.
  enum class Killing { kNo, kAsked, kOrdered, kGivenUp };

  void ReadOutput();
  void Sample();
  void CheckLimits(Time now);
  void KillTree(ChildEnd reason, absl::Duration grace);
  void Escalate();
  int PollTimeout(Time now) const;
  ChildResult Finish();

  const ChildSpec& spec_;
  ChildProgress* const progress_;
  BoundedLog log_;
  Fd output_;
  Fd report_;
  pid_t supervisor_ = -1;
  Time started_;
  Time next_sample_;
  uint64_t peak_memory_ = 0;
  Killing killing_ = Killing::kNo;
  Time escalation_ = Time::max();
  std::optional<ChildEnd> killed_for_;
};

absl::Status Child::Start() {
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  ASSIGN_OR_RETURN(Pipe report, MakePipe());
  fcntl(output.read.get(), F_SETFL, O_NONBLOCK);

  const std::vector<const char*> argv = Pointers(spec_.argv);
  const std::vector<const char*> environment = Pointers(spec_.environment);
  const std::string adjustment = OomScoreAdjustment();
  SupervisedCommand command;
  command.argv = argv.data();
  command.environment = environment.data();
  command.working_directory = spec_.working_directory.c_str();
  command.oom_score_adjustment = adjustment.c_str();
  command.address_space_bytes = spec_.limits.address_space_bytes;
  command.output_fd = output.write.get();
  command.report_fd = report.write.get();
  command.parent = getpid();

  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // fork() would run the handlers that gRPC has registered and take locks that another thread may
  // hold; the supervisor makes nothing but system calls.
  supervisor_ = _Fork();
  if (supervisor_ == 0) Supervise(command);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (supervisor_ < 0) return absl::ErrnoToStatus(error, "forking");
  output_ = std::move(output.read);
  report_ = std::move(report.read);
  return absl::OkStatus();
}

void Child::ReadOutput() {
  char buffer[64 << 10];
  bool any = false;
  // Bounded, so that a child that never stops printing still meets its limits. What a dead tree
  // leaves in the pipe is less.
  for (int reads = 0; output_.valid() && reads < 32; ++reads) {
    const ssize_t n = read(output_.get(), buffer, sizeof buffer);
    if (n > 0) {
      log_.Append(absl::string_view(buffer, static_cast<size_t>(n)));
      any = true;
    } else if (n == 0) {
      output_.Close();
    } else if (errno != EINTR) {
      break;
    }
  }
  if (any && progress_ != nullptr) progress_->SetLastLogLine(log_.LastLine());
}

void Child::Sample() {
  peak_memory_ = std::max(peak_memory_, ResidentBytes(Descendants(supervisor_)));
  if (progress_ != nullptr) progress_->SetPeakMemory(peak_memory_);
}

void Child::CheckLimits(Time now) {
  if (killing_ != Killing::kNo) return;
  const ChildLimits& limits = spec_.limits;
  if (limits.memory_bytes != 0 && peak_memory_ > limits.memory_bytes) {
    return KillTree(ChildEnd::kOverMemory, absl::ZeroDuration());
  }
  struct stat info;
  if (limits.output_bytes != 0 && !spec_.output_file.empty() &&
      stat(spec_.output_file.c_str(), &info) == 0 &&
      static_cast<uint64_t>(info.st_size) > limits.output_bytes) {
    return KillTree(ChildEnd::kOverOutput, limits.grace);
  }
  if (now >= After(started_, limits.wall_clock)) KillTree(ChildEnd::kTimedOut, limits.grace);
}

void Child::KillTree(ChildEnd reason, absl::Duration grace) {
  if (killing_ != Killing::kNo) return;
  killed_for_ = reason;
  killing_ = Killing::kAsked;
  escalation_ = After(Clock::now(), grace);
  if (grace > absl::ZeroDuration()) SignalAll(Descendants(supervisor_), SIGTERM);
}

void Child::Escalate() {
  // The supervisor is not reaped yet, so its pid is its own.
  if (killing_ == Killing::kAsked) {
    kill(supervisor_, SIGTERM);
    killing_ = Killing::kOrdered;
    escalation_ = Clock::now() + kKillPatience;
  } else {
    kill(supervisor_, SIGKILL);
    killing_ = Killing::kGivenUp;
    escalation_ = Time::max();
  }
}

int Child::PollTimeout(Time now) const {
  Time next = std::min(next_sample_, escalation_);
  if (killing_ == Killing::kNo) next = std::min(next, After(started_, spec_.limits.wall_clock));
  if (next <= now) return 0;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(next - now).count());
}

ChildResult Child::Run(int stop_fd) {
  started_ = Clock::now();
  next_sample_ = started_ + kSampleInterval / 10;
  for (;;) {
    // A negative descriptor is ignored by poll(): closed output, a stop that was seen.
    pollfd polled[] = {{report_.get(), POLLIN, 0},
                       {output_.valid() ? output_.get() : -1, POLLIN, 0},
                       {killing_ == Killing::kNo ? stop_fd : -1, POLLIN, 0}};
    if (poll(polled, std::size(polled), PollTimeout(Clock::now())) < 0 && errno != EINTR) {
      KillTree(ChildEnd::kCancelled, absl::ZeroDuration());
    }
    if (polled[1].revents != 0) ReadOutput();
    if (polled[0].revents != 0) return Finish();
    if (polled[2].revents != 0) KillTree(ChildEnd::kCancelled, spec_.limits.grace);
    const Time now = Clock::now();
    if (now >= next_sample_) {
      Sample();
      next_sample_ = now + kSampleInterval;
    }
    CheckLimits(now);
    if (now >= escalation_) Escalate();
  }
}

ChildResult Child::Finish() {
  SupervisorReport report;
  ssize_t got;
  do {
    got = read(report_.get(), &report, sizeof report);
  } while (got < 0 && errno == EINTR);
  ReadOutput();
  int supervisor_status = 0;
  while (waitpid(supervisor_, &supervisor_status, 0) < 0 && errno == EINTR) {
  }

  ChildResult result;
  result.wall_clock = absl::FromChrono(Clock::now() - started_);
  result.log = log_.Text();
  result.peak_memory_bytes = peak_memory_;
  int status = supervisor_status;
  if (got == sizeof report) {
    if (report.failed_step != StartStep::kNone) {
      constexpr absl::string_view kSteps[] = {"", "forking for", "entering the directory of",
                                              "setting the limits of", "starting"};
      result.start_error = absl::ErrnoToStatus(
          report.start_errno,
          absl::StrCat(kSteps[static_cast<int>(report.failed_step)], " ", spec_.argv[0]));
      return result;
    }
    status = report.wait_status;
    result.peak_memory_bytes = std::max(peak_memory_, report.max_rss_bytes);
  } else if (!WIFSIGNALED(status) && !killed_for_.has_value()) {
    result.start_error = absl::InternalError(
        absl::StrCat("the supervisor of ", spec_.argv[0], " ended without a report"));
    return result;
  }
  if (progress_ != nullptr) progress_->SetPeakMemory(result.peak_memory_bytes);
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
    result.end = ChildEnd::kSignalled;
  } else {
    result.exit_code = WEXITSTATUS(status);
    result.end = ChildEnd::kExited;
  }
  if (killed_for_.has_value()) result.end = *killed_for_;
  return result;
}

}  // namespace

void ChildProgress::SetPeakMemory(uint64_t bytes) {
  absl::MutexLock lock(&mu_);
  snapshot_.peak_memory_bytes = bytes;
}

void ChildProgress::SetLastLogLine(std::string line) {
  absl::MutexLock lock(&mu_);
  snapshot_.last_log_line = std::move(line);
}

ChildProgress::Snapshot ChildProgress::Read() const {
  absl::MutexLock lock(&mu_);
  return snapshot_;
}

ChildResult RunChild(const ChildSpec& spec, const std::stop_token& stop, ChildProgress* progress) {
  ChildResult not_started;
  if (stop.stop_requested()) {
    not_started.end = ChildEnd::kCancelled;
    return not_started;
  }
  Fd stop_event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_event.valid()) {
    not_started.start_error = absl::ErrnoToStatus(errno, "making an event descriptor");
    return not_started;
  }
  const std::stop_callback on_stop(stop, [&stop_event] {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_event.get(), &one, sizeof one);
  });
  Child child(spec, progress);
  not_started.start_error = child.Start();
  if (!not_started.start_error.ok()) return not_started;
  return child.Run(stop_event.get());
}

}  // namespace neffcache
