#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/admin.h"
#include "client/cli/console.h"
#include "client/daemon.h"
#include "client/local_toolchain.h"
#include "neffcache/client.h"
#include "transport/channel.h"

namespace neffcache::cli {

// What every command of one run shares: the console, the global options, the compiler flags behind
// "--", and the daemon, which only commands that need it talk to. Used by one thread.
class Session {
 public:
  explicit Session(Console& console) : console_(console) {}

  Console& console() { return console_; }

  // Set by the command line before a command runs.
  std::string daemon_address = "127.0.0.1:7433";
  absl::Duration reconnect_timeout = ClientOptions().reconnect_timeout;
  std::vector<std::string> flags;
  LocalToolchainSearch local_search;

  // The daemon, not connected yet. A usage error: its address is malformed.
  absl::StatusOr<Daemon*> daemon();
  // A daemon object with a TCP connection of its own, for many streams at once.
  absl::StatusOr<std::unique_ptr<Daemon>> NewDaemon() const;

 private:
  Console& console_;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace neffcache::cli
