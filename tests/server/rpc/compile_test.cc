#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "tests/server/rpc/server_fixture.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

using State = FakeDispatcher::State;

class CompileTest : public ServerTest {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::CompileRequest, v1::CompileEvent>;

  void Open() {
    context_ = Call();
    stream_ = cache_->Compile(context_.get());
  }
  static v1::CompileRequest Start(const KeyMaterial& material) {
    v1::CompileRequest request;
    *request.mutable_start()->mutable_material() = ToMessage(material);
    return request;
  }
  static v1::CompileRequest Piece(absl::string_view data) {
    v1::CompileRequest request;
    request.mutable_graph()->set_data(std::string(data));
    return request;
  }
  static v1::CompileRequest GraphEnd(absl::string_view graph) {
    v1::CompileRequest request;
    request.mutable_graph_end()->set_size(graph.size());
    request.mutable_graph_end()->set_digest(std::string(Sha256Of(graph).bytes()));
    return request;
  }
  static QueuedEvent Queued(uint32_t position, const std::string& reason) {
    QueuedEvent event;
    event.position = position;
    event.reason = reason;
    return event;
  }
  // The next event; not set when the stream has ended.
  v1::CompileEvent Next() {
    v1::CompileEvent event;
    if (!stream_->Read(&event)) event.Clear();
    return event;
  }
  // Opens a stream that is asked for the graph.
  void OpenUntilGraphIsNeeded(const KeyMaterial& material) {
    dispatcher_.on_begin = [](const CompileOrder&) {
      return std::vector<CompileEvent>{NeedGraphEvent()};
    };
    Open();
    ASSERT_TRUE(stream_->Write(Start(material)));
    ASSERT_TRUE(Next().has_need_graph());
  }
  // Reads to the end, for the status.
  grpc::Status Finish() {
    v1::CompileEvent event;
    while (stream_->Read(&event)) {
    }
    return stream_->Finish();
  }
  bool Left(size_t index) {
    return dispatcher_.Await(
        [=](const State& state) { return state.waits.size() > index && state.waits[index].left; });
  }

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(CompileTest, AHitIsAnsweredAtOnceWithItsArtifactInside) {
  const Entry entry = Commit(MaterialOf("graph"), "artifact");
  dispatcher_.on_begin = [&](const CompileOrder&) {
    return std::vector<CompileEvent>{ReadyEvent{entry, false}};
  };
  Open();
  v1::CompileRequest start = Start(entry.material);
  start.mutable_start()->set_inline_limit(100);
  ASSERT_TRUE(stream_->Write(start));
  const v1::CompileEvent event = Next();
  ASSERT_TRUE(event.has_ready());
  EXPECT_EQ(event.ready().entry().key(), entry.key.bytes());
  EXPECT_EQ(event.ready().inline_artifact(), "artifact");
  EXPECT_FALSE(event.ready().compiled());
  EXPECT_TRUE(Finish().ok());
  EXPECT_EQ(Stats().hits(), 1u);
  EXPECT_EQ(Stats().compile_time_saved_ms(), 90'000);
}

TEST_F(CompileTest, TheDaemonComputesTheKeyFromTheMaterial) {
  dispatcher_.on_begin = [](const CompileOrder&) {
    return std::vector<CompileEvent>{RefusedEvent{absl::ResourceExhaustedError("full")}};
  };
  Open();
  v1::CompileRequest start = Start(MaterialOf("graph"));
  start.mutable_start()->set_purpose(v1::PURPOSE_PRECOMPILE);
  start.mutable_start()->set_retry_failed(true);
  start.mutable_start()->set_refuse_unknown_toolchain(true);
  start.mutable_start()->set_client("node-7:4711");
  ASSERT_TRUE(stream_->Write(start));
  EXPECT_THAT(Finish(), FailsWith(grpc::RESOURCE_EXHAUSTED, "full"));
  const CompileOrder order =
      dispatcher_.Get([](const State& state) { return state.waits.at(0).order; });
  EXPECT_EQ(order.key, ComputeKey(MaterialOf("graph")));
  EXPECT_EQ(order.material, MaterialOf("graph"));
  EXPECT_EQ(order.purpose, Purpose::kPrecompile);
  EXPECT_TRUE(order.retry_failed);
  EXPECT_TRUE(order.refuse_unknown_toolchain);
  EXPECT_EQ(order.client, "node-7:4711");
}

TEST_F(CompileTest, TheWaitIsToldFromTheGraphToTheArtifact) {
  const std::string graph = Noise(3 * kPieceSize);
  const KeyMaterial material = MaterialOf(graph);
  OpenUntilGraphIsNeeded(material);
  const std::string compressed = ZstdCompress(graph);
  for (size_t at = 0; at < compressed.size(); at += kPieceSize) {
    ASSERT_TRUE(stream_->Write(Piece(absl::string_view(compressed).substr(at, kPieceSize))));
  }
  ASSERT_TRUE(stream_->Write(GraphEnd(graph)));
  ASSERT_TRUE(dispatcher_.Await([](const State& state) { return !state.waits[0].graphs.empty(); }));
  EXPECT_EQ(dispatcher_.Get([](const State& state) { return state.waits[0].graphs[0]; }),
            Sha256Of(graph));

  dispatcher_.Tell(0, Queued(2, "no worker offers it"));
  v1::CompileEvent event = Next();
  EXPECT_EQ(event.queued().position(), 2u);
  EXPECT_EQ(event.queued().reason(), "no worker offers it");

  RunningEvent running;
  running.elapsed = absl::Seconds(5);
  running.memory_bytes = 77;
  running.last_log_line = "scheduling \xff";
  running.worker = "w0";
  dispatcher_.Tell(0, running);
  event = Next();
  EXPECT_EQ(event.running().elapsed_ms(), 5000);
  EXPECT_EQ(event.running().memory_bytes(), 77u);
  EXPECT_EQ(event.running().last_log_line(), "scheduling ?");  // Or nobody could parse it.

  dispatcher_.Tell(0, ReadyEvent{Commit(material, "artifact"), true});
  event = Next();
  EXPECT_TRUE(event.ready().compiled());
  EXPECT_EQ(event.ready().inline_artifact(), "");  // Nobody asked for it.
  EXPECT_TRUE(Finish().ok());
  EXPECT_TRUE(Left(0));
}

TEST_F(CompileTest, AFailureComesWithItsLogAndExitCode) {
  Entry entry = Fail(MaterialOf("graph"), "the end of the log");
  dispatcher_.on_begin = [&](const CompileOrder&) {
    return std::vector<CompileEvent>{FailedEvent{entry}};
  };
  Open();
  ASSERT_TRUE(stream_->Write(Start(entry.material)));
  const v1::CompileEvent event = Next();
  EXPECT_EQ(event.failed().failure_class(), v1::FAILURE_CLASS_DETERMINISTIC);
  EXPECT_EQ(event.failed().exit_code(), 70);
  EXPECT_EQ(event.failed().log_tail(), "the end of the log");
  EXPECT_GT(event.failed().remembered_until_ms(), 0);
  EXPECT_TRUE(Finish().ok());
}

TEST_F(CompileTest, WhoWaitsUntilQueuedIsLetGoOnceItIsKept) {
  dispatcher_.on_begin = [](const CompileOrder&) {
    QueuedEvent not_kept;
    not_kept.kept = false;
    return std::vector<CompileEvent>{not_kept};
  };
  Open();
  v1::CompileRequest start = Start(MaterialOf("graph"));
  start.mutable_start()->set_wait(v1::WAIT_UNTIL_QUEUED);
  ASSERT_TRUE(stream_->Write(start));
  EXPECT_TRUE(Next().has_queued());
  EXPECT_FALSE(dispatcher_.Get([](const State& state) { return state.waits[0].left; }));
  dispatcher_.Tell(0, Queued(1, ""));
  EXPECT_EQ(Next().queued().position(), 1u);
  EXPECT_TRUE(Finish().ok());
  EXPECT_TRUE(Left(0));
}

TEST_F(CompileTest, ManyClientsWaitOnTheSameStreamOfEvents) {
  constexpr int kClients = 20;
  const KeyMaterial material = MaterialOf("graph");
  std::vector<std::jthread> clients;
  std::atomic<int> ready{0};
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      auto context = Call();
      auto stream = cache_->Compile(context.get());
      stream->Write(Start(material));
      v1::CompileEvent event;
      while (stream->Read(&event)) {
        if (event.has_ready()) ++ready;
      }
      EXPECT_TRUE(stream->Finish().ok());
    });
  }
  ASSERT_TRUE(dispatcher_.Await([](const State& state) { return state.waits.size() == kClients; }));
  const Entry entry = Commit(material, "artifact");
  for (int i = 0; i < kClients; ++i) dispatcher_.Tell(i, QueuedEvent());
  for (int i = 0; i < kClients; ++i) dispatcher_.Tell(i, ReadyEvent{entry, true});
  clients.clear();
  EXPECT_EQ(ready, kClients);
}

