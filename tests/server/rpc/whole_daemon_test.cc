#include "absl/synchronization/notification.h"
#include "graph/fingerprint.h"
#include "tests/server/rpc/server_fixture.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

// The server over the real dispatcher and store: what the fake dispatcher takes for granted.
class WholeDaemonTest : public ServerTest {
 protected:
  using CompileStream = grpc::ClientReaderWriter<v1::CompileRequest, v1::CompileEvent>;
  using WorkStream = grpc::ClientReaderWriter<v1::WorkerMessage, v1::DaemonMessage>;

  void SetUp() override {
    ServerTest::SetUp();
    live_ = CompileDispatcher::Open(*store_, {}).value();
    ServeWith(*live_);
  }
  void TearDown() override {
    server_.reset();
    live_.reset();
    ServerTest::TearDown();
  }

  static KeyMaterial MaterialOf(const std::string& graph) {
    KeyMaterial material = ServerTest::MaterialOf(graph);
    material.fingerprint = IdentifyGraph(graph).value().fingerprint;
    return material;
  }

  // One client: sends the graph when asked, and keeps the last event.
  struct Client {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<CompileStream> stream;
    v1::CompileEvent event;

    bool Next() { return stream->Read(&event); }
    // Skips news until the result or the status.
    grpc::Status ToTheEnd() {
      v1::CompileEvent next;
      while (stream->Read(&next)) event = next;
      return stream->Finish();
    }
  };
  Client Ask(const std::string& graph) {
    Client client{Call(), nullptr, {}};
    client.stream = cache_->Compile(client.context.get());
    v1::CompileRequest request;
    *request.mutable_start()->mutable_material() = ToMessage(MaterialOf(graph));
    client.stream->Write(request);
    return client;
  }
  static void Upload(Client& client, const std::string& graph) {
    v1::CompileRequest request;
    request.mutable_graph()->set_data(ZstdCompress(graph));
    client.stream->Write(request);
    request.mutable_graph_end()->set_size(graph.size());
    request.mutable_graph_end()->set_digest(std::string(Sha256Of(graph).bytes()));
    client.stream->Write(request);
  }

  // Until this many clients wait for the graph's compile; false after 20 s.
  bool AwaitWaiters(const std::string& graph, uint32_t count) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (absl::Now() < deadline) {
      const absl::optional<CompileView> view = live_->FindCompile(ComputeKey(MaterialOf(graph)));
      if (view.has_value() && view->waiters == count) return true;
      std::this_thread::yield();
    }
    return false;
  }

  // Whoever asks first is asked for the graph.
  Client AskFirst(const std::string& graph) {
    Client client = Ask(graph);
    EXPECT_TRUE(client.Next());
    EXPECT_TRUE(client.event.has_need_graph());
    return client;
  }
  // A second client that waits for the same compile.
  Client AskToo(const std::string& graph) {
    Client client = Ask(graph);
    EXPECT_TRUE(AwaitWaiters(graph, 2));
    return client;
  }
  // The client is asked for the graph in place of another, and the compile queued with what it
  // sends.
  static void ExpectToBeAskedNext(Client& client, const std::string& graph) {
    while (client.Next() && !client.event.has_need_graph()) {
    }
    ASSERT_TRUE(client.event.has_need_graph());
    Upload(client, graph);
    ASSERT_TRUE(client.Next());
    EXPECT_TRUE(client.event.has_queued());
  }

  struct Worker {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<WorkStream> stream;
    uint64_t id = 0;
    v1::Lease lease;
  };
  Worker Connect(const std::string& name) {
    Worker worker{Call(), nullptr, 0, {}};
    worker.stream = worker_->Work(worker.context.get());
    v1::WorkerMessage message;
    v1::WorkerHello& hello = *message.mutable_hello();
    hello.set_name(name);
    *hello.add_toolchains() = ToMessage(MaterialOf("x").toolchain);
    hello.set_slots(1);
    hello.set_memory_bytes(uint64_t{64} << 30);
    worker.stream->Write(message);
    v1::DaemonMessage welcome;
    EXPECT_TRUE(worker.stream->Read(&welcome));
    worker.id = welcome.welcome().worker_id();
    return worker;
  }
  static bool TakeLease(Worker& worker) {
    v1::DaemonMessage message;
    if (!worker.stream->Read(&message) || !message.has_lease()) return false;
    worker.lease = message.lease();
    return true;
  }
  // A compile that runs: a client waits for it and a worker holds its lease.
  struct Running {
    Client client;
    Worker worker;
  };
  Running StartCompile(const std::string& graph, const std::string& worker) {
    Running running{Ask(graph), {}};
    EXPECT_TRUE(running.client.Next());
    Upload(running.client, graph);
    running.worker = Connect(worker);
    EXPECT_TRUE(TakeLease(running.worker));
    return running;
  }
  std::string GraphOf(const Worker& worker) {
    v1::FetchGraphRequest request;
    request.set_worker_id(worker.id);
    request.set_token(worker.lease.token());
    auto context = Call();
    auto reader = worker_->FetchGraph(context.get(), request);
    std::string data;
    v1::FetchGraphResponse piece;
    while (reader->Read(&piece)) data += piece.data();
    EXPECT_TRUE(reader->Finish().ok());
    return ZstdDecompress(data, 1 << 30).value();
  }
  grpc::Status Finish(const Worker& worker, const std::string& artifact, bool& committed) {
    v1::FinishResponse response;
    auto context = Call();
    auto writer = worker_->Finish(context.get(), &response);
    v1::FinishRequest request;
    v1::FinishStart& start = *request.mutable_start();
    start.set_worker_id(worker.id);
    start.set_token(worker.lease.token());
    *start.mutable_artifact() = ToMessage(Artifact{Sha256Of(artifact), artifact.size()});
    writer->Write(request);
    request.set_artifact(artifact);
    writer->Write(request);
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    committed = response.committed();
    return status;
  }

  grpc::Status Publish(const std::string& graph, const std::string& artifact) {
    v1::PublishResponse response;
    auto context = Call();
    auto writer = cache_->Publish(context.get(), &response);
    v1::PublishRequest request;
    *request.mutable_start()->mutable_material() = ToMessage(MaterialOf(graph));
    *request.mutable_start()->mutable_artifact() =
        ToMessage(Artifact{Sha256Of(artifact), artifact.size()});
    writer->Write(request);
    request.set_data(artifact);
    writer->Write(request);
    writer->WritesDone();
    return writer->Finish();
  }

  std::unique_ptr<CompileDispatcher> live_;
};

