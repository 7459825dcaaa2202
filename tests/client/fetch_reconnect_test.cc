#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "client/daemon.h"
#include "client/fetch_call.h"
#include "tests/client/client_fixture.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;

// A download whose daemon goes away and comes back.
class FetchReconnectTest : public ClientTest {
 protected:
  using Writer = grpc::ServerWriter<v1::FetchResponse>;

  FetchReconnectTest() {
    options_.reconnect_timeout = absl::Seconds(30);
    Connect();
    outcome_.artifact = NameOf(artifact_);
    daemon_.fetch = [this](grpc::ServerContext*, const v1::FetchRequest& request, Writer* writer) {
      return ++calls_ <= broken_ ? break_(request, writer)
                                 : Serve(request, writer, std::string::npos);
    };
  }

  grpc::Status Serve(const v1::FetchRequest& request, Writer* writer, size_t size) const {
    v1::FetchResponse response;
    response.set_data(artifact_.substr(request.offset(), size));
    writer->Write(response);
    return grpc::Status::OK;
  }
  static grpc::Status GoingDown() {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
  }

  const std::string artifact_ = PatternBytes(100'000);
  const std::string output_ = scratch_.Path("out.neff");
  CompileOutcome outcome_;
  std::atomic<int> calls_ = 0;
  int broken_ = 1;  // So many calls end as `break_` says; the rest is served.
  std::function<grpc::Status(const v1::FetchRequest&, Writer*)> break_ =
      [](const v1::FetchRequest&, Writer*) { return GoingDown(); };
};

TEST_F(FetchReconnectTest, ABreakBetweenTheOutcomeAndTheFirstPieceIsNotTheEnd) {
  const absl::Status status = client_->Save(outcome_, output_);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(output_), artifact_);
  EXPECT_EQ(calls_, 2);
}

TEST_F(FetchReconnectTest, AStoppedDaemonIsWaitedForBeforeTheFirstPiece) {
  broken_ = 0;
  daemon_.Stop();
  const std::unique_ptr<Daemon> daemon = *Daemon::Create(options_);
  bool restarted = false;
  const auto restart_after_the_first_try = [&] {
    if (!std::exchange(restarted, true)) daemon_.Restart();
    return false;
  };
  const absl::Status status =
      FetchVerified(*daemon, NameOf(artifact_), output_, NamedBy::kCaller,
                    restart_after_the_first_try, Acquaintance::kDaemonWasThere);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(output_), artifact_);
}

TEST_F(FetchReconnectTest, AStrangerIsNotWaitedFor) {
  EXPECT_EQ(client_->Fetch(NameOf(artifact_), output_).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(calls_, 1);
}

TEST_F(FetchReconnectTest, ADaemonThatIsAwayForLongIsTriedForTheReconnectTimeout) {
  broken_ = kFruitlessAttempts + 2;
  break_ = [this](const v1::FetchRequest& request, Writer* writer) {
    if (request.offset() == 0) Serve(request, writer, 1000);
    return GoingDown();
  };
  const absl::Status status = client_->Fetch(NameOf(artifact_), output_);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ContentOf(output_), artifact_);
}

TEST_F(FetchReconnectTest, WhatTheDaemonItselfFindsWrongIsNotWaitedFor) {
  broken_ = 1000;
  break_ = [](const v1::FetchRequest&, Writer*) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "reading: Input/output error");
  };
  EXPECT_EQ(client_->Save(outcome_, output_).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(calls_, kFruitlessAttempts);
}

TEST_F(FetchReconnectTest, AnInterruptEndsTheWaitForTheDaemon) {
  daemon_.Stop();
  const std::unique_ptr<Daemon> daemon = *Daemon::Create(options_);
  const absl::Status status = FetchVerified(
      *daemon, NameOf(artifact_), output_, NamedBy::kCaller, [] { return true; },
      Acquaintance::kDaemonWasThere);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_THAT(Files(), ElementsAre("graph.bytes"));
}

TEST_F(FetchReconnectTest, BrokenOffCallsEndTheWaitForTheDaemon) {
  daemon_.Stop();
  const std::unique_ptr<Daemon> daemon = *Daemon::Create(options_);
  std::jthread breaker([&daemon] { daemon->watchdog().BreakOff(); });
  const absl::Status status = FetchVerified(*daemon, NameOf(artifact_), output_, NamedBy::kCaller,
                                            NeverStop, Acquaintance::kDaemonWasThere);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
}

}  // namespace
}  // namespace neffcache
