#include "client/cli/compile_batch.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "client/cli/exit_status.h"
#include "client/compile_call.h"
#include "client/lookup_call.h"
#include "io/status_macros.h"

namespace neffcache::cli {
namespace {

// A daemon takes 256 on a connection; one more would wait in silence.
constexpr size_t kStreamsPerConnection = 200;
// How soon a wish to stop is noticed.
constexpr absl::Duration kStopPeriod = absl::Milliseconds(100);

}  // namespace

CompileBatch::CompileBatch(std::vector<IdentifiedSpec> specs, WaitOptions options, size_t jobs,
                           absl::Duration worker_grace, MakeDaemon make_daemon)
    : options_(std::move(options)),
      jobs_(std::max<size_t>(jobs, 1)),
      worker_grace_(worker_grace),
      make_daemon_(std::move(make_daemon)),
      phases_(specs.size(), Phase::kWaiting) {
  for (IdentifiedSpec& spec : specs) items_.emplace_back().spec = std::move(spec);
}

void CompileBatch::Run(absl::Duration period, absl::FunctionRef<void(const BatchCounts&)> on_tick,
                       absl::FunctionRef<bool()> should_stop) {
  if (items_.empty()) return;
  absl::Status status = OpenDaemons();
  if (status.ok()) status = FindHits();
  if (!status.ok()) return SetAll(status);

  std::vector<std::jthread> threads;
  const size_t wanted = std::min(jobs_, items_.size());
  for (size_t i = 0; i < wanted; ++i) {
    Daemon& daemon = *daemons_[i / kStreamsPerConnection];
    threads.emplace_back([this, &daemon] { Work(daemon); });
  }
  absl::Time next_tick = absl::Now() + period;
  for (bool done = false, stopped = false; !done;) {
    BatchCounts counts;
    {
      absl::MutexLock lock(&mutex_);
      done = mutex_.AwaitWithTimeout(absl::Condition(this, &CompileBatch::AllDone),
                                     std::min(period, kStopPeriod));
      counts = CountsLocked();
    }
    if (!done && !stopped && should_stop()) {
      Stop();
      stopped = true;
    }
    if (done || stopped || absl::Now() < next_tick) continue;
    next_tick += period;
    on_tick(counts);
  }
}

void CompileBatch::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    const BatchCounts counts = CountsLocked();
    left_behind_ = counts.queued + counts.running + counts.reconnecting;
  }
  for (const std::unique_ptr<Daemon>& daemon : daemons_) daemon->watchdog().BreakOff();
}

size_t CompileBatch::left_behind() const {
  absl::MutexLock lock(&mutex_);
  return left_behind_;
}

absl::Status CompileBatch::OpenDaemons() {
  const size_t streams = std::min(jobs_, items_.size());
  for (size_t first = 0; first < streams; first += kStreamsPerConnection) {
    ASSIGN_OR_RETURN(std::unique_ptr<Daemon> daemon, make_daemon_());
    daemons_.push_back(std::move(daemon));
  }
  return absl::OkStatus();
}

absl::Status CompileBatch::FindHits() {
  std::vector<Key> keys;
  for (const Item& item : items_) keys.push_back(item.spec.key);
  ASSIGN_OR_RETURN(
      std::vector<KeyState> states,
      LookupThrough(*daemons_.front(), keys, items_.front().spec.spec.bundle, LookupFor::kUse));
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].state != KeyState::State::kReady) continue;
    CompileOutcome outcome;
    outcome.key = keys[i].Hex();
    outcome.artifact = std::move(states[i].artifact);
    outcome.compile_time = states[i].compile_time;
    SetResult(i, std::move(outcome), absl::ZeroDuration());
  }
  return absl::OkStatus();
}

