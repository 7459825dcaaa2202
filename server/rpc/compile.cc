#include "server/rpc/compile.h"

#include <grpcpp/alarm.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "io/status_macros.h"
#include "server/rpc/compile_order.h"
#include "server/rpc/from_wire.h"
#include "server/rpc/graph_upload.h"
#include "server/rpc/serial_bidi.h"
#include "server/rpc/stored_content.h"
#include "server/rpc/to_wire.h"
#include "server/rpc/upload_pace.h"
#include "server/store/entry_messages.h"

namespace neffcache {
namespace {

// One client's wait for one key. All state belongs to the strand of SerialBidi; the dispatcher's
// listener, the alarm and the graph's check only post to it.
class CompileCall final : public SerialBidi<v1::CompileRequest, v1::CompileEvent> {
 public:
  explicit CompileCall(ServiceContext& context) : SerialBidi(context.commits), context_(context) {}

 private:
  enum class State { kNew, kWaiting, kUploading };

  void OnStart() override { Receive(); }
  void OnMessage(v1::CompileRequest& message) override;
  void OnHalfClose() override;
  void OnEnd() override;

  absl::Status Begin(const v1::CompileStart& start);
  absl::Status TakePiece(const v1::GraphPiece& piece);
  absl::Status TakeEnd(const v1::GraphEnd& end);
  void OnChecked(absl::Status status);

  void Handle(const CompileEvent& event);
  void On(const NeedGraphEvent& event);
  void On(const QueuedEvent& event);
  void On(const RunningEvent& event);
  void On(const ReadyEvent& event);
  void On(const FailedEvent& event);
  void On(const RefusedEvent& event);

  void SetAlarm();
  void OnAlarm();

  std::weak_ptr<CompileCall> Weak() {
    return std::static_pointer_cast<CompileCall>(shared_from_this());
  }

