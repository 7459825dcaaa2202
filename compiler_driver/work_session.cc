#include "compiler_driver/work_session.h"

#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "compiler_driver/daemon_calls.h"
#include "io/utf8.h"
#include "neffcache/v1/worker.grpc.pb.h"
#include "transport/channel.h"
#include "transport/limits.h"
#include "transport/status.h"

namespace neffcache {
namespace {

// How long the daemon may take to answer the hello, and to end a stream that we have closed.
constexpr absl::Duration kWelcomeLimit = absl::Seconds(20);
constexpr absl::Duration kCloseLimit = absl::Seconds(5);
constexpr absl::Duration kMinHeartbeat = absl::Milliseconds(10);
constexpr size_t kLogLineLimit = 4 << 10;

absl::StatusOr<WorkLease> FromProto(const v1::Lease& message) {
  WorkLease lease;
  lease.token = message.token();
  const auto key = Digest::FromBytes(message.key());
  if (!key.ok()) return key.status();
  const auto graph = Digest::FromBytes(message.graph_digest());
  if (!graph.ok()) return graph.status();
  lease.key = key->Hex();
  lease.graph_digest = *graph;
  lease.toolchain = message.toolchain().name();
  lease.version = message.toolchain().version();
  lease.options.assign(message.options().begin(), message.options().end());
  lease.graph_size = message.graph_size();
  if (message.time_limit_ms() > 0) lease.time_limit = absl::Milliseconds(message.time_limit_ms());
  lease.memory_limit_bytes = message.memory_limit_bytes();
  lease.output_limit_bytes = message.output_limit_bytes();
  lease.graph_name = message.graph_name();
  return lease;
}

}  // namespace

struct WorkSession::Stream {
  grpc::ClientContext context;
  std::unique_ptr<v1::CompileWorker::Stub> stub;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::DaemonMessage>> call;
};

WorkSession::WorkSession(std::string address, WorkOffer offer, absl::Duration idle_exit,
                         LeaseTable& leases)
    : address_(std::move(address)),
      offer_(std::move(offer)),
      idle_exit_(idle_exit),
      leases_(leases),
      stream_(std::make_unique<Stream>()) {}

WorkSession::~WorkSession() = default;

void WorkSession::Wake() {
  absl::MutexLock lock(&mu_);
  wake_ = true;
}

void WorkSession::LeaseEnded() {
  Wake();
}

void WorkSession::Leave() {
  {
    absl::MutexLock lock(&mu_);
    leave_ = true;
    wake_ = true;
    if (welcomed_ != absl::InfiniteFuture()) return;
  }
  // Nothing to bring to an end, and a daemon that is away would keep us waiting.
  Break();
}

void WorkSession::Break() {
  stream_->context.TryCancel();
}

WorkSession::End WorkSession::Run() {
  // Its own connection each time: a shared one would go on with the back-off of the broken one.
  stream_->stub = v1::CompileWorker::NewStub(OpenChannel(address_, Connection::kOwn));
  stream_->call = stream_->stub->Work(&stream_->context);
  {
    // Reading and writing are independent of each other; all writing is done by one thread.
    const std::jthread writer([this] { WriteMessages(); });
    HandleMessages();
    absl::MutexLock lock(&mu_);
    ended_ = true;
    wake_ = true;
  }
  End end;
  end.status = FromGrpc(stream_->call->Finish(), absl::StrCat("working for ", address_));
  absl::MutexLock lock(&mu_);
  end.welcomed = welcomed_ != absl::InfiniteFuture();
  end.left = leave_;
  return end;
}

void WorkSession::HandleMessages() {
  std::shared_ptr<DaemonCalls> calls;
  v1::DaemonMessage message;
  while (stream_->call->Read(&message)) {
    switch (message.message_case()) {
      case v1::DaemonMessage::kWelcome: {
        calls = std::make_shared<DaemonCalls>(address_, message.welcome().worker_id());
        const absl::Duration interval =
            absl::Milliseconds(message.welcome().heartbeat_interval_ms());
        spdlog::info("working for {} as {}", address_, offer_.name);
        absl::MutexLock lock(&mu_);
        welcomed_ = absl::Now();
        heartbeat_interval_ = std::clamp(interval, kMinHeartbeat, kMaxSilence);
        wake_ = true;
        break;
      }
      case v1::DaemonMessage::kLease: {
        absl::StatusOr<WorkLease> lease = FromProto(message.lease());
        if (!lease.ok() || calls == nullptr) {
          spdlog::error("{} sent a lease that makes no sense; connecting anew", address_);
          return Break();
        }
        leases_.Grant(std::make_shared<HeldLease>(*std::move(lease), calls));
        break;
      }
      case v1::DaemonMessage::kRevoked:
        spdlog::info("lease {} was revoked: {}", message.revoked().token(),
                     message.revoked().reason());
        leases_.Revoke(message.revoked().token());
        Wake();
        break;
      case v1::DaemonMessage::kDrain:
        HandleDrain(message.drain().reason());
        break;
      case v1::DaemonMessage::MESSAGE_NOT_SET:
        break;  // From a newer daemon.
    }
  }
}

// The daemon ends, perhaps to be started again: only its own children end with it.
void WorkSession::HandleDrain(absl::string_view reason) {
  spdlog::info("the daemon takes leave of its workers: {}", std::string(reason));
  if (offer_.embedded) return Leave();
  absl::MutexLock lock(&mu_);
  drain_ = true;
  wake_ = true;
}

bool WorkSession::WriteHello() {
  v1::WorkerMessage message;
  v1::WorkerHello& hello = *message.mutable_hello();
  hello.set_name(offer_.name);
  for (const WorkOffer::Toolchain& toolchain : offer_.toolchains) {
    v1::Toolchain& offered = *hello.add_toolchains();
    offered.set_name(toolchain.name);
    offered.set_version(toolchain.version);
  }
  hello.set_slots(offer_.slots);
  hello.set_memory_bytes(offer_.memory_bytes);
  hello.set_embedded(offer_.embedded);
  return stream_->call->Write(message);
}

bool WorkSession::WriteHeartbeat() {
  v1::WorkerMessage message;
  v1::WorkerHeartbeat& heartbeat = *message.mutable_heartbeat();
  for (const LeaseTable::Progress& progress : leases_.ReadProgress()) {
    v1::CompileProgress& compile = *heartbeat.add_compiles();
    compile.set_token(progress.token);
    compile.set_memory_bytes(progress.child.peak_memory_bytes);
    compile.set_last_log_line(
        std::string(Utf8Head(ToUtf8(progress.child.last_log_line), kLogLineLimit)));
  }
  return stream_->call->Write(message);
}

void WorkSession::WriteMessages() {
  if (!WriteHello()) return;
  const absl::Time welcome_by = absl::Now() + kWelcomeLimit;
  absl::Time next_heartbeat = absl::InfiniteFuture();
  bool closing = false;
  for (;;) {
    bool close, welcomed;
    {
      absl::MutexLock lock(&mu_);
      welcomed = welcomed_ != absl::InfiniteFuture();
      absl::Time until = welcomed ? next_heartbeat : welcome_by;
      if (welcomed && !closing) until = std::min(until, leases_.IdleSince(welcomed_) + idle_exit_);
      mu_.AwaitWithDeadline(absl::Condition(&wake_), until);
      wake_ = false;
      if (ended_) return;
      welcomed = welcomed_ != absl::InfiniteFuture();
      if (welcomed && next_heartbeat == absl::InfiniteFuture()) {
        next_heartbeat = welcomed_ + heartbeat_interval_;
      }
      if (welcomed && absl::Now() >= leases_.IdleSince(welcomed_) + idle_exit_) leave_ = true;
      close = leave_ || drain_;
    }
    if (!welcomed && absl::Now() >= welcome_by) {
      spdlog::warn("{} did not answer within {} s", address_, absl::ToInt64Seconds(kWelcomeLimit));
      return Break();
    }
    if (close && !closing) {
      closing = true;
      v1::WorkerMessage message;
      message.mutable_leaving();
      if (!stream_->call->Write(message)) return;
    }
    if (closing && leases_.empty()) return CloseAndAwaitEnd();
    if (absl::Now() >= next_heartbeat) {
      if (!WriteHeartbeat()) return;
      absl::MutexLock lock(&mu_);
      next_heartbeat = absl::Now() + heartbeat_interval_;
    }
  }
}

void WorkSession::CloseAndAwaitEnd() {
  stream_->call->WritesDone();
  {
    absl::MutexLock lock(&mu_);
    if (mu_.AwaitWithTimeout(absl::Condition(&ended_), kCloseLimit)) return;
  }
  Break();
}

}  // namespace neffcache
