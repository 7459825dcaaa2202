#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/reconnect_window.h"
#include "client/stall_watchdog.h"
#include "neffcache/client.h"
#include "transport/channel.h"

namespace neffcache {

// Whether the caller has just spoken with this daemon. One that never answered is not waited for:
// compiling here is faster than waiting for a daemon that is not there.
enum class Acquaintance { kNone, kDaemonWasThere };

// A daemon as every call of the client sees it: its connections, the deadlines, and errors that
// say what was asked of whom.
//
// Thread-safe.
class Daemon {
 public:
  // Does not connect. INVALID_ARGUMENT: the address is malformed. `connection` says whether other
  // objects of this process share the TCP connection of the short calls.
  static absl::StatusOr<std::unique_ptr<Daemon>> Create(
      ClientOptions options, Connection connection = Connection::kShared);

  const ClientOptions& options() const { return options_; }
  StallWatchdog& watchdog() { return watchdog_; }

  // The connection for short calls, connected, or tried: a daemon that refuses fails the call that
  // follows with the reason. UNAVAILABLE: no answer within the connect time-out. DEADLINE_EXCEEDED:
  // none until `deadline`, the call's own. CANCELLED: the calls were broken off.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(
      absl::Time deadline = absl::InfiniteFuture());

  // A connection for one download or upload at a time, so that streams do not share a window;
  // it goes back to this object for the next when released.
  class BulkConnection {
   public:
    explicit BulkConnection(Daemon& daemon);
    ~BulkConnection();
    BulkConnection(const BulkConnection&) = delete;
    BulkConnection& operator=(const BulkConnection&) = delete;

    // As Daemon::Connect().
    absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect();

   private:
    Daemon& daemon_;
    std::shared_ptr<grpc::Channel> channel_;
  };

  // For a wait that outlives the daemon's restarts.
  ReconnectWindow NewReconnectWindow() const;

  // The context of a new call. It ends by itself after `limit`; streams have none and are watched.
  std::shared_ptr<grpc::ClientContext> NewCall(absl::Duration limit) const;
  // Of a call that is answered at once.
  std::shared_ptr<grpc::ClientContext> NewShortCall() const {
    return NewCall(options_.call_timeout);
  }

  // The error of a call, e.g. "looking up 3 keys at 127.0.0.1:7433: no answer within 10s". OK stays
  // OK. Errors made here are FromDaemon().
  absl::Status Error(const grpc::Status& status, absl::string_view doing) const;
  absl::Status Error(absl::Status status, absl::string_view doing) const;
  // Of a watched stream: DEADLINE_EXCEEDED where the watchdog ended it.
  absl::Status Error(const grpc::Status& status, absl::string_view doing,
                     const StallWatchdog::Watch& watch) const;

 private:
  Daemon(ClientOptions options, Connection connection);

  absl::Status AwaitConnected(grpc::Channel& channel, absl::Time deadline) const;

  const ClientOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<grpc::Channel>> idle_bulk_channels_ ABSL_GUARDED_BY(mutex_);
  StallWatchdog watchdog_;
};

// True for an error that a daemon, or the lack of one, gave: only then does UNAVAILABLE mean that
// the daemon cannot be reached and PERMISSION_DENIED that it refused.
bool FromDaemon(const absl::Status& status);

}  // namespace neffcache