  ServiceContext& context_;
  State state_ = State::kNew;
  CompileStartOptions options_;
  // Shared with the graph's check, which may outlast this call.
  std::shared_ptr<CompileDispatcher::Call> call_;
  absl::optional<GraphUpload> upload_;
  bool half_closed_ = false;
  // A client that was stopped in mid-upload, or dawdles, must not keep all others from their
  // compile: when it is given up, the dispatcher asks the next. Set with upload_.
  absl::optional<UploadPace> pace_;
  // A new one each time: setting one anew while its callback returns is a race in gRPC.
  std::unique_ptr<grpc::Alarm> alarm_;
};

void CompileCall::OnMessage(v1::CompileRequest& message) {
  absl::Status taken;
  switch (message.request_case()) {
    case v1::CompileRequest::kStart:
      taken = Begin(message.start());
      break;
    case v1::CompileRequest::kGraph:
      taken = TakePiece(message.graph());
      break;
    case v1::CompileRequest::kGraphEnd:
      taken = TakeEnd(message.graph_end());
      break;
    case v1::CompileRequest::REQUEST_NOT_SET:
      taken = absl::InvalidArgumentError("request: not set");
      break;
  }
  if (!taken.ok()) return End(std::move(taken));
  // Also while waiting: so that the end of the client's half is noticed.
  Receive();
}

absl::Status CompileCall::Begin(const v1::CompileStart& start) {
  if (state_ != State::kNew) return absl::InvalidArgumentError("start: sent twice");
  ASSIGN_OR_RETURN(CompileOrder order, OrderFromWire(start));
  options_ = OptionsFromWire(start);
  RecordNames(context_.store, start, order);
  context_.counters.CountLookup();
  state_ = State::kWaiting;
  call_ = context_.dispatcher.Begin(std::move(order), [weak = Weak()](const CompileEvent& event) {
    const std::shared_ptr<CompileCall> call = weak.lock();
    if (call == nullptr) return;
    call->Post([raw = call.get(), event] { raw->Handle(event); });
  });
  return absl::OkStatus();
}

absl::Status CompileCall::TakePiece(const v1::GraphPiece& piece) {
  if (state_ != State::kUploading) {
    return absl::InvalidArgumentError("graph: sent without having been asked for");
  }
  const absl::Time came = absl::Now();
  RETURN_IF_ERROR(upload_->Write(piece.data()));
  pace_->Received(piece.data().size(), came, absl::Now());
  return absl::OkStatus();
}

absl::Status CompileCall::TakeEnd(const v1::GraphEnd& end) {
  if (state_ != State::kUploading) {
    return absl::InvalidArgumentError("graph_end: sent without the graph having been asked for");
  }
  GraphUpload upload = *std::move(upload_);
  upload_.reset();
  alarm_.reset();
  state_ = State::kWaiting;
  // A large graph is read and synced for longer than a client bears silence, so off the strand:
  // events go on meanwhile.
  context_.checks.Run([self = std::static_pointer_cast<CompileCall>(shared_from_this()),
                       call = call_, upload = std::move(upload), end]() mutable {
    absl::StatusOr<StagedContent> graph = std::move(upload).Finish(end);
    absl::Status status =
        graph.ok() ? call->GraphArrived(*std::move(graph)) : std::move(graph).status();
    call.reset();  // Leaves here when the client has gone meanwhile.
    self->Post([raw = self.get(), status = std::move(status)] { raw->OnChecked(status); });
  });
  return absl::OkStatus();
}

void CompileCall::OnChecked(absl::Status status) {
  if (!ended() && !status.ok()) End(std::move(status));
}

void CompileCall::OnHalfClose() {
  half_closed_ = true;
  switch (state_) {
    case State::kNew:
      return End(absl::InvalidArgumentError("start: the stream ended without it"));
    case State::kUploading:
      return End(absl::InvalidArgumentError("graph_end: the stream ended without it"));
    case State::kWaiting:
      return;  // It still listens; if it has gone altogether, OnCancel says so.
  }
}

void CompileCall::OnEnd() {
  alarm_.reset();  // Cancels.
  upload_.reset();
  call_.reset();  // Leaves, once its graph is checked; the compile goes on.
}

void CompileCall::Handle(const CompileEvent& event) {
  if (ended()) return;
  std::visit([this](const auto& happened) { On(happened); }, event);
}

void CompileCall::On(const NeedGraphEvent&) {
  if (state_ == State::kUploading) return;
  if (half_closed_) {
    return End(absl::FailedPreconditionError(
        "the graph is needed and the client has ended its half of the stream"));
  }
  absl::StatusOr<GraphUpload> upload =
      GraphUpload::Start(context_.store, context_.limits.graph_bytes);
  if (!upload.ok()) return End(upload.status());
  upload_ = *std::move(upload);
  state_ = State::kUploading;
  pace_.emplace(context_.limits.dead_after, absl::Now());
  SetAlarm();
  v1::CompileEvent event;
  event.mutable_need_graph();
  Send(std::move(event));
}

void CompileCall::On(const QueuedEvent& event) {
  v1::CompileEvent wire;
  *wire.mutable_queued() = ToWire(event);
  Send(std::move(wire), Delivery::kLatest);
  // A compile whose graph is still on its way from another client would not survive a restart.
  if (options_.until_queued && event.kept) End(absl::OkStatus());
}

void CompileCall::On(const RunningEvent& event) {
  v1::CompileEvent wire;
  *wire.mutable_running() = ToWire(event);
  Send(std::move(wire), Delivery::kLatest);
  if (options_.until_queued) End(absl::OkStatus());
}

void CompileCall::On(const ReadyEvent& event) {
  const Artifact* artifact = event.entry.ready();
  if (artifact == nullptr) return End(absl::InternalError("a ready event without an artifact"));
  v1::CompileEvent wire;
  v1::Ready& ready = *wire.mutable_ready();
  *ready.mutable_entry() = ToMessage(event.entry);
  ready.set_compiled(event.compiled);
  if (artifact->size <= options_.inline_limit) {
    absl::StatusOr<std::string> bytes = ReadArtifact(context_.store, *artifact);
    // Quarantined: whoever asks again compiles again.
    if (absl::IsDataLoss(bytes.status())) return End(bytes.status());
    // On any other trouble the client fetches it, and is told there.
    if (bytes.ok()) ready.set_inline_artifact(*std::move(bytes));
  }
  context_.store.NoteUse(event.entry.key);
  if (!event.compiled) context_.counters.CountHit(event.entry.compile_time);
  context_.counters.CountServed(ready.inline_artifact().size());
  Send(std::move(wire));
  End(absl::OkStatus());
}

void CompileCall::On(const FailedEvent& event) {
  const Failure* failure = event.entry.failed();
  if (failure == nullptr) return End(absl::InternalError("a failed event without a failure"));
  v1::CompileEvent wire;
  *wire.mutable_failed() = ToMessage(*failure);
  Send(std::move(wire));
  End(absl::OkStatus());
}

void CompileCall::On(const RefusedEvent& event) {
  End(event.status.ok() ? absl::InternalError("refused without a reason") : event.status);
}

void CompileCall::SetAlarm() {
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(absl::ToChronoTime(pace_->Deadline()), [weak = Weak()](bool expired) {
    if (!expired) return;
    const std::shared_ptr<CompileCall> call = weak.lock();
    if (call != nullptr) call->Post([raw = call.get()] { raw->OnAlarm(); });
  });
}

void CompileCall::OnAlarm() {
  if (ended() || state_ != State::kUploading) return;
  absl::Status pace = pace_->Check(absl::Now());
  if (pace.ok()) return SetAlarm();
  End(std::move(pace));
}

}  // namespace

grpc::ServerBidiReactor<v1::CompileRequest, v1::CompileEvent>* StartCompile(
    ServiceContext& context) {
  return CompileCall::Create<CompileCall>(context);
}

}  // namespace neffcache
