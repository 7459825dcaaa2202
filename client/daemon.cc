#include "client/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "io/status_macros.h"
#include "transport/status.h"

namespace neffcache {
namespace {

constexpr char kOriginPayload[] = "neffcache/from-daemon";
// How late a connection that is being made heeds StallWatchdog::BreakOff().
constexpr absl::Duration kBreakOffPeriod = absl::Milliseconds(50);

// gRPC itself finds out late and says little: "DNS resolution failed".
absl::Status CheckAddress(const std::string& address) {
  if (absl::StartsWith(address, "unix:") && address.size() > 5) return absl::OkStatus();
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port == 0 || port > 65535 ||
      address.find_first_of(" \t\r\n,") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("the daemon's address \"", address,
                                                   "\" is not HOST:PORT, e.g. 127.0.0.1:7433"));
  }
  return absl::OkStatus();
}

std::string DefaultName() {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return absl::StrCat(host, ":", getpid());
}

absl::Status MarkOrigin(absl::Status status) {
  if (!status.ok()) status.SetPayload(kOriginPayload, absl::Cord());
  return status;
}

// The last clause of "failed to connect to all addresses; last error: UNKNOWN: ipv4:…: Connection
// refused".
absl::string_view LastClause(absl::string_view message) {
  const size_t at = message.rfind(": ");
  return at == absl::string_view::npos ? message : message.substr(at + 2);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Create(ClientOptions options,
                                                       Connection connection) {
  RETURN_IF_ERROR(CheckAddress(options.daemon));
  if (options.name.empty()) options.name = DefaultName();
  return std::unique_ptr<Daemon>(new Daemon(std::move(options), connection));
}

Daemon::Daemon(ClientOptions options, Connection connection)
    : options_(std::move(options)), channel_(OpenChannel(options_.daemon, connection)) {}

absl::Status Daemon::AwaitConnected(grpc::Channel& channel, absl::Time deadline) const {
  const std::string doing = absl::StrCat("connecting to the daemon at ", options_.daemon);
  const absl::Time give_up = absl::Now() + options_.connect_timeout;
  for (;;) {
    if (watchdog_.broken_off()) return absl::CancelledError(absl::StrCat(doing, ": interrupted"));
    const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY || state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
      return absl::OkStatus();
    }
    const absl::Time now = absl::Now();
    if (now >= deadline) {
      return MarkOrigin(
          absl::DeadlineExceededError(absl::StrCat(doing, ": no connection in time")));
    }
    if (now >= give_up) {
      return MarkOrigin(absl::UnavailableError(absl::StrCat(
          doing, ": no connection within ", absl::FormatDuration(options_.connect_timeout))));
    }
    // gRPC's wait cannot be woken.
    channel.WaitForStateChange(
        state, absl::ToChronoTime(std::min({deadline, give_up, now + kBreakOffPeriod})));
  }
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Daemon::Connect(absl::Time deadline) {
  RETURN_IF_ERROR(AwaitConnected(*channel_, deadline));
  return channel_;
}

Daemon::BulkConnection::BulkConnection(Daemon& daemon) : daemon_(daemon) {
  {
    absl::MutexLock lock(&daemon_.mutex_);
    if (!daemon_.idle_bulk_channels_.empty()) {
      channel_ = std::move(daemon_.idle_bulk_channels_.back());
      daemon_.idle_bulk_channels_.pop_back();
    }
  }
  if (channel_ == nullptr) channel_ = OpenChannel(daemon_.options_.daemon, Connection::kOwn);
}

Daemon::BulkConnection::~BulkConnection() {
  absl::MutexLock lock(&daemon_.mutex_);
  daemon_.idle_bulk_channels_.push_back(std::move(channel_));
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Daemon::BulkConnection::Connect() {
  RETURN_IF_ERROR(daemon_.AwaitConnected(*channel_, absl::InfiniteFuture()));
  return channel_;
}

ReconnectWindow Daemon::NewReconnectWindow() const {
  return ReconnectWindow(options_.reconnect_timeout,
                         static_cast<uint32_t>(std::hash<std::string>()(options_.name)));
}

std::shared_ptr<grpc::ClientContext> Daemon::NewCall(absl::Duration limit) const {
  auto context = std::make_shared<grpc::ClientContext>();
  if (limit != absl::InfiniteDuration()) {
    context->set_deadline(absl::ToChronoTime(absl::Now() + limit));
  }
  return context;
}

absl::Status Daemon::Error(const grpc::Status& status, absl::string_view doing) const {
  const std::string full = absl::StrCat(doing, " at ", options_.daemon);
  const std::string& message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
      absl::StartsWith(message, "failed to connect")) {
    return MarkOrigin(absl::UnavailableError(
        absl::StrCat(full, ": the daemon cannot be reached: ", LastClause(message))));
  }
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return MarkOrigin(absl::DeadlineExceededError(absl::StrCat(full, ": no answer in time")));
  }
  // Never ours: a call that we give up has its own error. A daemon that shuts down ends calls so.
  if (status.error_code() == grpc::StatusCode::CANCELLED) {
    return MarkOrigin(
        absl::UnavailableError(absl::StrCat(full, ": the daemon broke off the call")));
  }
  return MarkOrigin(FromGrpc(status, full));
}

absl::Status Daemon::Error(absl::Status status, absl::string_view doing) const {
  if (status.ok()) return status;
  return MarkOrigin(absl::Status(
      status.code(), absl::StrCat(doing, " at ", options_.daemon, ": ", status.message())));
}

absl::Status Daemon::Error(const grpc::Status& status, absl::string_view doing,
                           const StallWatchdog::Watch& watch) const {
  if (!status.ok() && watch.fired()) {
    return MarkOrigin(absl::DeadlineExceededError(
        absl::StrCat(doing, " at ", options_.daemon, ": nothing arrived for ",
                     absl::FormatDuration(watch.limit()))));
  }
  return Error(status, doing);
}

bool FromDaemon(const absl::Status& status) {
  return status.GetPayload(kOriginPayload).has_value();
}

}  // namespace neffcache
