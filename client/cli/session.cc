#include "client/cli/session.h"

#include <utility>

namespace neffcache::cli {
namespace {

ClientOptions OptionsFor(const std::string& address) {
  ClientOptions options;
  options.daemon = address;
  return options;
}

}  // namespace

absl::StatusOr<Daemon*> Session::daemon() {
  if (daemon_ == nullptr) {
    absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Create(OptionsFor(daemon_address));
    if (!daemon.ok()) return UsageError(daemon.status().message());
    daemon_ = *std::move(daemon);
  }
  return daemon_.get();
}

absl::StatusOr<std::unique_ptr<Daemon>> Session::NewDaemon() const {
  return Daemon::Create(OptionsFor(daemon_address), Connection::kOwn);
}

}  // namespace neffcache::cli
