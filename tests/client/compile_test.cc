#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "io/digest.h"
#include "io/zstd.h"
#include "tests/client/client_fixture.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::CompileEvent QueuedAt(uint32_t position) {
  v1::CompileEvent event;
  event.mutable_queued()->set_position(position);
  event.mutable_queued()->set_reason("no worker offers it");
  return event;
}

v1::CompileEvent RunningFor(int64_t seconds) {
  v1::CompileEvent event;
  event.mutable_running()->set_elapsed_ms(seconds * 1000);
  event.mutable_running()->set_worker("worker-1");
  event.mutable_running()->set_last_log_line("pass 3");
  return event;
}

class CompileTest : public ClientTest {
 protected:
  CompileTest() {
    wait_.on_progress = [this](const CompileProgress& progress) { seen_.push_back(progress); };
  }

  v1::CompileEvent ReadyWith(const std::string& artifact, bool compiled) {
    v1::CompileEvent event;
    *event.mutable_ready()->mutable_entry() = ReadyEntry(KeyBytes(), artifact);
    event.mutable_ready()->set_inline_artifact(artifact);
    event.mutable_ready()->set_compiled(compiled);
    return event;
  }
  // Answers the start with these events and ends the stream.
  void Answer(std::vector<v1::CompileEvent> events, grpc::Status end = grpc::Status::OK) {
    daemon_.compile = [this, events, end](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
      v1::CompileRequest request;
      if (!stream->Read(&request)) return grpc::Status::CANCELLED;
      start_ = request.start();
      for (const v1::CompileEvent& event : events) stream->Write(event);
      return end;
    };
  }

  WaitOptions wait_;
  std::vector<CompileProgress> seen_;
  v1::CompileStart start_;
};

TEST_F(CompileTest, AHitComesWithVerifiedBytes) {
  Answer({ReadyWith("artifact", false)});
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->artifact->digest, Sha256Of("artifact").Hex());
  EXPECT_EQ(outcome->inline_artifact, std::string("artifact"));
  EXPECT_FALSE(outcome->compiled);
  EXPECT_FALSE(outcome->failure.has_value());
  EXPECT_EQ(outcome->key, Identified().key.Hex());
}

TEST_F(CompileTest, TheStartSaysAllThatTheKeyCovers) {
  Answer({ReadyWith("artifact", false)});
  wait_.purpose = CompilePurpose::kTrainer;
  wait_.retry_failed = true;
  wait_.refuse_unknown_toolchain = true;
  ASSERT_TRUE(client_->GetOrCompile(spec_, wait_).ok());
  const IdentifiedSpec identified = Identified();
  EXPECT_EQ(start_.material().fingerprint().tag(), identified.material.fingerprint.tag);
  EXPECT_EQ(start_.material().fingerprint().digest(),
            std::string(identified.material.fingerprint.digest.bytes()));
  EXPECT_THAT(start_.material().options(), ElementsAre("--optlevel=1"));
  EXPECT_EQ(start_.material().toolchain().name(), "test-compiler");
  EXPECT_EQ(start_.material().toolchain().version(), "1.0");
  EXPECT_EQ(start_.bundle(), "bundle");
  EXPECT_EQ(start_.client(), "test");
  EXPECT_EQ(start_.purpose(), v1::PURPOSE_TRAINER);
  EXPECT_TRUE(start_.retry_failed());
  EXPECT_TRUE(start_.refuse_unknown_toolchain());
  EXPECT_GT(start_.inline_limit(), 0);
}

TEST_F(CompileTest, DamagedInlineBytesAreDroppedAndTheNameStays) {
  v1::CompileEvent ready = ReadyWith("artifact", false);
  ready.mutable_ready()->set_inline_artifact("artifacT");
  Answer({ready});
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_FALSE(outcome->inline_artifact.has_value());
  EXPECT_EQ(outcome->artifact->digest, Sha256Of("artifact").Hex());
}

TEST_F(CompileTest, AnAnswerForAnotherKeyIsAnError) {
  v1::CompileEvent ready = ReadyWith("artifact", false);
  ready.mutable_ready()->mutable_entry()->set_key(std::string(32, 'x'));
  Answer({ready});
  EXPECT_EQ(client_->GetOrCompile(spec_, wait_).status().code(), absl::StatusCode::kInternal);
}

