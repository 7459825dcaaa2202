#include "server/embedded_workers.h"

#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/worker_process.h"

namespace neffcache {

// The thread that starts, watches and stops the workers. It sleeps in poll() on their pidfds and on
// an eventfd that Stop() writes to.
class EmbeddedWorkers::Keeper {
 public:
  Keeper(EmbeddedWorkersOptions options, Fd wake)
      : options_(std::move(options)), wake_(std::move(wake)), places_(options_.count) {
    for (Place& place : places_) place.pause = options_.first_pause;
    thread_ = std::jthread([this] { Run(); });
  }

  ~Keeper() { Stop(absl::ZeroDuration()); }

  void Retire() {
    absl::MutexLock lock(&mu_);
    retired_ = true;
  }

  void Stop(absl::Duration grace) {
    {
      absl::MutexLock lock(&mu_);
      const absl::Time kill_at = absl::Now() + grace;
      if (!kill_at_.has_value() || kill_at < *kill_at_) kill_at_ = kill_at;
    }
    const uint64_t one = 1;
    // Cannot fail short of 2^64 calls.
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(&ended_));
  }

  std::vector<int> pids() const {
    absl::MutexLock lock(&mu_);
    return pids_;
  }

 private:
  // One of `count` workers, running or about to be.
  struct Place {
    absl::optional<WorkerProcess> child;
    absl::Time since = absl::InfinitePast();     // Running since.
    absl::Time start_at = absl::InfinitePast();  // When it is to be started.
    absl::Duration pause;
  };

  void Run() {
    while (!Stopping().has_value()) {
      const bool retired = Retired();
      for (size_t i = 0; i < places_.size() && !retired; ++i) StartIfDue(i);
      Wait(retired ? absl::InfiniteFuture() : NextStart());
      ReapEnded();
    }
    for (const Place& place : places_) {
      if (place.child.has_value()) place.child->Signal(SIGTERM);
    }
    while (std::any_of(places_.begin(), places_.end(),
                       [](const Place& place) { return place.child.has_value(); })) {
      const absl::Time kill_at = *Stopping();
      if (absl::Now() >= kill_at) {
        for (Place& place : places_) place.child.reset();
        break;
      }
      Wait(kill_at);
      ReapEnded();
    }
    absl::MutexLock lock(&mu_);
    pids_.clear();
    ended_ = true;
  }

  bool Retired() const {
    absl::MutexLock lock(&mu_);
    return retired_ || kill_at_.has_value();
  }

  // When those that are left are killed, once Stop() was called.
  absl::optional<absl::Time> Stopping() const {
    absl::MutexLock lock(&mu_);
    return kill_at_;
  }

  void StartIfDue(size_t index) {
    Place& place = places_[index];
    if (place.child.has_value() || absl::Now() < place.start_at) return;
    absl::StatusOr<WorkerProcess> child = Spawn(index);
    if (child.ok()) {
      spdlog::info("event=worker_started pid={}", child->pid());
      place.child = *std::move(child);
      place.since = absl::Now();
    } else {
      spdlog::error("event=worker_not_started error=\"{}\"", child.status().ToString());
      BackOff(place);
    }
    NotePids();
  }

  absl::StatusOr<WorkerProcess> Spawn(size_t index) const {
    const std::string scratch = absl::StrCat(options_.scratch, "/", index);
    RETURN_IF_ERROR(CreateDirectories(scratch));
    std::vector<std::string> argv = {options_.program, "--daemon", options_.daemon, "--slots", "1"};
    for (const std::string& toolchain : options_.toolchains) {
      argv.insert(argv.end(), {"--toolchain", toolchain});
    }
    if (options_.memory_bytes > 0) {
      argv.insert(argv.end(), {"--memory", absl::StrCat(options_.memory_bytes)});
    }
    argv.insert(argv.end(),
                {"--scratch", scratch, "--embedded", "--parent-pid", absl::StrCat(getpid())});
    return WorkerProcess::Spawn(argv);
  }