TEST_F(WholeDaemonTest, AGraphGoesInIsCompiledOnceAndEveryClientGetsIt) {
  const std::string graph = "a graph of no known form";
  Client first = AskFirst(graph);
  Client second = AskToo(graph);
  Upload(first, graph);
  ASSERT_TRUE(first.Next());
  EXPECT_TRUE(first.event.has_queued());

  Worker worker = Connect("w1");
  ASSERT_TRUE(TakeLease(worker));
  EXPECT_EQ(GraphOf(worker), graph);
  const std::string artifact = Noise(500'000);
  bool committed = false;
  ASSERT_TRUE(Finish(worker, artifact, committed).ok());
  EXPECT_TRUE(committed);

  for (Client* client : {&first, &second}) {
    EXPECT_TRUE(client->ToTheEnd().ok());
    ASSERT_TRUE(client->event.has_ready());
    EXPECT_TRUE(client->event.ready().compiled());
    EXPECT_EQ(client->event.ready().entry().ready().digest(), Sha256Of(artifact).bytes());
  }
  Client third = Ask(graph);
  EXPECT_TRUE(third.ToTheEnd().ok());
  EXPECT_FALSE(third.event.ready().compiled());
  const v1::Stats stats = Stats();
  EXPECT_EQ(stats.compiles_done(), 1u);
  EXPECT_EQ(stats.compiles_joined(), 1u);
  EXPECT_EQ(stats.hits(), 1u);
  EXPECT_EQ(stats.workers(), 1u);
}

TEST_F(WholeDaemonTest, ALostWorkersCompileIsTakenOverAndItsLateResultRefused) {
  const std::string graph = "a graph";
  auto [client, lost] = StartCompile(graph, "lost");
  Worker other = Connect("other");
  lost.context->TryCancel();
  ASSERT_TRUE(TakeLease(other));
  EXPECT_NE(other.lease.token(), lost.lease.token());
  bool committed = false;
  EXPECT_THAT(Finish(lost, "late", committed), FailsWith(grpc::FAILED_PRECONDITION, "void"));
  ASSERT_TRUE(Finish(other, "good", committed).ok());
  EXPECT_TRUE(client.ToTheEnd().ok());
  EXPECT_EQ(client.event.ready().entry().ready().digest(), Sha256Of("good").bytes());
}

TEST_F(WholeDaemonTest, AnUploadThatBreaksOffIsAskedOfTheNextClient) {
  const std::string graph = "a graph";
  Client first = AskFirst(graph);
  Client second = AskToo(graph);
  first.context->TryCancel();
  ExpectToBeAskedNext(second, graph);
}

TEST_F(WholeDaemonTest, AClientThatDripsItsGraphDoesNotKeepTheKeyFromTheNext) {
  ServiceLimits limits;
  limits.dead_after = absl::Milliseconds(500);
  ServeWith(*live_, limits);
  const std::string graph = "a graph";
  Client first = AskFirst(graph);
  Client second = AskToo(graph);
  absl::Notification given_up;
  std::jthread dripping([&] {
    v1::CompileRequest nothing;
    nothing.mutable_graph()->set_data(ZstdCompress(""));
    while (first.stream->Write(nothing)) {
      given_up.WaitForNotificationWithTimeout(absl::Milliseconds(20));
    }
    given_up.Notify();
  });
  ExpectToBeAskedNext(second, graph);
  given_up.WaitForNotification();
  EXPECT_EQ(first.ToTheEnd().error_code(), grpc::DEADLINE_EXCEEDED);
}

TEST_F(WholeDaemonTest, AGraphWithAnotherFingerprintIsRefused) {
  Client client = Ask("the claimed graph");
  ASSERT_TRUE(client.Next());
  Upload(client, "another graph");
  EXPECT_EQ(client.ToTheEnd().error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(WholeDaemonTest, WhoeverWaitsGetsWhatSomebodyPublishes) {
  const std::string graph = "a graph";
  Client first = AskFirst(graph);
  Client second = AskToo(graph);
  Upload(first, graph);
  ASSERT_TRUE(first.Next());
  ASSERT_TRUE(first.event.has_queued());  // And stays so: there is no worker.
  Client asked = Ask("a graph that nobody has sent");
  ASSERT_TRUE(asked.Next());
  ASSERT_TRUE(asked.event.has_need_graph());

  ASSERT_TRUE(Publish(graph, "compiled at home").ok());
  for (Client* client : {&first, &second}) {
    EXPECT_TRUE(client->ToTheEnd().ok());
    EXPECT_EQ(client->event.ready().entry().ready().digest(), Sha256Of("compiled at home").bytes());
  }
  ASSERT_TRUE(Publish("a graph that nobody has sent", "too").ok());
  EXPECT_TRUE(asked.ToTheEnd().ok());
  EXPECT_TRUE(asked.event.has_ready());
  EXPECT_EQ(Stats().compiles_queued(), 0u);
}

TEST_F(WholeDaemonTest, AWorkerStopsACompileWhoseArtifactSomebodyPublishes) {
  const std::string graph = "a graph";
  auto [client, worker] = StartCompile(graph, "w1");
  ASSERT_TRUE(Publish(graph, "compiled at home").ok());
  EXPECT_TRUE(client.ToTheEnd().ok());
  EXPECT_EQ(client.event.ready().entry().ready().digest(), Sha256Of("compiled at home").bytes());
  v1::DaemonMessage message;
  ASSERT_TRUE(worker.stream->Read(&message));
  EXPECT_EQ(message.revoked().token(), worker.lease.token());
  bool committed = false;
  EXPECT_THAT(Finish(worker, "late", committed), FailsWith(grpc::FAILED_PRECONDITION, "void"));
  // The slot is free for the next.
  Client next = Ask("another graph");
  ASSERT_TRUE(next.Next());
  Upload(next, "another graph");
  EXPECT_TRUE(TakeLease(worker));
}

TEST_F(WholeDaemonTest, DrainingEndsWaitsAndTakesTheResultsOfWhatRuns) {
  const std::string graph = "a graph";
  auto [client, worker] = StartCompile(graph, "w1");
  live_->Drain();
  EXPECT_THAT(client.ToTheEnd(), FailsWith(grpc::UNAVAILABLE, "draining"));
  v1::DaemonMessage message;
  ASSERT_TRUE(worker.stream->Read(&message));
  EXPECT_TRUE(message.has_drain());

  EXPECT_THAT(Ask("another graph").ToTheEnd(), FailsWith(grpc::UNAVAILABLE, "draining"));
  bool committed = false;
  ASSERT_TRUE(Finish(worker, "neff", committed).ok());
  EXPECT_TRUE(committed);
  EXPECT_TRUE(live_->AwaitDrained(absl::InfiniteFuture(), {}));
  Client late = Ask(graph);
  EXPECT_TRUE(late.ToTheEnd().ok());
  EXPECT_TRUE(late.event.has_ready());
}

}  // namespace
}  // namespace neffcache
