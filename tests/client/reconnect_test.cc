#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "io/digest.h"
#include "tests/client/client_fixture.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;
using Phase = CompileProgress::Phase;

// A compile that is waited for while the daemon goes away and comes back.
class ReconnectTest : public ClientTest {
 protected:
  ReconnectTest() {
    options_.reconnect_timeout = absl::Seconds(30);
    Connect();
    // The first stream is queued and broken; what the later ones are answered is the test's.
    daemon_.compile = [this](grpc::ServerContext* context, FakeDaemon::CompileStream* stream) {
      v1::CompileRequest request;
      if (!stream->Read(&request)) return grpc::Status::CANCELLED;
      starts_.push_back(request.start());
      if (starts_.size() > 1) return again_(context, stream);
      return first_(context, stream);
    };
    wait_.on_progress = [this](const CompileProgress& progress) {
      seen_.push_back(progress);
      if (progress.phase == Phase::kQueued && on_queued_) std::exchange(on_queued_, nullptr)();
      if (progress.phase == Phase::kReconnecting && on_broken_) {
        std::exchange(on_broken_, nullptr)();
      }
    };
  }

  static grpc::Status Write(FakeDaemon::CompileStream* stream, const v1::CompileEvent& event) {
    stream->Write(event);
    return grpc::Status::OK;
  }
  static grpc::Status QueueAndHang(grpc::ServerContext* context,
                                   FakeDaemon::CompileStream* stream) {
    v1::CompileEvent queued;
    queued.mutable_queued();
    stream->Write(queued);
    return HangUntilCancelled(context);
  }
  v1::CompileEvent ReadyEvent() const {
    v1::CompileEvent event;
    *event.mutable_ready()->mutable_entry() = ReadyEntry(KeyBytes(), "artifact");
    event.mutable_ready()->set_inline_artifact("artifact");
    return event;
  }

  using Answer = std::function<grpc::Status(grpc::ServerContext*, FakeDaemon::CompileStream*)>;
  Answer first_ = QueueAndHang;
  Answer again_ = [this](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
    return Write(stream, ReadyEvent());
  };
  std::function<void()> on_queued_ = [this] { daemon_.Stop(); };
  std::function<void()> on_broken_ = [this] { daemon_.Restart(); };
  std::vector<v1::CompileStart> starts_;
  WaitOptions wait_;
  std::vector<CompileProgress> seen_;
};

TEST_F(ReconnectTest, AWaitOutlivesARestartOfTheDaemon) {
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->artifact->digest, Sha256Of("artifact").Hex());
  EXPECT_TRUE(outcome->compiled) << "it was waited for, though the second stream met it ready";
  ASSERT_GE(seen_.size(), 2u);
  EXPECT_EQ(seen_[0].phase, Phase::kQueued);
  EXPECT_EQ(seen_[1].phase, Phase::kReconnecting);
  EXPECT_EQ(seen_[1].expected, absl::Seconds(30));
  EXPECT_FALSE(seen_[1].detail.empty());
}

TEST_F(ReconnectTest, ADaemonThatDrainsIsWaitedForToo) {
  on_queued_ = on_broken_ = nullptr;
  first_ = [](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
    v1::CompileEvent queued;
    queued.mutable_queued();
    stream->Write(queued);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the daemon is stopping");
  };
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(starts_.size(), 2u);
}

TEST_F(ReconnectTest, TheGraphIsSentAgainWhenAskedFor) {
  std::atomic<int> uploads = 0;
  const auto take_graph = [&uploads](FakeDaemon::CompileStream* stream) {
    v1::CompileEvent need;
    need.mutable_need_graph();
    stream->Write(need);
    v1::CompileRequest request;
    while (stream->Read(&request) && request.has_graph()) {
    }
    if (request.has_graph_end()) ++uploads;
  };
  first_ = [&](grpc::ServerContext* context, FakeDaemon::CompileStream* stream) {
    take_graph(stream);
    return QueueAndHang(context, stream);
  };
  again_ = [&](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
    take_graph(stream);
    return Write(stream, ReadyEvent());
  };
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(uploads, 2);
}

TEST_F(ReconnectTest, AForgottenFailureIsForgottenOnce) {
  wait_.retry_failed = true;
  ASSERT_TRUE(client_->GetOrCompile(spec_, wait_).ok());
  ASSERT_EQ(starts_.size(), 2u);
  EXPECT_TRUE(starts_[0].retry_failed());
  EXPECT_FALSE(starts_[1].retry_failed()) << "it would compile again what failed meanwhile";
}

TEST_F(ReconnectTest, WorkersMayComeBackLaterThanTheDaemon) {
  wait_.refuse_unknown_toolchain = true;
  again_ = [this](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
    if (starts_.size() == 2) {
      return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no connected worker offers it");
    }
    return Write(stream, ReadyEvent());
  };
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(starts_.size(), 3u);
}

TEST_F(ReconnectTest, ARefusalOfTheFirstStreamStands) {
  on_queued_ = nullptr;
  wait_.refuse_unknown_toolchain = true;
  first_ = [](grpc::ServerContext*, FakeDaemon::CompileStream*) {
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no connected worker offers it");
  };
  EXPECT_EQ(client_->GetOrCompile(spec_, wait_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(starts_.size(), 1u);
}

TEST_F(ReconnectTest, ADaemonThatStaysAwayIsGivenUp) {
  options_.reconnect_timeout = absl::Milliseconds(300);
  Connect();
  on_broken_ = nullptr;
  const absl::Time begin = absl::Now();
  const absl::Status status = client_->GetOrCompile(spec_, wait_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(daemon_.address()));
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(300));
}

TEST_F(ReconnectTest, TheWholeWaitStillEndsAtItsTimeout) {
  on_broken_ = nullptr;
  wait_.timeout = absl::Milliseconds(500);
  const absl::Time begin = absl::Now();
  EXPECT_FALSE(client_->GetOrCompile(spec_, wait_).ok());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20)) << "and not after the 30 s of reconnecting";
}

TEST_F(ReconnectTest, ADaemonThatWasNeverThereIsNotWaitedFor) {
  daemon_.Stop();
  const absl::Status status = client_->GetOrCompile(spec_, wait_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(seen_.empty());
}

}  // namespace
}  // namespace neffcache
