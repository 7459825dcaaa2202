#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/compile_call.h"
#include "client/daemon.h"
#include "tests/client/scratch_directory.h"

namespace neffcache {
namespace {

// A port that takes connections and never says a word: no connection is made, and none is refused.
class SilentPort {
 public:
  SilentPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_, generic, size), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
    EXPECT_EQ(getsockname(socket_, generic, &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~SilentPort() { close(socket_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  const std::string& address() const { return address_; }

 private:
  const int socket_;
  std::string address_;
};

class ConnectTest : public ::testing::Test {
 protected:
  ConnectTest() {
    ClientOptions options;
    options.daemon = port_.address();
    options.connect_timeout = absl::Hours(1);
    daemon_ = *Daemon::Create(options, Connection::kOwn);
  }

  SilentPort port_;
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(ConnectTest, ItEndsAtTheCallsOwnDeadline) {
  EXPECT_EQ(daemon_->Connect(absl::Now() + absl::Milliseconds(100)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ConnectTest, ItEndsWhenTheCallsAreBrokenOff) {
  std::jthread breaker([this] { daemon_->watchdog().BreakOff(); });
  EXPECT_EQ(daemon_->Connect().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ConnectTest, ACompileThatCannotConnectEndsAtItsTimeout) {
  const ScratchDirectory scratch;
  CompileSpec spec;
  spec.graph_path = scratch.Write("graph.bytes", "the graph");
  spec.toolchain_name = "test-compiler";
  spec.toolchain_version = "1.0";
  WaitOptions wait;
  wait.timeout = absl::Milliseconds(100);
  EXPECT_EQ(CompileThrough(*daemon_, *IdentifySpec(spec), wait, Acquaintance::kDaemonWasThere)
                .status()
                .code(),
            absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace neffcache
