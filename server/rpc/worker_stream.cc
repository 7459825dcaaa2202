#include "server/rpc/worker_stream.h"

#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "io/status_macros.h"
#include "server/rpc/from_wire.h"
#include "server/rpc/serial_bidi.h"
#include "server/rpc/to_wire.h"

namespace neffcache {
namespace {

constexpr int kMaxToolchains = 64;
constexpr uint32_t kMaxSlots = 4096;
// A worker that does not read has this many messages kept for it before it is dropped.
constexpr size_t kMaxOutbox = 2 * kMaxSlots;

absl::StatusOr<WorkerOffer> OfferFromWire(const v1::WorkerHello& hello) {
  WorkerOffer offer;
  RETURN_IF_ERROR(CheckName(hello.name(), "hello.name", Empty::kRefused));
  offer.name = hello.name();
  if (hello.toolchains_size() < 1 || hello.toolchains_size() > kMaxToolchains) {
    return absl::InvalidArgumentError(absl::StrCat("hello.toolchains: ", hello.toolchains_size(),
                                                   ", must be 1 to ", kMaxToolchains));
  }
  for (const v1::Toolchain& wire : hello.toolchains()) {
    ASSIGN_OR_RETURN(Toolchain toolchain, ToolchainFromWire(wire, "hello.toolchains"));
    offer.toolchains.push_back(std::move(toolchain));
  }
  if (hello.slots() < 1 || hello.slots() > kMaxSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat("hello.slots: ", hello.slots(), ", must be 1 to ", kMaxSlots));
  }
  offer.slots = hello.slots();
  offer.memory_bytes = hello.memory_bytes();
  offer.embedded = hello.embedded();
  return offer;
}

absl::StatusOr<std::vector<LeaseProgress>> ProgressFromWire(const v1::WorkerHeartbeat& heartbeat) {
  if (static_cast<uint32_t>(heartbeat.compiles_size()) > kMaxSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat("heartbeat.compiles: ", heartbeat.compiles_size(), ", at most ", kMaxSlots));
  }
  std::vector<LeaseProgress> progress;
  for (const v1::CompileProgress& wire : heartbeat.compiles()) {
    RETURN_IF_ERROR(CheckLogLine(wire.last_log_line(), "heartbeat.compiles.last_log_line"));
    progress.push_back({wire.token(), wire.memory_bytes(), wire.last_log_line()});
  }
  return progress;
}

// State belongs to the strand; the dispatcher's calls post to it, which also keeps their order.
class WorkCall final : public SerialBidi<v1::WorkerMessage, v1::DaemonMessage>, public WorkerLink {
 public:
  explicit WorkCall(ServiceContext& context) : SerialBidi(context.control), context_(context) {}

  // WorkerLink.
  void Grant(const Lease& lease) override {
    v1::DaemonMessage message;
    *message.mutable_lease() = ToWire(lease, context_.limits.artifact_bytes);
    Enqueue(std::move(message));
  }
  void Revoke(LeaseToken token, absl::string_view reason) override {
    v1::DaemonMessage message;
    message.mutable_revoked()->set_token(token);
    message.mutable_revoked()->set_reason(std::string(reason));
    Enqueue(std::move(message));
  }
  void Drain(absl::string_view reason) override {
    v1::DaemonMessage message;
    message.mutable_drain()->set_reason(std::string(reason));
    Enqueue(std::move(message));
  }

 private:
  void OnStart() override { Receive(); }

  void OnMessage(v1::WorkerMessage& message) override {
    absl::Status taken = Take(message);
    if (!taken.ok()) return End(std::move(taken));
    Receive();
  }

  absl::Status Take(const v1::WorkerMessage& message) {
    if (message.has_hello() == id_.has_value()) {
      return absl::InvalidArgumentError(id_.has_value() ? "hello: sent twice"
                                                        : "hello: must be the first message");
    }
    switch (message.message_case()) {
      case v1::WorkerMessage::kHello:
        return Welcome(message.hello());
      case v1::WorkerMessage::kHeartbeat: {
        ASSIGN_OR_RETURN(const std::vector<LeaseProgress> progress,
                         ProgressFromWire(message.heartbeat()));
        context_.dispatcher.Heartbeat(*id_, progress);
        return absl::OkStatus();
      }
      case v1::WorkerMessage::kLeaving:
        context_.dispatcher.WorkerLeaving(*id_);
        return absl::OkStatus();
      case v1::WorkerMessage::MESSAGE_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError("message: not set");
  }

  absl::Status Welcome(const v1::WorkerHello& hello) {
    ASSIGN_OR_RETURN(WorkerOffer offer, OfferFromWire(hello));
    name_ = offer.name;
    // Leases granted from inside AddWorker are posted, and so come after the welcome.
    ASSIGN_OR_RETURN(const WorkerId id, context_.dispatcher.AddWorker(std::move(offer), *this));
    id_ = id;
    spdlog::info("event=worker_connected worker=\"{}\" id={}", name_, id);
    v1::DaemonMessage message;
    message.mutable_welcome()->set_worker_id(id);
    message.mutable_welcome()->set_heartbeat_interval_ms(
        absl::ToInt64Milliseconds(context_.limits.heartbeat_interval));
    Send(std::move(message));
    return absl::OkStatus();
  }

  // The worker has said goodbye.
  void OnHalfClose() override { End(absl::OkStatus()); }

  void OnEnd() override {
    if (!id_.has_value()) return;
    context_.dispatcher.RemoveWorker(*id_);
    spdlog::info("event=worker_gone worker=\"{}\" id={}", name_, *id_);
  }

  void Enqueue(v1::DaemonMessage message) {
    Post([this, message = std::move(message)]() mutable {
      if (ended()) return;
      if (outbox_size() >= kMaxOutbox) {
        return End(absl::ResourceExhaustedError("the worker does not read its messages"));
      }
      Send(std::move(message));
    });
  }

  ServiceContext& context_;
  std::string name_;
  absl::optional<WorkerId> id_;
};

}  // namespace

grpc::ServerBidiReactor<v1::WorkerMessage, v1::DaemonMessage>* StartWork(ServiceContext& context) {
  return WorkCall::Create<WorkCall>(context);
}

}  // namespace neffcache