void CompileBatch::Work(Daemon& daemon) {
  for (;;) {
    size_t index;
    absl::Status unreachable;
    {
      absl::MutexLock lock(&mutex_);
      while (next_ < items_.size() && phases_[next_] == Phase::kDone) ++next_;
      if (next_ == items_.size()) return;
      index = next_++;
      unreachable = unreachable_;
    }
    if (daemon.watchdog().broken_off()) unreachable = absl::CancelledError("interrupted");
    if (!unreachable.ok()) {
      SetResult(index, unreachable, absl::ZeroDuration());
      continue;
    }
    const absl::Time begin = absl::Now();
    absl::StatusOr<CompileOutcome> result = Ask(daemon, index);
    SetResult(index, std::move(result), absl::Now() - begin);
  }
}

absl::StatusOr<CompileOutcome> CompileBatch::Ask(Daemon& daemon, size_t index) {
  WaitOptions options = options_;
  options.on_progress = [this, index](const CompileProgress& progress) {
    switch (progress.phase) {
      case CompileProgress::Phase::kUploading:
        return SetPhase(index, Phase::kUploading, "");
      case CompileProgress::Phase::kQueued:
        return SetPhase(index, Phase::kQueued, progress.detail);
      case CompileProgress::Phase::kRunning:
        return SetPhase(index, Phase::kRunning, "");
      case CompileProgress::Phase::kReconnecting:
        return SetPhase(index, Phase::kReconnecting, "");
    }
  };
  if (options.refuse_unknown_toolchain || worker_grace_ == absl::InfiniteDuration()) {
    return CompileThrough(daemon, items_[index].spec, options, Acquaintance::kDaemonWasThere);
  }
  options.timeout = worker_grace_;
  absl::StatusOr<CompileOutcome> outcome =
      CompileThrough(daemon, items_[index].spec, options, Acquaintance::kDaemonWasThere);
  if (!absl::IsDeadlineExceeded(outcome.status())) return outcome;
  // The compile goes on meanwhile; asking again only joins it.
  options.timeout = options_.timeout;
  options.refuse_unknown_toolchain = true;
  options.retry_failed = false;  // That was heard.
  return CompileThrough(daemon, items_[index].spec, options, Acquaintance::kDaemonWasThere);
}

void CompileBatch::SetPhase(size_t index, Phase phase, const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  phases_[index] = phase;
  reason_ = reason;
}

void CompileBatch::SetResult(size_t index, absl::StatusOr<CompileOutcome> result,
                             absl::Duration took) {
  items_[index].result = std::move(result);
  items_[index].took = took;
  const absl::StatusOr<CompileOutcome>& stored = items_[index].result;
  absl::MutexLock lock(&mutex_);
  phases_[index] = Phase::kDone;
  ++done_;
  if (!stored.ok()) {
    ++errors_;
    if (ExitStatusOf(stored.status()) == ExitStatus::kUnreachable) unreachable_ = stored.status();
  } else if (stored->failure.has_value()) {
    ++failed_;
  } else if (!stored->artifact.has_value()) {
    ++submitted_;
  } else {
    ++(stored->compiled ? compiled_ : hits_);
  }
}

void CompileBatch::SetAll(const absl::Status& status) {
  for (size_t i = 0; i < items_.size(); ++i) SetResult(i, status, absl::ZeroDuration());
}

BatchCounts CompileBatch::counts() const {
  absl::MutexLock lock(&mutex_);
  return CountsLocked();
}

BatchCounts CompileBatch::CountsLocked() const {
  BatchCounts counts;
  counts.total = items_.size();
  counts.hits = hits_;
  counts.compiled = compiled_;
  counts.failed = failed_;
  counts.errors = errors_;
  counts.submitted = submitted_;
  for (const Phase phase : phases_) {
    counts.uploading += phase == Phase::kUploading;
    counts.queued += phase == Phase::kQueued;
    counts.running += phase == Phase::kRunning;
    counts.reconnecting += phase == Phase::kReconnecting;
  }
  counts.reason = reason_;
  return counts;
}

}  // namespace neffcache::cli
