// Who waits, who sends the graph, who comes first.

#include "gmock/gmock.h"
#include "tests/server/scheduler/scheduler_fixture.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SchedulerCallersTest : public SchedulerTest {
 protected:
  // The graphs in the order in which one slot takes them.
  std::vector<std::string> OrderOf(const std::vector<std::string>& graphs) {
    std::vector<std::string> order;
    Worker(99);
    while (true) {
      const Granted granted = TakeGrant();
      if (granted.token == 0) return order;
      for (const std::string& graph : graphs) {
        if (KeyOf(graph) == granted.key) order.push_back(graph);
      }
      Succeed(99, granted.token);
    }
  }
};

TEST_F(SchedulerCallersTest, OnlyTheFirstLooksIntoTheStore) {
  EXPECT_EQ(Ask(1, "g"), Scheduler::Asked::kLookUp);
  EXPECT_EQ(Ask(2, "g"), Scheduler::Asked::kWaits);
  EXPECT_EQ(Ask(3, "h"), Scheduler::Asked::kLookUp);
}

TEST_F(SchedulerCallersTest, ExactlyOneIsAskedForTheGraph) {
  for (CallerId caller = 1; caller <= 5; ++caller) Ask(caller, "g");
  scheduler_.NeedGraph(KeyOf("g"), now_);
  const auto asked = Take<AskGraph>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].caller, 1u);
}

TEST_F(SchedulerCallersTest, WhenTheAskedOneLeavesTheNextIsAsked) {
  Ask(1, "g");
  Ask(2, "g");
  Ask(3, "g");
  scheduler_.NeedGraph(KeyOf("g"), now_);
  Take<AskGraph>();
  scheduler_.Leave(2, now_);
  EXPECT_THAT(Take<AskGraph>(), IsEmpty());
  scheduler_.Leave(1, now_);
  const auto asked = Take<AskGraph>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].caller, 3u);
}

TEST_F(SchedulerCallersTest, CompileWithoutGraphAndWaitersIsForgotten) {
  Ask(1, "g");
  scheduler_.NeedGraph(KeyOf("g"), now_);
  scheduler_.Leave(1, now_);
  EXPECT_EQ(scheduler_.Find(KeyOf("g")), nullptr);
  EXPECT_EQ(Ask(2, "g"), Scheduler::Asked::kLookUp);
}

TEST_F(SchedulerCallersTest, LookUpWhoseCallersLeftIsForgottenToo) {
  Ask(1, "g");
  scheduler_.Leave(1, now_);
  EXPECT_NE(scheduler_.Find(KeyOf("g")), nullptr);  // The look-up goes on.
  scheduler_.NeedGraph(KeyOf("g"), now_);
  EXPECT_EQ(scheduler_.Find(KeyOf("g")), nullptr);
}

TEST_F(SchedulerCallersTest, SuccessNamesAllWhoWait) {
  Queue(1, "g");
  Ask(2, "g");
  Worker(9);
  const Granted granted = TakeGrant();
  Ask(3, "g");
  scheduler_.Leave(2, now_);
  EXPECT_THAT(Succeed(9, granted.token), ElementsAre(1u, 3u));
  EXPECT_EQ(scheduler_.Find(KeyOf("g")), nullptr);
}

TEST_F(SchedulerCallersTest, TrainersComeBeforePrecompilesBeforeRebuilds) {
  Queue(1, "rebuild", Purpose::kRebuild);
  Queue(2, "precompile", Purpose::kPrecompile);
  Queue(3, "trainer", Purpose::kTrainer);
  EXPECT_THAT(OrderOf({"rebuild", "precompile", "trainer"}),
              ElementsAre("trainer", "precompile", "rebuild"));
}

TEST_F(SchedulerCallersTest, AbandonedCompilesStayBehindThoseSomebodyWaitsFor) {
  Queue(1, "left by a trainer", Purpose::kTrainer);
  Queue(2, "left", Purpose::kPrecompile);
  Queue(3, "awaited", Purpose::kPrecompile);
  scheduler_.Leave(1, now_);
  scheduler_.Leave(2, now_);
  EXPECT_THAT(OrderOf({"left by a trainer", "left", "awaited"}),
              ElementsAre("awaited", "left by a trainer", "left"));
}

TEST_F(SchedulerCallersTest, TrainerThatJoinsAPrecompileHurriesIt) {
  Queue(1, "a", Purpose::kPrecompile);
  Queue(2, "b", Purpose::kPrecompile);
  Ask(3, "b", Purpose::kTrainer);
  EXPECT_THAT(OrderOf({"a", "b"}), ElementsAre("b", "a"));
}

TEST_F(SchedulerCallersTest, LongestComesFirstThenFirstComeFirstServed) {
  Queue(1, "short", Purpose::kTrainer, 1000);
  Queue(2, "long", Purpose::kTrainer, 20 << 20);
  Queue(3, "short too", Purpose::kTrainer, 1000);
  EXPECT_THAT(OrderOf({"short", "long", "short too"}), ElementsAre("long", "short", "short too"));
}

TEST_F(SchedulerCallersTest, PositionsCountWhatIsAheadForTheToolchain) {
  Queue(1, "a");
  Queue(2, "b");
  Queue(3, "n", Purpose::kTrainer, 1000, kNeuron);
  Queue(4, "c");
  EXPECT_EQ(scheduler_.Describe(*scheduler_.Find(KeyOf("c")), now_).position, 2u);
  EXPECT_EQ(scheduler_.Describe(*scheduler_.Find(KeyOf("n", kNeuron)), now_).position, 0u);
}

TEST_F(SchedulerCallersTest, ExpectedWaitGrowsWithTheQueue) {
  Worker(9);
  for (CallerId caller = 1; caller <= 4; ++caller) Queue(caller, absl::StrCat("g", caller));
  const auto wait = [&](const std::string& graph) {
    return scheduler_.Describe(*scheduler_.Find(KeyOf(graph)), now_).expected_wait;
  };
  EXPECT_GT(wait("g3"), wait("g2"));
  EXPECT_GT(wait("g4"), wait("g3"));
}

TEST_F(SchedulerCallersTest, CompileThatNobodyCanDoStaysQueuedAndSaysWhy) {
  Worker(9);
  Queue(1, "n", Purpose::kTrainer, 1000, kNeuron);
  const Compile& compile = *scheduler_.Find(KeyOf("n", kNeuron));
  EXPECT_EQ(compile.state, Compile::State::kQueued);
  const CompileStatus status = scheduler_.Describe(compile, now_);
  EXPECT_EQ(status.reason, "no connected worker offers neuronx-cc 2.27.5334.0");
  EXPECT_EQ(status.expected_wait, absl::ZeroDuration());
  Worker(10, 1, 64 * kGiB, {kNeuron});
  EXPECT_EQ(compile.state, Compile::State::kRunning);
}

TEST_F(SchedulerCallersTest, InOrderListsRunningThenQueued) {
  Worker(9);
  Queue(1, "running");
  Queue(2, "second", Purpose::kPrecompile);
  Queue(3, "first", Purpose::kTrainer);
  Ask(4, "looked up");
  std::vector<Key> keys;
  for (const Compile* compile : scheduler_.InOrder()) keys.push_back(compile->key);
  EXPECT_THAT(keys,
              ElementsAre(KeyOf("running"), KeyOf("first"), KeyOf("second"), KeyOf("looked up")));
}

}  // namespace
}  // namespace neffcache
