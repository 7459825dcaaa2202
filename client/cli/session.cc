#include "client/cli/session.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace neffcache::cli {
namespace {

ClientOptions OptionsFor(const std::string& address) {
  ClientOptions options;
  options.daemon = address;
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  options.name = absl::StrCat(host, ":", getpid());
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
