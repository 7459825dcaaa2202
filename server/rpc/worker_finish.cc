#include "server/rpc/worker_finish.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "io/status_macros.h"
#include "server/rpc/artifact_upload.h"
#include "server/rpc/from_wire.h"
#include "server/rpc/serial_upload.h"

namespace neffcache {
namespace {

class FinishCall final : public SerialUpload<v1::FinishRequest> {
 public:
  FinishCall(ServiceContext& context, grpc::CallbackServerContext& call,
             v1::FinishResponse* response)
      : SerialUpload(context.commits, call), context_(context), response_(*response) {}

 private:
  absl::Status OnMessage(v1::FinishRequest& message) override {
    switch (message.request_case()) {
      case v1::FinishRequest::kStart:
        return Begin(message.start());
      case v1::FinishRequest::kArtifact:
        if (!artifact_.has_value()) {
          return absl::InvalidArgumentError("artifact: sent without a start that announces one");
        }
        if (log_.has_value()) return absl::InvalidArgumentError("artifact: sent after the log");
        return artifact_->Write(message.artifact());
      case v1::FinishRequest::kLog:
        return TakeLog(message.log());
      case v1::FinishRequest::REQUEST_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError("request: not set");
  }

  absl::Status Begin(const v1::FinishStart& start) {
    if (started_) return absl::InvalidArgumentError("start: sent twice");
    started_ = true;
    worker_ = start.worker_id();
    token_ = start.token();
    // Before anything is uploaded; Finish checks again.
    const absl::StatusOr<Lease> lease = context_.dispatcher.FindLease(worker_, token_);
    if (!lease.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the lease is void, the result was discarded: ", lease.status().message()));
    }
    if (start.compile_time_ms() < 0) {
      return absl::InvalidArgumentError("start.compile_time_ms: negative");
    }
    result_.compile_time = absl::Milliseconds(start.compile_time_ms());
    result_.peak_memory_bytes = start.peak_memory_bytes();
    switch (start.result_case()) {
      case v1::FinishStart::kArtifact: {
        ASSIGN_OR_RETURN(const Artifact announced,
                         ArtifactFromWire(start.artifact(), "start.artifact"));
        ASSIGN_OR_RETURN(ArtifactUpload upload,
                         ArtifactUpload::Start(context_.store, announced,
                                               context_.limits.artifact_bytes, "artifact"));
        artifact_ = std::move(upload);
        return absl::OkStatus();
      }
      case v1::FinishStart::kFailure: {
        ASSIGN_OR_RETURN(result_.failure, FailureFromWire(start.failure(), "start.failure"));
        return absl::OkStatus();
      }
      case v1::FinishStart::RESULT_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError("start.result: not set");
  }

  absl::Status TakeLog(absl::string_view piece) {
    if (!started_) return absl::InvalidArgumentError("log: sent before start");
    RETURN_IF_ERROR(CheckPiece(piece, "log"));
    if (!log_.has_value()) {
      ASSIGN_OR_RETURN(ContentWriter writer, context_.store.Stage(ContentKind::kLog));
      writer.SetLimit(context_.limits.log_bytes);
      log_ = std::move(writer);
    }
    log_received_ += piece.size();
    if (log_received_ > context_.limits.log_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("log: more than ", context_.limits.log_bytes, " bytes"));
    }
    return UploadError(log_->Write(piece), "log");
  }

  absl::Status OnComplete() override {
    if (!started_) return absl::InvalidArgumentError("start: the stream ended without it");
    if (artifact_.has_value()) {
      ASSIGN_OR_RETURN(result_.artifact, std::move(*artifact_).Finish());
    }
    if (log_.has_value()) {
      absl::StatusOr<StagedContent> log = std::move(*log_).Finish();
      if (!log.ok()) return UploadError(log.status(), "log");
      result_.log = *std::move(log);
    }
    ASSIGN_OR_RETURN(const bool committed,
                     context_.dispatcher.Finish(worker_, token_, std::move(result_)));
    response_.set_committed(committed);
    return absl::OkStatus();
  }

  void OnEnd() override {
    artifact_.reset();
    log_.reset();
    result_ = CompileResult();
  }

  ServiceContext& context_;
  v1::FinishResponse& response_;
  bool started_ = false;
  WorkerId worker_ = 0;
  LeaseToken token_ = 0;
  absl::optional<ArtifactUpload> artifact_;
  absl::optional<ContentWriter> log_;
  uint64_t log_received_ = 0;
  CompileResult result_;
};

}  // namespace

grpc::ServerReadReactor<v1::FinishRequest>* StartFinish(ServiceContext& context,
                                                        grpc::CallbackServerContext& call,
                                                        v1::FinishResponse* response) {
  return FinishCall::Create<FinishCall>(context, call, response);
}

}  // namespace neffcache