TEST_F(CompileTest, AClientThatDisconnectsLeavesAndItsUploadIsDropped) {
  OpenUntilGraphIsNeeded(MaterialOf("graph"));
  ASSERT_TRUE(stream_->Write(Piece(Noise(1000))));
  context_->TryCancel();
  EXPECT_EQ(Finish().error_code(), grpc::CANCELLED);
  EXPECT_TRUE(Left(0));
  EXPECT_TRUE(dispatcher_.Get([](const State& state) { return state.waits[0].graphs.empty(); }));
  // Nothing is left in the store's staging directory.
  for (const auto& left : std::filesystem::directory_iterator(directory_ + "/tmp")) {
    ADD_FAILURE() << left.path();
  }
}

TEST_F(CompileTest, AWaitingClientThatDisconnectsLeaves) {
  Open();
  ASSERT_TRUE(stream_->Write(Start(MaterialOf("graph"))));
  ASSERT_TRUE(dispatcher_.Await([](const State& state) { return state.waits.size() == 1; }));
  context_->TryCancel();
  EXPECT_TRUE(Left(0));
}

TEST_F(CompileTest, AClientThatEndsItsHalfStillHearsTheResult) {
  const KeyMaterial material = MaterialOf("graph");
  Open();
  ASSERT_TRUE(stream_->Write(Start(material)));
  stream_->WritesDone();
  ASSERT_TRUE(dispatcher_.Await([](const State& state) { return state.waits.size() == 1; }));
  dispatcher_.Tell(0, ReadyEvent{Commit(material, "artifact"), true});
  EXPECT_TRUE(Next().has_ready());
  EXPECT_TRUE(Finish().ok());
}

