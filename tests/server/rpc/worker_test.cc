#include "tests/server/rpc/server_fixture.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

using State = FakeDispatcher::State;

class WorkerTest : public ServerTest {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::WorkerMessage, v1::DaemonMessage>;

  static v1::WorkerMessage Hello() {
    v1::WorkerMessage message;
    v1::WorkerHello& hello = *message.mutable_hello();
    hello.set_name("node-1:42");
    *hello.add_toolchains() = ToMessage(Toolchain{"neuronx-cc", "2.27"});
    hello.set_slots(2);
    hello.set_memory_bytes(64 << 20);
    return message;
  }
  static Lease LeaseOf(LeaseToken token, absl::string_view graph) {
    Lease lease;
    lease.token = token;
    lease.material = MaterialOf(graph);
    lease.key = ComputeKey(lease.material);
    lease.graph.digest = Sha256Of(graph);
    lease.graph.size = graph.size();
    lease.graph.name = "jit_step";
    lease.time_limit = absl::Minutes(5);
    lease.memory_limit_bytes = 123;
    return lease;
  }
  void Open() {
    context_ = Call();
    stream_ = worker_->Work(context_.get());
  }
  v1::DaemonMessage Next() {
    v1::DaemonMessage message;
    if (!stream_->Read(&message)) message.Clear();
    return message;
  }
  WorkerId Connect() {
    Open();
    EXPECT_TRUE(stream_->Write(Hello()));
    const v1::DaemonMessage welcome = Next();
    EXPECT_TRUE(welcome.has_welcome());
    return welcome.welcome().worker_id();
  }
  WorkerLink* Link(WorkerId id) {
    return dispatcher_.Get([=](const State& state) { return state.workers.at(id).link; });
  }
  bool Gone(WorkerId id) {
    return dispatcher_.Await(
        [=](const State& state) { return state.workers.at(id).link == nullptr; });
  }

  // --- Finish

