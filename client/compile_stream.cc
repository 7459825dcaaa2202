#include "client/compile_stream.h"

#include <grpcpp/support/sync_stream.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/graph_upload.h"
#include "client/stall_watchdog.h"
#include "client/wire.h"
#include "io/status_macros.h"
#include "neffcache/v1/cache.grpc.pb.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

CompileProgress ProgressOf(const v1::Queued& queued) {
  CompileProgress progress;
  progress.phase = CompileProgress::Phase::kQueued;
  progress.position = queued.position();
  progress.expected = absl::Milliseconds(queued.expected_wait_ms());
  progress.detail = queued.reason();
  return progress;
}

CompileProgress ProgressOf(const v1::Running& running) {
  CompileProgress progress;
  progress.phase = CompileProgress::Phase::kRunning;
  progress.elapsed = absl::Milliseconds(running.elapsed_ms());
  progress.expected = absl::Milliseconds(running.expected_ms());
  progress.memory_bytes = running.memory_bytes();
  progress.worker = running.worker();
  progress.detail = running.last_log_line();
  return progress;
}

// State of one Compile stream.
class CompileStream {
 public:
  CompileStream(Daemon& daemon, const IdentifiedSpec& spec, const WaitOptions& options,
                absl::Duration limit)
      : daemon_(daemon),
        spec_(spec),
        options_(options),
        doing_(absl::StrCat("compiling ", spec.spec.graph_path)),
        context_(daemon.NewCall(limit)),
        watch_(daemon.watchdog(), context_, daemon.options().stall_timeout) {}

  absl::StatusOr<CompileOutcome> Run(const std::shared_ptr<grpc::Channel>& channel) {
    const auto stub = v1::GraphCache::NewStub(channel);
    stream_ = stub->Compile(context_.get());
    v1::CompileRequest start;
    *start.mutable_start() = Start();
    Send(start);
    v1::CompileEvent event;
    while (Receive(event)) {
      if (accepted_ == absl::InfiniteFuture()) accepted_ = absl::Now();
      absl::StatusOr<bool> done = Handle(event);
      if (!done.ok()) return Abandon(std::move(done).status());
      if (*done) break;
    }
    return Finish();
  }

  absl::Time accepted() const { return accepted_; }
  bool waited() const { return was_queued_; }

 private:
  v1::CompileStart Start() const {
    v1::CompileStart start;
    *start.mutable_material() = ToProto(spec_.material);
    start.set_purpose(ToProto(options_.purpose));
    start.set_wait(options_.until_queued ? v1::WAIT_UNTIL_QUEUED : v1::WAIT_FOR_RESULT);
    // A precompile wants to know, not to have.
    if (options_.purpose == CompilePurpose::kTrainer) start.set_inline_limit(kMaxInlineArtifact);
    start.set_bundle(spec_.spec.bundle);
    start.set_client(daemon_.options().name);
    start.set_retry_failed(options_.retry_failed);
    start.set_refuse_unknown_toolchain(options_.refuse_unknown_toolchain);
    return start;
  }

  // False when the stream is gone; the reason then comes with Finish().
  bool Send(const v1::CompileRequest& request) {
    return watch_.During([&] { return stream_->Write(request); });
  }
  bool Receive(v1::CompileEvent& event) {
    return watch_.During([&] { return stream_->Read(&event); });
  }

  void Report(CompileProgress progress) const {
    if (!options_.on_progress) return;
    progress.key = spec_.key.Hex();
    options_.on_progress(progress);
  }

  // True when nothing more is to come.
  absl::StatusOr<bool> Handle(const v1::CompileEvent& event) {
    switch (event.event_case()) {
      case v1::CompileEvent::kReady: {
        absl::StatusOr<CompileOutcome> outcome = OutcomeFrom(event.ready(), spec_.key);
        if (!outcome.ok()) return daemon_.Error(outcome.status(), doing_);
        outcome_ = *std::move(outcome);
        return true;
      }
      case v1::CompileEvent::kFailed:
        outcome_.emplace();
        outcome_->key = spec_.key.Hex();
        outcome_->failure = FailureFrom(event.failed());
        // A failure met right away was remembered from an earlier compile.
        outcome_->compiled = was_queued_;
        return true;
      case v1::CompileEvent::kNeedGraph:
        RETURN_IF_ERROR(Upload());
        return false;
      case v1::CompileEvent::kQueued:
        Report(ProgressOf(event.queued()));
        was_queued_ = true;
        return false;
      case v1::CompileEvent::kRunning:
        Report(ProgressOf(event.running()));
        was_queued_ = true;
        return false;
      case v1::CompileEvent::EVENT_NOT_SET:
        return false;  // From a newer daemon.
    }
    return false;
  }

  absl::Status Upload() {
    if (uploaded_) {
      return daemon_.Error(absl::InternalError("the daemon asks for the graph twice"), doing_);
    }
    uploaded_ = true;
    const absl::Time begin = absl::Now();
    CompileProgress progress;
    progress.phase = CompileProgress::Phase::kUploading;
    Report(progress);
    return UploadGraph(
        spec_.spec.graph_path, spec_.graph.files,
        [this](const v1::CompileRequest& request) { return Send(request); },
        [&](uint64_t sent) {
          progress.elapsed = absl::Now() - begin;
          progress.detail = absl::StrCat(sent, " bytes sent");
          Report(progress);
        });
  }

  absl::Status Abandon(absl::Status reason) {
    context_->TryCancel();
    stream_->Finish();
    return reason;
  }

  absl::StatusOr<CompileOutcome> Finish() {
    // After its answer the daemon ends the stream; gRPC wants that read. One that goes on talking
    // is cut off.
    v1::CompileEvent surplus;
    if (outcome_.has_value() && Receive(surplus)) context_->TryCancel();
    const grpc::Status status = watch_.During([&] { return stream_->Finish(); });
    if (outcome_.has_value()) return *std::move(outcome_);
    // Not before: a compile is queued also while another client is to send its graph, and is lost
    // when that client goes. Only the end says that it is kept.
    if (status.ok() && options_.until_queued && was_queued_) {
      CompileOutcome queued;
      queued.key = spec_.key.Hex();
      return queued;
    }
    if (status.ok()) {
      return daemon_.Error(absl::UnavailableError("the daemon ended the stream without an answer"),
                           doing_);
    }
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED &&
        options_.timeout != absl::InfiniteDuration()) {
      return daemon_.Error(absl::DeadlineExceededError(absl::StrCat(
                               "not done within ", absl::FormatDuration(options_.timeout))),
                           doing_);
    }
    return daemon_.Error(status, doing_, watch_);
  }

  Daemon& daemon_;
  const IdentifiedSpec& spec_;
  const WaitOptions& options_;
  const std::string doing_;
  const std::shared_ptr<grpc::ClientContext> context_;
  StallWatchdog::Watch watch_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CompileRequest, v1::CompileEvent>> stream_;
  absl::optional<CompileOutcome> outcome_;
  absl::Time accepted_ = absl::InfiniteFuture();
  bool uploaded_ = false;
  bool was_queued_ = false;
};

}  // namespace

CompileStreamEnd RunCompileStream(Daemon& daemon, const std::shared_ptr<grpc::Channel>& channel,
                                  const IdentifiedSpec& spec, const WaitOptions& options,
                                  absl::Duration limit) {
  CompileStream stream(daemon, spec, options, limit);
  absl::StatusOr<CompileOutcome> outcome = stream.Run(channel);
  return {std::move(outcome), stream.accepted(), stream.waited()};
}

}  // namespace neffcache
