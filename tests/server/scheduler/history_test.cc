#include "server/scheduler/history.h"

#include "gtest/gtest.h"

namespace neffcache {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;
const Toolchain kNeuron{"neuronx-cc", "2.27"};
const Toolchain kXla{"xla-cpu", "0.4.30"};

GraphRecord GraphOf(uint64_t size, uint64_t instructions = 0) {
  GraphRecord graph;
  graph.size = size;
  graph.instructions = instructions;
  return graph;
}

TEST(CompileHistoryTest, UnknownNeuronCompileTakesWhatTheFieldMeasured) {
  const CompileHistory history;
  EXPECT_GE(history.Expect(kNeuron, GraphOf(kMiB * 9 / 10)).memory_bytes, kGiB * 106 / 10);
  EXPECT_GE(history.Expect(kNeuron, GraphOf(kMiB * 5 / 2)).memory_bytes, kGiB * 229 / 10);
  EXPECT_GE(history.Expect(kNeuron, GraphOf(kMiB * 63 / 10)).memory_bytes, kGiB * 30);
}

TEST(CompileHistoryTest, UnknownHostCompileTakesLittle) {
  EXPECT_LE(CompileHistory().Expect(kXla, GraphOf(100'000)).memory_bytes, 512 * kMiB);
}

TEST(CompileHistoryTest, PriorsNeverShrinkAsGraphsGrow) {
  const CompileHistory history;
  for (const Toolchain& toolchain : {kNeuron, kXla, Toolchain{"other", "1"}}) {
    Expectation before;
    for (uint64_t size = 1; size < kGiB; size *= 2) {
      const Expectation now = history.Expect(toolchain, GraphOf(size));
      EXPECT_GE(now.memory_bytes, before.memory_bytes) << toolchain.name << " " << size;
      EXPECT_GE(now.duration, before.duration) << toolchain.name << " " << size;
      before = now;
    }
  }
}

TEST(CompileHistoryTest, LargeLiteralsDoNotMakeAGraphHard) {
  const CompileHistory history;
  EXPECT_EQ(history.Expect(kNeuron, GraphOf(2 * kGiB, 100)).memory_bytes,
            history.Expect(kNeuron, GraphOf(40'000)).memory_bytes);
}

TEST(CompileHistoryTest, OneResultRaisesTheExpectationButDoesNotLowerIt) {
  CompileHistory history;
  const uint64_t prior = history.Expect(kNeuron, GraphOf(500'000)).memory_bytes;
  history.Learn(kNeuron, GraphOf(500'000), kGiB, absl::Seconds(7));
  EXPECT_EQ(history.Expect(kNeuron, GraphOf(500'000)).memory_bytes, prior);
  history.Learn(kNeuron, GraphOf(500'000), 40 * kGiB, absl::Seconds(7));
  EXPECT_GE(history.Expect(kNeuron, GraphOf(500'000)).memory_bytes, 40 * kGiB);
}

TEST(CompileHistoryTest, AFewResultsReplaceThePrior) {
  CompileHistory history;
  for (int i = 0; i < 3; ++i) {
    history.Learn(kNeuron, GraphOf(500'000), 2 * kGiB, absl::Seconds(7));
  }
  const Expectation expected = history.Expect(kNeuron, GraphOf(500'000));
  EXPECT_GE(expected.memory_bytes, 2 * kGiB);
  EXPECT_LE(expected.memory_bytes, 3 * kGiB);
  EXPECT_NEAR(absl::ToDoubleSeconds(expected.duration), 7, 0.01);
}

TEST(CompileHistoryTest, NewVersionStartsFromTheOldOnesResults) {
  CompileHistory history;
  for (int i = 0; i < 3; ++i) {
    history.Learn(kNeuron, GraphOf(500'000), 2 * kGiB, absl::Seconds(7));
  }
  EXPECT_LE(history.Expect({"neuronx-cc", "2.28"}, GraphOf(500'000)).memory_bytes, 3 * kGiB);
}

TEST(CompileHistoryTest, OtherSizesAndCompilersAreNotTouched) {
  CompileHistory history;
  const Expectation larger = history.Expect(kNeuron, GraphOf(5'000'000));
  const Expectation other = history.Expect(kXla, GraphOf(500'000));
  for (int i = 0; i < 3; ++i) {
    history.Learn(kNeuron, GraphOf(500'000), 2 * kGiB, absl::Seconds(7));
  }
  EXPECT_EQ(history.Expect(kNeuron, GraphOf(5'000'000)).memory_bytes, larger.memory_bytes);
  EXPECT_EQ(history.Expect(kXla, GraphOf(500'000)).memory_bytes, other.memory_bytes);
}

TEST(CompileHistoryTest, UnknownFiguresTeachNothing) {
  CompileHistory history;
  const Expectation before = history.Expect(kNeuron, GraphOf(500'000));
  for (int i = 0; i < 5; ++i) history.Learn(kNeuron, GraphOf(500'000), 0, absl::ZeroDuration());
  EXPECT_EQ(history.Expect(kNeuron, GraphOf(500'000)).memory_bytes, before.memory_bytes);
  EXPECT_EQ(history.Expect(kNeuron, GraphOf(500'000)).duration, before.duration);
}

}  // namespace
}  // namespace neffcache