TEST_F(CompileTest, AClientThatStopsInMidUploadIsGivenUp) {
  ServiceLimits limits;
  limits.dead_after = absl::Milliseconds(50);
  StartServer(limits);
  OpenUntilGraphIsNeeded(MaterialOf("graph"));
  EXPECT_THAT(Finish(), FailsWith(grpc::DEADLINE_EXCEEDED, "no piece of the graph"));
  EXPECT_TRUE(Left(0));
}

TEST_F(CompileTest, AClientThatDripsNextToNothingIsGivenUp) {
  ServiceLimits limits;
  limits.dead_after = absl::Milliseconds(200);
  StartServer(limits);
  OpenUntilGraphIsNeeded(MaterialOf("graph"));
  // Never silent for as long, until the daemon has had enough.
  absl::Notification never;
  while (stream_->Write(Piece(ZstdCompress("")))) {
    never.WaitForNotificationWithTimeout(absl::Milliseconds(10));
  }
  // Not by its own deadline.
  EXPECT_THAT(Finish(), FailsWith(grpc::DEADLINE_EXCEEDED, "the graph"));
  EXPECT_TRUE(Left(0));
}

TEST_F(CompileTest, MessagesInTheWrongOrderAreRefused) {
  const auto refused = [&](const std::vector<v1::CompileRequest>& requests, const char* why) {
    dispatcher_.on_begin = nullptr;
    Open();
    for (const v1::CompileRequest& request : requests) stream_->Write(request);
    stream_->WritesDone();
    EXPECT_THAT(Finish(), FailsWith(grpc::INVALID_ARGUMENT, why));
  };
  const v1::CompileRequest start = Start(MaterialOf("graph"));
  refused({}, "start: the stream ended without it");
  refused({v1::CompileRequest()}, "request: not set");
  refused({Piece("x")}, "graph: sent without having been asked for");
  refused({GraphEnd("x")}, "graph_end: sent without");
  refused({start, start}, "start: sent twice");
  refused({start, Piece("x")}, "graph: sent without having been asked for");
}

