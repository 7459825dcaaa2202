#include "client/compile_call.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/compile_stream.h"
#include "client/reconnect_window.h"

namespace neffcache {
namespace {

// One wait: a stream, and after a break another.
class CompileWait {
 public:
  CompileWait(Daemon& daemon, const IdentifiedSpec& spec, const WaitOptions& options,
              Acquaintance acquaintance)
      : daemon_(daemon),
        spec_(spec),
        options_(options),
        deadline_(absl::Now() + options.timeout),
        window_(daemon.NewReconnectWindow()),
        known_(acquaintance == Acquaintance::kDaemonWasThere) {}

  absl::StatusOr<CompileOutcome> Run() {
    for (;;) {
      CompileStreamEnd end = Try();
      const absl::Time now = absl::Now();
      const bool accepted = end.accepted != absl::InfiniteFuture();
      Learn(end, accepted);
      if (end.outcome.ok()) {
        // Also when it was done between two streams, and looks like a hit to the second.
        if (Reconnecting() && waited_) end.outcome->compiled = true;
        return std::move(end.outcome);
      }
      if (daemon_.watchdog().broken_off()) return Interrupted();
      if (!MayTryAgain(end.outcome.status())) return std::move(end.outcome);
      const absl::optional<absl::Duration> delay =
          window_.AfterBreak(now, accepted ? now - end.accepted : absl::ZeroDuration());
      if (!delay.has_value()) return std::move(end.outcome);
      Report(end.outcome.status(), now);
      if (daemon_.watchdog().WaitForBreakOff(std::min(*delay, deadline_ - now))) {
        return Interrupted();
      }
    }
  }

 private:
  CompileStreamEnd Try() {
    absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = daemon_.Connect(deadline_);
    if (!channel.ok()) return {std::move(channel).status()};
    return RunCompileStream(daemon_, *channel, spec_, options_, deadline_ - absl::Now());
  }

  void Learn(const CompileStreamEnd& end, bool accepted) {
    waited_ = waited_ || end.waited;
    if (!accepted) return;
    known_ = true;
    options_.retry_failed = false;  // That was heard: what failed since then failed anew.
  }

  bool MayTryAgain(const absl::Status& status) const {
    if (!known_ || !FromDaemon(status)) return false;
    if (absl::IsUnavailable(status)) return true;
    // After its restart a daemon knows the compile, but its workers take a moment to come back.
    return absl::IsFailedPrecondition(status) && Reconnecting() &&
           options_.refuse_unknown_toolchain;
  }

  bool Reconnecting() const { return window_.opened() != absl::InfinitePast(); }

  void Report(const absl::Status& status, absl::Time now) const {
    if (!options_.on_progress) return;
    CompileProgress progress;
    progress.phase = CompileProgress::Phase::kReconnecting;
    progress.key = spec_.key.Hex();
    progress.elapsed = now - window_.opened();
    progress.expected = daemon_.options().reconnect_timeout;
    progress.detail = std::string(status.message());
    options_.on_progress(progress);
  }

  absl::Status Interrupted() const {
    return absl::CancelledError(absl::StrCat("compiling ", spec_.spec.graph_path, ": interrupted"));
  }

  Daemon& daemon_;
  const IdentifiedSpec& spec_;
  WaitOptions options_;  // Of the next stream.
  const absl::Time deadline_;
  ReconnectWindow window_;
  bool known_;
  bool waited_ = false;
};

}  // namespace

absl::StatusOr<CompileOutcome> CompileThrough(Daemon& daemon, const IdentifiedSpec& spec,
                                              const WaitOptions& options,
                                              Acquaintance acquaintance) {
  if (!spec.uncacheable_reason.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "compiling ", spec.spec.graph_path, ": it cannot be cached: ", spec.uncacheable_reason));
  }
  return CompileWait(daemon, spec, options, acquaintance).Run();
}

}  // namespace neffcache
