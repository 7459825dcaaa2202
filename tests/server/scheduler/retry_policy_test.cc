#include "server/scheduler/retry_policy.h"

#include "gtest/gtest.h"

namespace neffcache {
namespace {

TEST(RetryPolicyTest, DeterministicFailureIsRememberedAndNeverRetried) {
  const Verdict verdict = RetryPolicy().Judge(FailureClass::kDeterministic, {.made = 1});
  EXPECT_FALSE(verdict.retry);
  EXPECT_EQ(verdict.remember, absl::Hours(24));
}

TEST(RetryPolicyTest, MemoryFailureDoublesUntilAttemptsRunOutAndIsNotRemembered) {
  const RetryPolicy policy;
  for (uint32_t made : {1u, 2u}) {
    const Verdict verdict = policy.Judge(FailureClass::kMemory, {.made = made});
    EXPECT_TRUE(verdict.retry) << made;
    EXPECT_TRUE(verdict.double_memory) << made;
    EXPECT_EQ(verdict.back_off, absl::ZeroDuration()) << made;
  }
  const Verdict last = policy.Judge(FailureClass::kMemory, {.made = 3});
  EXPECT_FALSE(last.retry);
  EXPECT_EQ(last.remember, absl::ZeroDuration());
}

TEST(RetryPolicyTest, TransientFailureGoesElsewhereAfterAGrowingBoundedBackOff) {
  RetryPolicy policy;
  policy.max_attempts = 100;
  absl::Duration before = absl::ZeroDuration();
  for (uint32_t made = 1; made <= 6; ++made) {
    const Verdict verdict = policy.Judge(FailureClass::kTransient, {.made = made});
    EXPECT_TRUE(verdict.retry && verdict.elsewhere);
    EXPECT_GT(verdict.back_off, before);
    before = verdict.back_off;
  }
  EXPECT_EQ(policy.Judge(FailureClass::kTransient, {.made = 99}).back_off, policy.max_back_off);
}

TEST(RetryPolicyTest, TransientFailureIsGivenUpWithoutBeingRemembered) {
  const Verdict verdict = RetryPolicy().Judge(FailureClass::kTransient, {.made = 3});
  EXPECT_FALSE(verdict.retry);
  EXPECT_EQ(verdict.remember, absl::ZeroDuration());
}

TEST(RetryPolicyTest, UnclearFailureIsRetriedOnceThenRememberedForAShortTime) {
  const RetryPolicy policy;
  const Verdict first = policy.Judge(FailureClass::kUnclear, {.made = 1, .unclear = 1});
  EXPECT_TRUE(first.retry && first.elsewhere);
  const Verdict second = policy.Judge(FailureClass::kUnclear, {.made = 2, .unclear = 2});
  EXPECT_FALSE(second.retry);
  EXPECT_EQ(second.remember, absl::Minutes(10));
}

TEST(RetryPolicyTest, LostWorkerCountsAsTransientWithoutBackOff) {
  const Verdict verdict = RetryPolicy().JudgeLostWorker({.made = 1});
  EXPECT_TRUE(verdict.retry && verdict.elsewhere);
  EXPECT_EQ(verdict.back_off, absl::ZeroDuration());
  EXPECT_FALSE(RetryPolicy().JudgeLostWorker({.made = 3}).retry);
}

}  // namespace
}  // namespace neffcache