TEST_F(CompileTest, AGraphThatIsNotWhatWasAnnouncedIsRefused) {
  const std::string graph = "the graph";
  const std::string compressed = ZstdCompress(graph);
  const auto refused = [&](const std::vector<v1::CompileRequest>& requests, const char* why) {
    OpenUntilGraphIsNeeded(MaterialOf(graph));
    for (const v1::CompileRequest& request : requests) stream_->Write(request);
    stream_->WritesDone();
    EXPECT_THAT(Finish(), FailsWith(grpc::INVALID_ARGUMENT, why));
  };
  v1::CompileRequest size = GraphEnd(graph);
  size.mutable_graph_end()->set_size(10);
  v1::CompileRequest short_digest = GraphEnd(graph);
  short_digest.mutable_graph_end()->set_digest("short");
  refused({Piece(compressed), GraphEnd("another")}, "graph_end.size: 7, but 9 bytes came");
  refused({Piece(compressed), GraphEnd("the g-aph")}, "graph_end.digest");
  refused({Piece(compressed), size}, "graph_end.size");
  refused({Piece(compressed), short_digest}, "graph_end.digest: 5 bytes, not 32");
  refused({Piece(compressed.substr(0, compressed.size() - 1)), GraphEnd(graph)}, "graph.data");
  refused({Piece("not zstd"), GraphEnd(graph)}, "graph.data");
  refused({Piece(compressed)}, "graph_end: the stream ended without it");
  refused({Piece("")}, "graph.data: empty");
  refused({Piece(Noise(kPieceSize + 1))}, "graph.data: 1048577 bytes, the limit is 1048576");
}

TEST_F(CompileTest, TheDispatchersVerdictOnTheGraphEndsTheCall) {
  dispatcher_.on_graph = [](const StagedContent&) {
    return absl::InvalidArgumentError("the graph has another fingerprint");
  };
  OpenUntilGraphIsNeeded(MaterialOf("claimed"));
  stream_->Write(Piece(ZstdCompress("other")));
  stream_->Write(GraphEnd("other"));
  EXPECT_THAT(Finish(), FailsWith(grpc::INVALID_ARGUMENT, "another fingerprint"));
}

// Graphs whose check takes until the test ends it.
class SlowCheckTest : public CompileTest {
 protected:
  void SetUp() override {
    CompileTest::SetUp();
    dispatcher_.on_graph = [this](const StagedContent&) {
      checked_.WaitForNotification();
      return absl::OkStatus();
    };
  }
  void TearDown() override {
    if (!checked_.HasBeenNotified()) checked_.Notify();  // Of a test that failed.
    CompileTest::TearDown();
  }
  void OpenUntilGraphIsChecked() {
    OpenUntilGraphIsNeeded(MaterialOf("graph"));
    stream_->Write(Piece(ZstdCompress("graph")));
    stream_->Write(GraphEnd("graph"));
    ASSERT_TRUE(
        dispatcher_.Await([](const State& state) { return !state.waits[0].graphs.empty(); }));
  }

