// Why compiles are queued, as the dispatcher tells it and the explainer writes it down.

#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "graph/key.h"
#include "server/misses/explanation_text.h"
#include "server/misses/miss_explainer.h"
#include "tests/graph/hlo_builder.h"
#include "tests/server/scheduler/dispatcher_fixture.h"

namespace neffcache {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A module of one computation, whose root has this opcode.
std::string GraphOf(const std::string& opcode) {
  return Serialize(
      Module({Computation(1, 4,
                          {Parameter(1, 0), Parameter(2, 1), Instruction("multiply", 3, {1, 2}),
                           Instruction(opcode, 4, {3, 2})})},
             1));
}

class MissesTest : public DispatcherTest {
 protected:
  void SetUp() override {
    options_.on_miss = [this](const QueuedCompile& compile, absl::string_view reason) {
      ++misses_;
      explainer_->NoteMiss(compile, reason);
    };
    options_.on_entry = [this](const Entry& entry) { explainer_->NoteEntry(entry); };
    DispatcherTest::SetUp();
    explainer_.emplace(*store_, explainer_options_);
    Connect(worker_);
  }
  void TearDown() override {
    Disconnect(worker_);
    dispatcher_.reset();
    explainer_.reset();
    DispatcherTest::TearDown();
  }

  // Compiles it; its key.
  Key Compile(const std::string& graph, std::vector<std::string> options = {}) {
    CompileOrder order = OrderFor(graph);
    order.material.options = std::move(options);
    order.key = ComputeKey(order.material);
    RecordingClient client;
    Begin(client, order);
    if (client.Count<NeedGraphEvent>() == 1) {
      EXPECT_TRUE(SendGraph(client, graph).ok());
    }
    const Lease lease = worker_.AwaitLease(compiles_++);
    EXPECT_TRUE(FinishReady(worker_, lease.token, "artifact").ok());
    client.Await<ReadyEvent>();
    return order.key;
  }
  std::string WhyOf(const Key& key) {
    explainer_->AwaitIdle();
    const auto miss = store_->FindMiss(key);
    EXPECT_TRUE(miss.ok()) << miss.status();
    return miss.ok() ? miss->explanation : "";
  }

  MissExplainerOptions explainer_options_;
  absl::optional<MissExplainer> explainer_;
  RecordingWorker worker_;
  std::atomic<int> misses_ = 0;
  size_t compiles_ = 0;
};

TEST_F(MissesTest, TheFirstGraphEverHasNothingNear) {
  EXPECT_EQ(WhyOf(Compile(GraphOf("add"))), kNothingNear);
}

TEST_F(MissesTest, AnotherFlagIsNamed) {
  const Key first = Compile(GraphOf("add"), {"--optlevel=1"});
  explainer_->AwaitIdle();
  const Key second = Compile(GraphOf("add"), {"--optlevel=2"});
  EXPECT_THAT(WhyOf(second),
              AllOf(StartsWith("nearest " + first.Hex().substr(0, 12)), HasSubstr("optlevel")));
  EXPECT_EQ(store_->FindMiss(second)->nearest, first);
}

TEST_F(MissesTest, AnotherInstructionIsNamed) {
  Compile(GraphOf("add"));
  explainer_->AwaitIdle();
  EXPECT_THAT(WhyOf(Compile(GraphOf("subtract"))), HasSubstr("add → subtract"));
}

TEST_F(MissesTest, AMissIsToldOnceHoweverManyAsk) {
  RecordingClient first, second, third;
  Begin(first, OrderFor(GraphOf("add")));
  Begin(second, OrderFor(GraphOf("add")));
  ASSERT_TRUE(SendGraph(first, GraphOf("add")).ok());
  Begin(third, OrderFor(GraphOf("add")));
  EXPECT_EQ(misses_, 1);
  ASSERT_TRUE(FinishReady(worker_, worker_.AwaitLease(compiles_++).token, "artifact").ok());
  RecordingClient hit;
  Begin(hit, OrderFor(GraphOf("add")));
  hit.Await<ReadyEvent>();
  EXPECT_EQ(misses_, 1);
}

TEST_F(MissesTest, ARetriedFailureSaysSo) {
  RecordingClient first;
  BeginWithGraph(first, GraphOf("add"));
  ASSERT_TRUE(
      FinishFailed(worker_, worker_.AwaitLease(compiles_++).token, FailureClass::kDeterministic)
          .ok());
  first.Await<FailedEvent>();
  CompileOrder again = OrderFor(GraphOf("add"));
  again.retry_failed = true;
  RecordingClient second;
  Begin(second, again);
  worker_.AwaitLease(compiles_++);
  EXPECT_THAT(WhyOf(again.key), HasSubstr("its last compile failed"));
}

// The first comparison does not end before the test lets it.
class SlowMissesTest : public MissesTest {
 protected:
  SlowMissesTest() {
    explainer_options_.max_pending = 3;
    explainer_options_.compare = [this](absl::string_view,
                                        absl::string_view) -> absl::StatusOr<Explanation> {
      if (!started_.HasBeenNotified()) started_.Notify();
      go_on_.WaitForNotification();
      return absl::UnavailableError("slow");
    };
  }

  absl::Notification started_;
  absl::Notification go_on_;
};

TEST_F(SlowMissesTest, CompilesDoNotWaitForASlowExplanationAndItsQueueIsBounded) {
  Compile(GraphOf("add"));
  explainer_->AwaitIdle();
  const Key second = Compile(GraphOf("subtract"));
  started_.WaitForNotification();
  // The explainer hangs; compiles end all the same.
  for (const char* opcode : {"maximum", "minimum", "power", "divide"}) Compile(GraphOf(opcode));
  EXPECT_GT(explainer_->dropped(), 0u);
  EXPECT_FALSE(store_->FindMiss(second).ok());
  go_on_.Notify();
  // What cannot be compared is told by its parts.
  EXPECT_THAT(WhyOf(second), HasSubstr("computation"));
}

TEST(ExplanationTextTest, IsOneBoundedLine) {
  NearEntry near;
  near.entry.graph.name = "na\nme" + std::string(1000, 'x');
  Difference difference;
  difference.text = std::string(300, 'y');
  const std::string text = ExplainNearest(near, std::vector<Difference>(10, difference), "graphs");
  EXPECT_LE(text.size(), 600u);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace neffcache
