#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/daemon.h"
#include "client/identified_spec.h"
#include "neffcache/client.h"

namespace neffcache::cli {

// How far a batch is.
struct BatchCounts {
  size_t total = 0;
  size_t hits = 0;       // Were there already.
  size_t compiled = 0;   // Are there now.
  size_t failed = 0;     // Failed compiles.
  size_t errors = 0;     // What could not be asked for.
  size_t submitted = 0;  // Only handed over: nobody waits for them.
  size_t uploading = 0;
  size_t queued = 0;
  size_t running = 0;
  size_t reconnecting = 0;  // Of which the daemon has gone away, perhaps not for long.
  size_t uncacheable = 0;   // Never asked for; not part of the total.
  std::string reason;       // Why a queued one waits, when it is not just its turn.

  size_t done() const { return hits + compiled + failed + errors + submitted; }
};

// Asks for many keys at once and waits for all of them.
//
// Each request is a stream with a thread of its own, for as long as its compile takes, so that the
// daemon knows that somebody waits and no failure is missed. Used by one thread.
class CompileBatch {
 public:
  struct Item {
    IdentifiedSpec spec;
    // Of the compile, or why it could not be asked for.
    absl::StatusOr<CompileOutcome> result = absl::CancelledError("not asked for");
    absl::Duration took;  // From the request to its end.
  };

  // `jobs` is how many requests are open at a time. Unless `options` refuse an unknown toolchain at
  // once, they do after `worker_grace`, in which a worker may connect. `make_daemon` gives
  // connections: a daemon limits the streams on each.
  using MakeDaemon = std::function<absl::StatusOr<std::unique_ptr<Daemon>>()>;
  CompileBatch(std::vector<IdentifiedSpec> specs, WaitOptions options, size_t jobs,
               absl::Duration worker_grace, MakeDaemon make_daemon);

  // Runs to the end. Every `period` the calling thread runs `on_tick`. Once the daemon cannot be
  // reached, what was not asked for yet is not tried: its result is that error. Once `should_stop`
  // says so, which is asked often, the rest ends with CANCELLED; what the daemon has goes on there.
  // Called once.
  void Run(absl::Duration period, absl::FunctionRef<void(const BatchCounts&)> on_tick,
           absl::FunctionRef<bool()> should_stop);

  // In the order of the specs, after Run().
  const std::vector<Item>& items() const { return items_; }
  BatchCounts counts() const;
  // How many compiles the daemon had when the batch was stopped.
  size_t left_behind() const;

 private:
  enum class Phase { kWaiting, kUploading, kQueued, kRunning, kReconnecting, kDone };

  absl::Status OpenDaemons();
  // Takes what is ready already out of the work, in one question.
  absl::Status FindHits();
  void Work(Daemon& daemon);
  absl::StatusOr<CompileOutcome> Ask(Daemon& daemon, size_t index);
  void SetPhase(size_t index, Phase phase, const std::string& reason);
  void SetResult(size_t index, absl::StatusOr<CompileOutcome> result, absl::Duration took);
  void Stop();
  void SetAll(const absl::Status& status);
  BatchCounts CountsLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AllDone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_ == items_.size(); }

  const WaitOptions options_;
  const size_t jobs_;
  const absl::Duration worker_grace_;
  const MakeDaemon make_daemon_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
  std::vector<Item> items_;  // Results are written by the thread that has the item.

  mutable absl::Mutex mutex_;
  std::vector<Phase> phases_ ABSL_GUARDED_BY(mutex_);
  std::string reason_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t hits_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t compiled_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t errors_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t left_behind_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t submitted_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status unreachable_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace neffcache::cli