  absl::Notification checked_;
};

TEST_F(SlowCheckTest, EventsComeWhileTheGraphIsChecked) {
  OpenUntilGraphIsChecked();
  QueuedEvent event = Queued(0, "the graph is awaited");
  event.kept = false;
  dispatcher_.Tell(0, event);
  EXPECT_EQ(Next().queued().reason(), "the graph is awaited");
  checked_.Notify();
  dispatcher_.Tell(0, Queued(1, ""));
  EXPECT_EQ(Next().queued().position(), 1u);
}

TEST_F(SlowCheckTest, OtherClientsAreServedWhileGraphsAreChecked) {
  constexpr int kUploads = 10;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<Stream>> uploads;
  for (int i = 0; i < kUploads; ++i) {
    ASSERT_NO_FATAL_FAILURE(OpenUntilGraphIsNeeded(MaterialOf("graph")));
    stream_->Write(Piece(ZstdCompress("graph")));
    stream_->Write(GraphEnd("graph"));
    contexts.push_back(std::move(context_));
    uploads.push_back(std::move(stream_));
  }
  OpenUntilGraphIsNeeded(MaterialOf("another"));
  checked_.Notify();
  EXPECT_TRUE(dispatcher_.Await([](const State& state) {
    for (int i = 0; i < kUploads; ++i) {
      if (state.waits[i].graphs.empty()) return false;
    }
    return true;
  }));
}

TEST_F(SlowCheckTest, AWaitThatEndsMeanwhileIsLeftAfterTheCheck) {
  OpenUntilGraphIsChecked();
  dispatcher_.Tell(0, RefusedEvent{absl::UnavailableError("stopping")});
  EXPECT_THAT(Finish(), FailsWith(grpc::UNAVAILABLE, "stopping"));
  EXPECT_FALSE(dispatcher_.Get([](const State& state) { return state.waits[0].left; }));
  checked_.Notify();
  EXPECT_TRUE(Left(0));
}

TEST_F(SlowCheckTest, AClientThatDisconnectsMeanwhileLeavesAfterTheCheck) {
  OpenUntilGraphIsChecked();
  context_->TryCancel();
  EXPECT_EQ(Finish().error_code(), grpc::CANCELLED);
  EXPECT_FALSE(dispatcher_.Get([](const State& state) { return state.waits[0].left; }));
  checked_.Notify();
  EXPECT_TRUE(Left(0));
}

TEST_F(CompileTest, AGraphAboveTheLimitIsRefusedBeforeItFillsTheDisk) {
  ServiceLimits limits;
  limits.graph_bytes = 1 << 20;
  StartServer(limits);
  OpenUntilGraphIsNeeded(MaterialOf("graph"));
  // A bomb: 16 MiB of zeros in a few hundred bytes.
  stream_->Write(Piece(ZstdCompress(std::string(16 << 20, '\0'))));
  EXPECT_EQ(Finish().error_code(), grpc::RESOURCE_EXHAUSTED);
  // Empty blocks without end: bytes that unfold to nothing.
  OpenUntilGraphIsNeeded(MaterialOf("graph"));
  const std::string skippable =
      std::string("\x50\x2a\x4d\x18\x00\x00\x08\x00", 8) + std::string(512 << 10, 's');
  for (int i = 0; i < 8 && stream_->Write(Piece(skippable)); ++i) {
  }
  EXPECT_EQ(Finish().error_code(), grpc::RESOURCE_EXHAUSTED);
}