TEST_F(CompileTest, ProgressComesInTheDaemonsOrder) {
  Answer({QueuedAt(2), QueuedAt(1), RunningFor(3), ReadyWith("artifact", true)});
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->compiled);
  EXPECT_EQ(outcome->compile_time, absl::Milliseconds(12'300));
  ASSERT_EQ(seen_.size(), 3u);
  EXPECT_EQ(seen_[0].phase, CompileProgress::Phase::kQueued);
  EXPECT_EQ(seen_[0].position, 2u);
  EXPECT_EQ(seen_[0].detail, "no worker offers it");
  EXPECT_EQ(seen_[1].position, 1u);
  EXPECT_EQ(seen_[2].phase, CompileProgress::Phase::kRunning);
  EXPECT_EQ(seen_[2].elapsed, absl::Seconds(3));
  EXPECT_EQ(seen_[2].worker, "worker-1");
  EXPECT_EQ(seen_[2].detail, "pass 3");
}

TEST_F(CompileTest, AFailedCompileIsAnOutcome) {
  v1::CompileEvent failed;
  failed.mutable_failed()->set_failure_class(v1::FAILURE_CLASS_DETERMINISTIC);
  failed.mutable_failed()->set_message("NCC_EVRF001: unsupported");
  failed.mutable_failed()->set_exit_code(70);
  failed.mutable_failed()->set_log_tail("the end of the log");
  failed.mutable_failed()->set_attempts(1);
  failed.mutable_failed()->set_remembered_until_ms(1);
  Answer({RunningFor(1), failed});
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_TRUE(outcome->failure.has_value());
  EXPECT_FALSE(outcome->artifact.has_value());
  EXPECT_EQ(outcome->failure->failure_class, "deterministic");
  EXPECT_EQ(outcome->failure->exit_code, 70);
  EXPECT_EQ(outcome->failure->log_tail, "the end of the log");
  EXPECT_TRUE(outcome->failure->remembered);
}

TEST_F(CompileTest, TheGraphArrivesWholeInPiecesWhenAskedFor) {
  const std::string graph = PatternBytes(5'000'000);  // Does not compress.
  spec_.graph_path = scratch_.Write("large.pb", graph);
  std::string compressed;
  size_t largest = 0;
  v1::GraphEnd end;
  daemon_.compile = [&](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
    v1::CompileRequest request;
    stream->Read(&request);
    v1::CompileEvent need;
    need.mutable_need_graph();
    stream->Write(need);
    while (stream->Read(&request) && request.has_graph()) {
      compressed += request.graph().data();
      largest = std::max(largest, request.graph().data().size());
    }
    end = request.graph_end();
    stream->Write(QueuedAt(0));
    stream->Write(ReadyWith("artifact", true));
    return grpc::Status::OK;
  };
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_LE(largest, size_t{1} << 20);
  const absl::StatusOr<std::string> received = ZstdDecompress(compressed, 10'000'000);
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ(*received, graph);
  EXPECT_EQ(end.size(), graph.size());
  EXPECT_EQ(end.digest(), std::string(Sha256Of(graph).bytes()));
  ASSERT_FALSE(seen_.empty());
  EXPECT_EQ(seen_.front().phase, CompileProgress::Phase::kUploading);
}

TEST_F(CompileTest, ADaemonThatRefusesTheGraphMidwaySaysWhy) {
  spec_.graph_path = scratch_.Write("large.pb", PatternBytes(20'000'000));
  daemon_.compile = [](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
    v1::CompileRequest request;
    stream->Read(&request);
    v1::CompileEvent need;
    need.mutable_need_graph();
    stream->Write(need);
    stream->Read(&request);
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the disk is full");
  };
  const absl::Status status = client_->GetOrCompile(spec_, wait_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the disk is full"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("large.pb"));
}

TEST_F(CompileTest, AskingForTheGraphTwiceIsAnError) {
  v1::CompileEvent need;
  need.mutable_need_graph();
  Answer({need, need});
  EXPECT_EQ(client_->GetOrCompile(spec_, wait_).status().code(), absl::StatusCode::kInternal);
}

TEST_F(CompileTest, UntilQueuedReturnsWithNeitherOutcome) {
  Answer({QueuedAt(3)});
  wait_.until_queued = true;
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(start_.wait(), v1::WAIT_UNTIL_QUEUED);
  EXPECT_FALSE(outcome->artifact.has_value());
  EXPECT_FALSE(outcome->failure.has_value());
}

TEST_F(CompileTest, UntilQueuedStaysForTheGraphThatAnotherClientOwed) {
  std::string compressed;
  daemon_.compile = [&](grpc::ServerContext*, FakeDaemon::CompileStream* stream) {
    v1::CompileRequest request;
    stream->Read(&request);
    stream->Write(QueuedAt(0));  // The other client is to send it,
    v1::CompileEvent need;
    need.mutable_need_graph();
    stream->Write(need);  // and has gone.
    while (stream->Read(&request) && request.has_graph()) compressed += request.graph().data();
    stream->Write(QueuedAt(0));
    return grpc::Status::OK;
  };
  wait_.until_queued = true;
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  daemon_.Stop();  // Its function has then returned.
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->key, Identified().key.Hex());
  const absl::StatusOr<std::string> received = ZstdDecompress(compressed, 1000);
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ(*received, "the graph");
}

TEST_F(CompileTest, QueuedIsNotKeptBeforeTheDaemonSaysSo) {
  Answer({QueuedAt(0)}, grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"));
  wait_.until_queued = true;
  EXPECT_EQ(client_->GetOrCompile(spec_, wait_).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CompileTest, ASilentDaemonIsGivenUp) {
  options_.stall_timeout = absl::Milliseconds(50);
  Connect();
  daemon_.compile = [](grpc::ServerContext* context, FakeDaemon::CompileStream* stream) {
    stream->Write(QueuedAt(0));
    return HangUntilCancelled(context);
  };
  const absl::Status status = client_->GetOrCompile(spec_, wait_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nothing arrived for 50ms"));
}

TEST_F(CompileTest, ACallerThatTakesItsTimeIsNotTheDaemonsSilence) {
  options_.stall_timeout = absl::Milliseconds(100);
  Connect();
  Answer({QueuedAt(1), ReadyWith("artifact", true)});
  absl::Notification never;
  wait_.on_progress = [&](const CompileProgress&) {
    never.WaitForNotificationWithTimeout(absl::Milliseconds(250));
  };
  const absl::StatusOr<CompileOutcome> outcome = client_->GetOrCompile(spec_, wait_);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
}

TEST_F(CompileTest, TheWaitEndsAtItsTimeout) {
  daemon_.compile = [](grpc::ServerContext* context, FakeDaemon::CompileStream* stream) {
    while (!context->IsCancelled()) stream->Write(QueuedAt(0));
    return grpc::Status::OK;
  };
  wait_.timeout = absl::Milliseconds(100);
  wait_.on_progress = nullptr;
  const absl::Status status = client_->GetOrCompile(spec_, wait_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not done within 100ms"));
}

TEST_F(CompileTest, ADaemonGoneInMidStreamIsUnavailable) {
  std::atomic<bool> waiting = false;
  daemon_.compile = [&](grpc::ServerContext* context, FakeDaemon::CompileStream* stream) {
    stream->Write(QueuedAt(0));
    waiting = true;
    return HangUntilCancelled(context);
  };
  std::jthread stop([&] {
    while (!waiting) std::this_thread::yield();
    daemon_.Stop();
  });
  const absl::Status status = client_->GetOrCompile(spec_, wait_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

TEST_F(CompileTest, AStreamWithoutAnAnswerIsUnavailable) {
  Answer({QueuedAt(0)});
  EXPECT_EQ(client_->GetOrCompile(spec_, wait_).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CompileTest, ADaemonThatTalksOnAfterItsAnswerIsCutOff) {
  daemon_.compile = [this](grpc::ServerContext* context, FakeDaemon::CompileStream* stream) {
    stream->Write(ReadyWith("artifact", false));
    while (!context->IsCancelled()) stream->Write(RunningFor(1));
    return grpc::Status::OK;
  };
  EXPECT_TRUE(client_->GetOrCompile(spec_, wait_).ok());
}

TEST_F(CompileTest, NoDaemonIsUnavailableAtOnceAndNamed) {
  daemon_.Stop();
  const absl::Status status = client_->GetOrCompile(spec_, wait_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("at " + daemon_.address() + ": the daemon cannot be reached"));
}

TEST_F(CompileTest, BadGraphsAreErrorsThatNameTheFile) {
  const struct {
    std::string path;
    absl::StatusCode code;
  } cases[] = {{scratch_.Path("absent.pb"), absl::StatusCode::kNotFound},
               {scratch_.Path(), absl::StatusCode::kInvalidArgument},
               {scratch_.Write("empty.pb", ""), absl::StatusCode::kInvalidArgument}};
  for (const auto& bad : cases) {
    spec_.graph_path = bad.path;
    const absl::Status status = Identify(spec_).status();
    EXPECT_EQ(status.code(), bad.code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.path));
    EXPECT_EQ(client_->GetOrCompile(spec_, wait_).status(), status);
  }
}

TEST_F(CompileTest, IdentifyAndTheWireAgreeOnTheKey) {
  const absl::StatusOr<CompileIdentity> identity = Identify(spec_);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->key, Identified().key.Hex());
  EXPECT_EQ(identity->options, std::vector<std::string>{"--optlevel=1"});
  spec_.toolchain_version = "1.1";
  EXPECT_NE(Identify(spec_)->key, identity->key);
  spec_.toolchain_version = "";
  EXPECT_EQ(Identify(spec_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace neffcache