  void ReapEnded() {
    for (Place& place : places_) {
      if (!place.child.has_value()) continue;
      pollfd ended = {.fd = place.child->pidfd(), .events = POLLIN, .revents = 0};
      if (poll(&ended, 1, 0) <= 0) continue;
      const int pid = place.child->pid();
      const std::string how = place.child->Reap();
      place.child.reset();
      if (Retired()) {
        spdlog::info("event=worker_ended pid={} how=\"{}\"", pid, how);
      } else {
        if (absl::Now() - place.since >= options_.settled) place.pause = options_.first_pause;
        spdlog::warn("event=worker_ended pid={} how=\"{}\" restart_in={}", pid, how,
                     absl::FormatDuration(place.pause));
        BackOff(place);
      }
    }
    NotePids();
  }

  void BackOff(Place& place) {
    place.start_at = absl::Now() + place.pause;
    place.pause = std::min(place.pause * 2, options_.longest_pause);
  }

  absl::Time NextStart() const {
    absl::Time next = absl::InfiniteFuture();
    for (const Place& place : places_) {
      if (!place.child.has_value()) next = std::min(next, place.start_at);
    }
    return next;
  }

  // Until a worker ends, Stop() is called, or `deadline`.
  void Wait(absl::Time deadline) {
    std::vector<pollfd> fds = {{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    for (const Place& place : places_) {
      if (place.child.has_value()) {
        fds.push_back({.fd = place.child->pidfd(), .events = POLLIN, .revents = 0});
      }
    }
    const absl::Duration left = std::max(deadline - absl::Now(), absl::ZeroDuration());
    // Rounded up, so that what was waited for is due.
    const int timeout = left == absl::InfiniteDuration()
                            ? -1
                            : static_cast<int>(absl::ToInt64Milliseconds(
                                  std::min(left, absl::Hours(1)) + absl::Milliseconds(1)));
    if (poll(fds.data(), fds.size(), timeout) > 0 && (fds[0].revents & POLLIN) != 0) {
      uint64_t count;
      [[maybe_unused]] const ssize_t drained = read(wake_.get(), &count, sizeof(count));
    }
  }

  void NotePids() {
    std::vector<int> pids;
    for (const Place& place : places_) {
      if (place.child.has_value()) pids.push_back(place.child->pid());
    }
    absl::MutexLock lock(&mu_);
    pids_ = std::move(pids);
  }

  const EmbeddedWorkersOptions options_;
  const Fd wake_;

  std::vector<Place> places_;  // Of the thread.

  mutable absl::Mutex mu_;
  absl::optional<absl::Time> kill_at_ ABSL_GUARDED_BY(mu_);
  bool retired_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<int> pids_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread thread_;  // Last: started when all else is there.
};

absl::StatusOr<std::unique_ptr<EmbeddedWorkers>> EmbeddedWorkers::Start(
    EmbeddedWorkersOptions options) {
  if (access(options.program.c_str(), X_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("looking for ", options.program));
  }
  Fd wake(eventfd(0, EFD_CLOEXEC));
  if (!wake.valid()) return absl::ErrnoToStatus(errno, "creating an eventfd");
  return std::unique_ptr<EmbeddedWorkers>(
      new EmbeddedWorkers(std::make_unique<Keeper>(std::move(options), std::move(wake))));
}

EmbeddedWorkers::EmbeddedWorkers(std::unique_ptr<Keeper> keeper) : keeper_(std::move(keeper)) {}

EmbeddedWorkers::~EmbeddedWorkers() = default;

void EmbeddedWorkers::Retire() {
  keeper_->Retire();
}

void EmbeddedWorkers::Stop(absl::Duration grace) {
  keeper_->Stop(grace);
}

std::vector<int> EmbeddedWorkers::pids() const {
  return keeper_->pids();
}

}  // namespace neffcache
