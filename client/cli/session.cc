#include "client/cli/session.h"

#include <utility>

namespace neffcache::cli {
namespace {

ClientOptions OptionsFor(const Session& session) {
  ClientOptions options;
  options.daemon = session.daemon_address;
  options.reconnect_timeout = session.reconnect_timeout;
  return options;
}

}  // namespace

absl::StatusOr<Daemon*> Session::daemon() {
  if (daemon_ == nullptr) {
    absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Create(OptionsFor(*this));
    if (!daemon.ok()) return UsageError(daemon.status().message());
    daemon_ = *std::move(daemon);
  }
  return daemon_.get();
}

absl::StatusOr<std::unique_ptr<Daemon>> Session::NewDaemon() const {
  return Daemon::Create(OptionsFor(*this), Connection::kOwn);
}

}  // namespace neffcache::cli
