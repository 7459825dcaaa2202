#include "server/rpc/publish.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "absl/types/optional.h"
#include "io/status_macros.h"
#include "server/rpc/artifact_upload.h"
#include "server/rpc/from_wire.h"
#include "server/rpc/serial_upload.h"
#include "server/store/entry_messages.h"

namespace neffcache {
namespace {

class PublishCall final : public SerialUpload<v1::PublishRequest> {
 public:
  PublishCall(ServiceContext& context, grpc::CallbackServerContext& call,
              v1::PublishResponse* response)
      : SerialUpload(context.commits, call), context_(context), response_(*response) {}

 private:
  absl::Status OnMessage(v1::PublishRequest& message) override {
    switch (message.request_case()) {
      case v1::PublishRequest::kStart:
        return Begin(message.start());
      case v1::PublishRequest::kData:
        if (!upload_.has_value()) return absl::InvalidArgumentError("data: sent before start");
        return upload_->Write(message.data());
      case v1::PublishRequest::REQUEST_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError("request: not set");
  }

  absl::Status Begin(const v1::PublishStart& start) {
    if (upload_.has_value()) return absl::InvalidArgumentError("start: sent twice");
    Entry entry;
    ASSIGN_OR_RETURN(entry.material, MaterialFromWire(start.material(), "start.material"));
    entry.key = ComputeKey(entry.material);
    ASSIGN_OR_RETURN(const Artifact artifact, ArtifactFromWire(start.artifact(), "start.artifact"));
    entry.state = artifact;
    RETURN_IF_ERROR(CheckName(start.bundle(), "start.bundle", Empty::kAllowed));
    RETURN_IF_ERROR(CheckName(start.client(), "start.client", Empty::kAllowed));
    if (start.compile_time_ms() < 0) {
      return absl::InvalidArgumentError("start.compile_time_ms: negative");
    }
    entry.compile_time = absl::Milliseconds(start.compile_time_ms());
    entry.peak_memory_bytes = start.peak_memory_bytes();
    entry.worker = start.client();
    entry.created = absl::Now();
    bundle_ = start.bundle();

    const absl::StatusOr<Entry> present = context_.store.Find(entry.key);
    if (present.ok() && present->ready() != nullptr) {
      // Saves the upload: the first complete write stays.
      *response_.mutable_entry() = ToMessage(*present);
      Record(entry.key);
      End(absl::OkStatus());
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(
        ArtifactUpload upload,
        ArtifactUpload::Start(context_.store, artifact, context_.limits.artifact_bytes, "data"));
    upload_ = std::move(upload);
    entry_ = std::move(entry);
    return absl::OkStatus();
  }

  absl::Status OnComplete() override {
    if (!upload_.has_value()) {
      return absl::InvalidArgumentError("start: the stream ended without it");
    }
    ASSIGN_OR_RETURN(StagedContent artifact, std::move(*upload_).Finish());
    const Key key = entry_.key;
    ASSIGN_OR_RETURN(
        const Store::Committed committed,
        context_.store.CommitReady(std::move(entry_), std::move(artifact), absl::nullopt));
    *response_.mutable_entry() = ToMessage(committed.entry);
    response_.set_accepted(committed.accepted);
    context_.dispatcher.Published(committed.entry);
    Record(key);
    return absl::OkStatus();
  }

  void OnEnd() override { upload_.reset(); }

  void Record(const Key& key) {
    if (bundle_.empty()) return;
    const absl::Status recorded = context_.store.RecordInBundle(bundle_, {&key, 1});
    if (!recorded.ok()) {
      spdlog::warn("event=bundle_not_recorded key={} error=\"{}\"", key.Hex(), recorded.ToString());
    }
  }

  ServiceContext& context_;
  v1::PublishResponse& response_;
  absl::optional<ArtifactUpload> upload_;
  Entry entry_;
  std::string bundle_;
};

}  // namespace

grpc::ServerReadReactor<v1::PublishRequest>* StartPublish(ServiceContext& context,
                                                          grpc::CallbackServerContext& call,
                                                          v1::PublishResponse* response) {
  return PublishCall::Create<PublishCall>(context, call, response);
}

}  // namespace neffcache