TEST_F(CompileTest, BrokenLimitsNameTheField) {
  const auto refused = [&](const std::function<void(v1::CompileStart&)>& breaks, const char* why) {
    Open();
    v1::CompileRequest request = Start(MaterialOf("graph"));
    breaks(*request.mutable_start());
    stream_->Write(request);
    EXPECT_THAT(Finish(), FailsWith(grpc::INVALID_ARGUMENT, why));
  };
  refused([](auto& start) { start.clear_material(); }, "start.material.fingerprint.tag: empty");
  refused([](auto& start) { start.mutable_material()->mutable_fingerprint()->set_digest("x"); },
          "start.material.fingerprint.digest: 1 bytes");
  refused([](auto& start) { start.mutable_material()->mutable_toolchain()->clear_version(); },
          "start.material.toolchain.version: empty");
  refused(
      [](auto& start) {
        start.mutable_material()->mutable_toolchain()->set_name(std::string(257, 'n'));
      },
      "start.material.toolchain.name: 257 bytes");
  refused(
      [](auto& start) { start.mutable_material()->add_options(std::string((256 << 10) + 1, 'o')); },
      "start.material.options");
  refused([](auto& start) { start.mutable_material()->add_options(std::string("a\0b", 3)); },
          "start.material.options: contains a zero byte");
  refused([](auto& start) { start.set_inline_limit(kMaxInlineArtifact + 1); }, "inline_limit");
  refused([](auto& start) { start.set_bundle("two\nlines"); },
          "start.bundle: contains a control character");
  refused([](auto& start) { start.set_client(std::string(257, 'c')); }, "start.client");
  refused([](auto& start) { start.set_purpose(static_cast<v1::Purpose>(17)); }, "start.purpose");
  refused([](auto& start) { start.set_wait(static_cast<v1::Wait>(17)); }, "start.wait");
}

TEST_F(CompileTest, OptionsThatAreNotCanonicalOrNotAllowedAreRefused) {
  const auto refused = [&](const std::vector<std::string>& options, const char* why) {
    KeyMaterial material = MaterialOf("graph");
    material.options = options;
    Open();
    stream_->Write(Start(material));
    EXPECT_THAT(Finish(), FailsWith(grpc::INVALID_ARGUMENT, why));
  };
  refused({"--target", "trn1"}, "start.material.options: not in canonical form");
  refused({"--target=trn1", "--optlevel=1"}, "start.material.options: not in canonical form");
  refused({"--verbose=35"}, "start.material.options: not in canonical form");
  refused({"--pipeline", "compile", "SaveTemps"}, "cannot be cached");
  refused({"--some-plugin=evil.so"}, "load code");
  refused({"--some-file=/etc/passwd"}, "holds a path");
  EXPECT_TRUE(dispatcher_.Get([](const State& state) { return state.waits.empty(); }));
}

TEST_F(CompileTest, TheOrderIsRecordedInItsBundleAndUnderItsStockModule) {
  dispatcher_.on_begin = [](const CompileOrder&) {
    return std::vector<CompileEvent>{RefusedEvent{absl::UnavailableError("stopping")}};
  };
  const KeyMaterial material = MaterialOf("graph");
  Open();
  v1::CompileRequest start = Start(material);
  start.mutable_start()->set_bundle("bert");
  start.mutable_start()->set_native_module("MODULE_1+2");
  stream_->Write(start);
  EXPECT_THAT(Finish(), FailsWith(grpc::UNAVAILABLE, "stopping"));
  EXPECT_EQ(store_->GetBundle("bert").value().at(0).key, ComputeKey(material));
  EXPECT_EQ(store_->FindNative(material.toolchain.version, "MODULE_1+2").value(),
            ComputeKey(material));
}

TEST_F(CompileTest, AWaitThatIsCutOffByShutdownEndsInTime) {
  Open();
  ASSERT_TRUE(stream_->Write(Start(MaterialOf("graph"))));
  ASSERT_TRUE(dispatcher_.Await([](const State& state) { return state.waits.size() == 1; }));
  server_->Shutdown(absl::Now());
  EXPECT_FALSE(Finish().ok());
  EXPECT_TRUE(Left(0));
}

}  // namespace
}  // namespace neffcache