  static v1::FinishRequest Start(LeaseToken token) {
    v1::FinishRequest request;
    request.mutable_start()->set_worker_id(1);
    request.mutable_start()->set_token(token);
    request.mutable_start()->set_compile_time_ms(1234);
    return request;
  }
  static v1::FinishRequest Success(LeaseToken token, absl::string_view artifact) {
    v1::FinishRequest request = Start(token);
    *request.mutable_start()->mutable_artifact() =
        ToMessage(Artifact{Sha256Of(artifact), artifact.size()});
    return request;
  }
  static v1::FinishRequest ArtifactPiece(absl::string_view data) {
    v1::FinishRequest request;
    request.set_artifact(std::string(data));
    return request;
  }
  static v1::FinishRequest LogPiece(absl::string_view data) {
    v1::FinishRequest request;
    request.set_log(std::string(data));
    return request;
  }
  grpc::Status Finish(const std::vector<v1::FinishRequest>& requests) {
    auto context = Call();
    auto writer = worker_->Finish(context.get(), &finished_);
    for (const v1::FinishRequest& request : requests) {
      if (!writer->Write(request)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }
  void Grant(const Lease& lease) {
    dispatcher_.Set([&](State& state) { state.leases[lease.token] = lease; });
  }

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<Stream> stream_;
  v1::FinishResponse finished_;
};

TEST_F(WorkerTest, AWorkerIsWelcomedBeforeItsFirstLease) {
  dispatcher_.on_worker = [](WorkerLink& link) { link.Grant(LeaseOf(7, "graph")); };
  Open();
  ASSERT_TRUE(stream_->Write(Hello()));
  const v1::DaemonMessage first = Next();
  EXPECT_EQ(first.welcome().worker_id(), 1u);
  EXPECT_EQ(first.welcome().heartbeat_interval_ms(), 5000);
  const v1::DaemonMessage second = Next();
  EXPECT_EQ(second.lease().token(), 7u);
  EXPECT_EQ(second.lease().key(), KeyOf(MaterialOf("graph")));
  EXPECT_EQ(second.lease().toolchain().name(), "neuronx-cc");
  EXPECT_EQ(second.lease().options(0), "--target=trn1");
  EXPECT_EQ(second.lease().graph_digest(), Sha256Of("graph").bytes());
  EXPECT_EQ(second.lease().time_limit_ms(), 300'000);
  EXPECT_EQ(second.lease().memory_limit_bytes(), 123u);
  EXPECT_GT(second.lease().output_limit_bytes(), 0u);

  const WorkerOffer offer =
      dispatcher_.Get([](const State& state) { return state.workers.at(1).offer; });
  EXPECT_EQ(offer.name, "node-1:42");
  EXPECT_EQ(offer.slots, 2u);
  EXPECT_EQ(offer.toolchains.at(0), (Toolchain{"neuronx-cc", "2.27"}));
}

TEST_F(WorkerTest, TheDispatchersMessagesArriveInOrder) {
  const WorkerId id = Connect();
  WorkerLink* link = Link(id);
  for (LeaseToken token = 1; token <= 50; ++token) link->Grant(LeaseOf(token, "graph"));
  link->Revoke(3, "its graph is gone");
  link->Drain("the daemon stops");
  for (LeaseToken token = 1; token <= 50; ++token) EXPECT_EQ(Next().lease().token(), token);
  const v1::DaemonMessage revoked = Next();
  EXPECT_EQ(revoked.revoked().token(), 3u);
  EXPECT_EQ(revoked.revoked().reason(), "its graph is gone");
  EXPECT_EQ(Next().drain().reason(), "the daemon stops");
}

TEST_F(WorkerTest, HeartbeatsAndGoodbyesReachTheDispatcher) {
  const WorkerId id = Connect();
  v1::WorkerMessage heartbeat;
  v1::CompileProgress& progress = *heartbeat.mutable_heartbeat()->add_compiles();
  progress.set_token(7);
  progress.set_memory_bytes(99);
  progress.set_last_log_line("tiling");
  ASSERT_TRUE(stream_->Write(heartbeat));
  ASSERT_TRUE(dispatcher_.Await([=](const State& s) { return s.workers.at(id).heartbeats == 1; }));
  const LeaseProgress got =
      dispatcher_.Get([=](const State& state) { return state.workers.at(id).progress.at(0); });
  EXPECT_EQ(got.token, 7u);
  EXPECT_EQ(got.memory_bytes, 99u);
  EXPECT_EQ(got.last_log_line, "tiling");

  v1::WorkerMessage leaving;
  leaving.mutable_leaving();
  ASSERT_TRUE(stream_->Write(leaving));
  EXPECT_TRUE(dispatcher_.Await([=](const State& s) { return s.workers.at(id).leaving; }));
  stream_->WritesDone();
  EXPECT_TRUE(stream_->Finish().ok());
  EXPECT_TRUE(Gone(id));
}

TEST_F(WorkerTest, AWorkerWhoseStreamBreaksIsRemoved) {
  const WorkerId id = Connect();
  context_->TryCancel();
  EXPECT_EQ(stream_->Finish().error_code(), grpc::CANCELLED);
  EXPECT_TRUE(Gone(id));
}

TEST_F(WorkerTest, AWorkerIsRemovedBeforeTheServerIsGone) {
  const WorkerId id = Connect();
  server_->Shutdown(absl::Now());
  EXPECT_EQ(Link(id), nullptr);
}

TEST_F(WorkerTest, WhatIsNoProperHelloIsRefused) {
  const auto refused = [&](const std::vector<v1::WorkerMessage>& messages, const char* why) {
    Open();
    for (const v1::WorkerMessage& message : messages) stream_->Write(message);
    v1::DaemonMessage ignored;
    while (stream_->Read(&ignored)) {
    }
    EXPECT_THAT(stream_->Finish(), FailsWith(grpc::INVALID_ARGUMENT, why));
  };
  v1::WorkerMessage heartbeat;
  heartbeat.mutable_heartbeat();
  refused({heartbeat}, "hello: must be the first message");
  refused({Hello(), Hello()}, "hello: sent twice");
  refused({Hello(), v1::WorkerMessage()}, "message: not set");
  v1::WorkerMessage bad = Hello();
  bad.mutable_hello()->clear_toolchains();
  refused({bad}, "hello.toolchains: 0");
  bad = Hello();
  bad.mutable_hello()->set_slots(0);
  refused({bad}, "hello.slots: 0");
  bad = Hello();
  bad.mutable_hello()->clear_name();
  refused({bad}, "hello.name: empty");
  heartbeat.mutable_heartbeat()->add_compiles()->set_last_log_line(std::string(4097, 'l'));
  refused({Hello(), heartbeat}, "last_log_line: 4097 bytes");
}

TEST_F(WorkerTest, TheGraphOfALeaseStreamsAsItIsKept) {
  const std::string graph = Noise(3 * kPieceSize);
  QueuedCompile queued;
  queued.material = MaterialOf(graph);
  queued.key = ComputeKey(queued.material);
  queued.graph.digest = Sha256Of(graph);
  queued.graph.size = graph.size();
  ASSERT_EQ(store_->Enqueue(queued, Stage(ContentKind::kGraph, graph)), absl::OkStatus());
  Grant(LeaseOf(7, graph));

  const auto fetch = [&](LeaseToken token, std::string& data) {
    v1::FetchGraphRequest request;
    request.set_worker_id(1);
    request.set_token(token);
    auto context = Call();
    auto reader = worker_->FetchGraph(context.get(), request);
    v1::FetchGraphResponse piece;
    while (reader->Read(&piece)) data += piece.data();
    return reader->Finish();
  };
  std::string data;
  ASSERT_TRUE(fetch(7, data).ok());
  EXPECT_TRUE(ZstdDecompress(data, 1 << 30).value() == graph);
  EXPECT_THAT(fetch(8, data), FailsWith(grpc::NOT_FOUND, "no such lease"));
}

TEST_F(WorkerTest, ASuccessIsStagedWithItsLogAndHandedOver) {
  Grant(LeaseOf(7, "graph"));
  const std::string artifact = Noise(kPieceSize + 1);
  const std::string log = "compiled\n";
  ASSERT_TRUE(Finish({Success(7, artifact), ArtifactPiece(artifact.substr(0, kPieceSize)),
                      ArtifactPiece(artifact.substr(kPieceSize)), LogPiece(ZstdCompress(log))})
                  .ok());
  EXPECT_TRUE(finished_.committed());
  const auto done = dispatcher_.Get([](const State& state) { return state.finished.at(0); });
  EXPECT_EQ(done.worker, 1u);
  EXPECT_EQ(done.token, 7u);
  EXPECT_EQ(done.artifact->digest, Sha256Of(artifact));
  EXPECT_EQ(done.log, Sha256Of(log));
  EXPECT_EQ(done.compile_time, absl::Milliseconds(1234));
}

TEST_F(WorkerTest, AFailureIsHandedOverWithItsLog) {
  Grant(LeaseOf(7, "graph"));
  v1::FinishRequest start = Start(7);
  v1::Failure& failure = *start.mutable_start()->mutable_failure();
  failure.set_failure_class(v1::FAILURE_CLASS_MEMORY);
  failure.set_message("killed for memory");
  failure.set_signal(9);
  failure.set_exit_code(-1);
  ASSERT_TRUE(Finish({start, LogPiece(ZstdCompress("the log"))}).ok());
  const auto done = dispatcher_.Get([](const State& state) { return state.finished.at(0); });
  EXPECT_FALSE(done.artifact.has_value());
  EXPECT_EQ(done.failure->failure_class, FailureClass::kMemory);
  EXPECT_EQ(done.failure->signal, 9);
  EXPECT_EQ(done.log, Sha256Of("the log"));
}

TEST_F(WorkerTest, ALateResultIsRefusedBeforeItIsUploaded) {
  EXPECT_THAT(Finish({Success(7, "artifact"), ArtifactPiece("artifact")}),
              FailsWith(grpc::FAILED_PRECONDITION, "the lease is void"));
  EXPECT_TRUE(dispatcher_.Get([](const State& state) { return state.finished.empty(); }));
}

TEST_F(WorkerTest, AResultThatComesLateWhileItIsUploadedIsRefusedToo) {
  Grant(LeaseOf(7, "graph"));
  dispatcher_.finish_answer = absl::FailedPreconditionError("the lease is void");
  EXPECT_THAT(Finish({Success(7, "artifact"), ArtifactPiece("artifact")}),
              FailsWith(grpc::FAILED_PRECONDITION, "the lease is void"));
}

TEST_F(WorkerTest, AnEarlierResultThatStaysIsNoError) {
  Grant(LeaseOf(7, "graph"));
  dispatcher_.finish_answer = false;
  ASSERT_TRUE(Finish({Success(7, "artifact"), ArtifactPiece("artifact")}).ok());
  EXPECT_FALSE(finished_.committed());
}

TEST_F(WorkerTest, AResultThatIsNotAsAnnouncedIsRefused) {
  Grant(LeaseOf(7, "graph"));
  const auto refused = [&](const std::vector<v1::FinishRequest>& requests, const char* why) {
    EXPECT_THAT(Finish(requests), FailsWith(grpc::INVALID_ARGUMENT, why));
    EXPECT_TRUE(dispatcher_.Get([](const State& state) { return state.finished.empty(); }));
  };
  refused({Success(7, "artifact"), ArtifactPiece("Artifact")}, "start.artifact.digest");
  refused({Success(7, "artifact"), ArtifactPiece("art")}, "3 bytes came, 8 were announced");
  refused({Success(7, "artifact")}, "0 bytes came, 8 were announced");
  refused({Success(7, "artifact"), ArtifactPiece("artifact"), LogPiece("not zstd")}, "log");
  refused({Success(7, "artifact"), LogPiece(ZstdCompress("l")), ArtifactPiece("artifact")},
          "artifact: sent after the log");
  refused({ArtifactPiece("x")}, "artifact: sent without a start");
  refused({LogPiece("x")}, "log: sent before start");
  refused({Start(7)}, "start.result: not set");
  refused({}, "start: the stream ended without it");
  v1::FinishRequest failure = Start(7);
  failure.mutable_start()->mutable_failure();
  refused({failure}, "start.failure.failure_class: unknown");
  failure.mutable_start()->mutable_failure()->set_failure_class(v1::FAILURE_CLASS_UNCLEAR);
  refused({failure, ArtifactPiece("x")}, "artifact: sent without a start that announces one");
}

}  // namespace
}  // namespace neffcache
