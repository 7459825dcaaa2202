// Who compiles, and what ends a lease.

#include "gmock/gmock.h"
#include "tests/server/scheduler/scheduler_fixture.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using SchedulerLeasesTest = SchedulerTest;

TEST_F(SchedulerLeasesTest, TokensAreNeverUsedAgain) {
  Queue(1, "g");
  Worker(9);
  const Granted first = TakeGrant();
  EXPECT_EQ(first.token, kFirstToken);
  scheduler_.RemoveWorker(9, now_);
  Worker(10);
  EXPECT_GT(TakeGrant().token, first.token);
}

TEST_F(SchedulerLeasesTest, LostWorkerIsReplacedAtOnceAndItsTokenIsVoid) {
  Queue(1, "g");
  Worker(9);
  const Granted first = TakeGrant();
  Worker(10);
  scheduler_.RemoveWorker(9, now_);
  const Granted second = TakeGrant();
  EXPECT_EQ(second.worker, 10u);
  EXPECT_EQ(scheduler_.Find(KeyOf("g"))->attempts.made, 1u);
  EXPECT_EQ(scheduler_.Claim(9, first.token, now_).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(scheduler_.Claim(10, second.token, now_).ok());
}

TEST_F(SchedulerLeasesTest, MissedHeartbeatsEndTheLeaseAndLaterOnesDoNotBringItBack) {
  Queue(1, "g");
  Worker(9);
  const Granted first = TakeGrant();
  Pass(absl::Seconds(14));
  EXPECT_THAT(Take<Revoked>(), IsEmpty());
  Pass(absl::Seconds(1));
  const auto revoked = Take<Revoked>();
  ASSERT_THAT(revoked, SizeIs(1));
  EXPECT_EQ(revoked[0].token, first.token);
  EXPECT_EQ(scheduler_.Find(KeyOf("g"))->state, Compile::State::kQueued);
  // When the only worker is heard again, it gets a new lease and is told once more that the old one
  // is over.
  scheduler_.Heartbeat(9, {LeaseProgress{first.token, 0, ""}}, now_);
  std::vector<LeaseToken> tokens;
  bool told = false;
  for (const Decision& decision : scheduler_.TakeDecisions()) {
    if (const auto* granted = std::get_if<Granted>(&decision)) tokens.push_back(granted->token);
    if (const auto* again = std::get_if<Revoked>(&decision)) told |= again->token == first.token;
  }
  EXPECT_TRUE(told);
  ASSERT_THAT(tokens, SizeIs(1));
  EXPECT_NE(tokens[0], first.token);
}

TEST_F(SchedulerLeasesTest, HeartbeatsKeepALeaseForHours) {
  Queue(1, "g");
  Worker(9);
  const Granted granted = TakeGrant();
  for (int i = 0; i < 720; ++i) {
    Pass(absl::Seconds(5));
    Beat(9);
  }
  EXPECT_TRUE(scheduler_.Claim(9, granted.token, now_).ok());
}

TEST_F(SchedulerLeasesTest, LeaseFarBeyondTheTimeLimitEndsAlthoughTheWorkerBeats) {
  Queue(1, "g");
  Worker(9);
  const Granted granted = TakeGrant();
  for (int minute = 0; minute < 6 * 60 + 20; ++minute) {
    for (int i = 0; i < 6; ++i) {
      now_ += absl::Seconds(10);
      Beat(9);
    }
    scheduler_.Advance(now_);
  }
  EXPECT_FALSE(scheduler_.Claim(9, granted.token, now_).ok());
}

TEST_F(SchedulerLeasesTest, ClaimedLeaseOutlivesSilenceAndLossOfItsWorker) {
  Queue(1, "g");
  Worker(9);
  const Granted granted = TakeGrant();
  ASSERT_TRUE(scheduler_.Claim(9, granted.token, now_).ok());
  Worker(10);
  Pass(absl::Minutes(5));
  scheduler_.RemoveWorker(9, now_);
  EXPECT_THAT(Take<Granted>(), IsEmpty());
  EXPECT_THAT(scheduler_.Succeeded(granted.token, absl::Seconds(1), 1, now_), SizeIs(1));
}

TEST_F(SchedulerLeasesTest, ResultIsTakenOnce) {
  Queue(1, "g");
  Worker(9);
  const Granted granted = TakeGrant();
  ASSERT_TRUE(scheduler_.Claim(9, granted.token, now_).ok());
  EXPECT_FALSE(scheduler_.Claim(9, granted.token, now_).ok());
  scheduler_.Succeeded(granted.token, absl::Seconds(1), 1, now_);
  EXPECT_FALSE(scheduler_.Claim(9, granted.token, now_).ok());
}

TEST_F(SchedulerLeasesTest, TokenCountsOnlyFromItsOwnWorker) {
  Queue(1, "g");
  Worker(9);
  const Granted granted = TakeGrant();
  Worker(10);
  EXPECT_FALSE(scheduler_.Claim(10, granted.token, now_).ok());
}

TEST_F(SchedulerLeasesTest, TimeThatGoesBackwardsStandsStill) {
  Queue(1, "g");
  Worker(9);
  Take<Granted>();
  Pass(absl::Hours(-10));
  Pass(absl::Hours(10) + absl::Seconds(14));
  EXPECT_THAT(Take<Revoked>(), IsEmpty());
}

TEST_F(SchedulerLeasesTest, DaemonThatStoodStillDoesNotBlameTheWorkers) {
  Queue(1, "g");
  Worker(9);
  Take<Granted>();
  scheduler_.Excuse(absl::Minutes(1));
  Pass(absl::Minutes(1));
  EXPECT_THAT(Take<Revoked>(), IsEmpty());
}

TEST_F(SchedulerLeasesTest, DrainingWorkerEndsItsCompileAndGetsNoMore) {
  Queue(1, "g");
  Worker(9, 2);
  const Granted granted = TakeGrant();
  scheduler_.WorkerLeaving(9, now_);
  Queue(2, "h");
  EXPECT_THAT(Take<Granted>(), IsEmpty());
  EXPECT_THAT(scheduler_.Describe(*scheduler_.Find(KeyOf("h")), now_).reason,
              HasSubstr("is leaving"));
  EXPECT_THAT(Succeed(9, granted.token), SizeIs(1));
}

TEST_F(SchedulerLeasesTest, RestoredCompilesRunWithoutWaitersAndKeepTheirAttempts) {
  QueuedCompile queued;
  queued.key = KeyOf("g");
  queued.material = Material("g");
  queued.attempts = 2;
  scheduler_.Restore(queued, now_);
  Worker(9);
  const Granted granted = TakeGrant();
  EXPECT_EQ(granted.key, KeyOf("g"));
  Fail(9, granted.token, FailureClass::kTransient);
  EXPECT_THAT(Take<GaveUp>(), SizeIs(1));
}

// --- What follows a failure

TEST_F(SchedulerLeasesTest, DeterministicFailureIsGivenUpWithItsWorkerAndAttempts) {
  Queue(1, "g");
  Worker(9);
  Fail(9, TakeGrant().token, FailureClass::kDeterministic);
  const auto gave_up = Take<GaveUp>();
  ASSERT_THAT(gave_up, SizeIs(1));
  EXPECT_EQ(gave_up[0].failure.worker, "w9");
  EXPECT_EQ(gave_up[0].failure.attempts, 1u);
  EXPECT_EQ(gave_up[0].remember, absl::Hours(24));
  // Who asks while it is being stored waits for the same answer.
  EXPECT_EQ(Ask(2, "g"), Scheduler::Asked::kWaits);
  EXPECT_THAT(scheduler_.End(KeyOf("g")), SizeIs(2));
}

TEST_F(SchedulerLeasesTest, MemoryFailureRunsAgainWithTwiceTheMemory) {
  Queue(1, "g");
  Worker(9);
  const LeaseToken first = TakeGrant().token;
  const uint64_t reserved = scheduler_.FindLease(9, first)->lease->reserved_bytes;
  Fail(9, first, FailureClass::kMemory);
  const LeaseToken second = TakeGrant().token;
  EXPECT_EQ(scheduler_.FindLease(9, second)->lease->reserved_bytes, 2 * reserved);
  Fail(9, second, FailureClass::kMemory, 3 * kGiB);
  const LeaseToken third = TakeGrant().token;
  EXPECT_EQ(scheduler_.FindLease(9, third)->lease->reserved_bytes, 6 * kGiB);
  Fail(9, third, FailureClass::kMemory);
  const auto gave_up = Take<GaveUp>();
  ASSERT_THAT(gave_up, SizeIs(1));
  EXPECT_EQ(gave_up[0].remember, absl::ZeroDuration());
}

TEST_F(SchedulerLeasesTest, TransientFailureBacksOffAndThenGoesElsewhere) {
  Queue(1, "g");
  Worker(9);
  const LeaseToken first = TakeGrant().token;
  Worker(10);
  Fail(9, first, FailureClass::kTransient);
  EXPECT_THAT(Take<Granted>(), IsEmpty());
  EXPECT_EQ(scheduler_.Find(KeyOf("g"))->state, Compile::State::kBackingOff);
  EXPECT_THAT(scheduler_.Describe(*scheduler_.Find(KeyOf("g")), now_).reason,
              HasSubstr("attempt 2 starts in 1s: it broke"));
  Pass(absl::Seconds(1));
  EXPECT_EQ(TakeGrant().worker, 10u);
}

TEST_F(SchedulerLeasesTest, RetryWaitsForAnotherWorkerButNotForEver) {
  Queue(1, "g");
  Worker(9);
  Worker(10);
  const Granted first = TakeGrant();
  const WorkerId other = first.worker == 9 ? 10 : 9;
  Queue(2, "keeps the other busy");
  Take<Granted>();
  Fail(first.worker, first.token, FailureClass::kUnclear);
  EXPECT_THAT(Take<Granted>(), IsEmpty());  // The free one failed it.
  for (int i = 0; i < 12; ++i) {
    now_ += absl::Seconds(10);
    Beat(first.worker);
    Beat(other);
    scheduler_.Advance(now_);
  }
  EXPECT_EQ(TakeGrant().worker, first.worker);
}

TEST_F(SchedulerLeasesTest, OnlyWorkerGetsTheRetryItself) {
  Queue(1, "g");
  Worker(9);
  Fail(9, TakeGrant().token, FailureClass::kUnclear);
  const Granted second = TakeGrant();
  EXPECT_EQ(second.worker, 9u);
  Fail(9, second.token, FailureClass::kUnclear);
  const auto gave_up = Take<GaveUp>();
  ASSERT_THAT(gave_up, SizeIs(1));
  EXPECT_EQ(gave_up[0].remember, absl::Minutes(10));
}

// --- Placement

TEST_F(SchedulerLeasesTest, SlotsLimitWhatRuns) {
  Worker(9, 2);
  for (CallerId caller = 1; caller <= 5; ++caller) Queue(caller, absl::StrCat("g", caller));
  EXPECT_THAT(Take<Granted>(), SizeIs(2));
}

TEST_F(SchedulerLeasesTest, MemoryLimitsWhatRuns) {
  Worker(9, 8, 24 * kGiB, {kNeuron});
  for (CallerId caller = 1; caller <= 5; ++caller) {
    Queue(caller, absl::StrCat("g", caller), Purpose::kTrainer, 900'000, kNeuron);
  }
  EXPECT_THAT(Take<Granted>(), SizeIs(2));  // 11 GiB each.
  EXPECT_LE(scheduler_.workers().Find(9)->reserved_bytes, 24 * kGiB);
}

TEST_F(SchedulerLeasesTest, WorkerWithoutAMemoryFigureIsLimitedByItsSlots) {
  Worker(9, 3, 0, {kNeuron});
  for (CallerId caller = 1; caller <= 5; ++caller) {
    Queue(caller, absl::StrCat("g", caller), Purpose::kTrainer, 20 << 20, kNeuron);
  }
  const auto granted = Take<Granted>();
  EXPECT_THAT(granted, SizeIs(3));
  EXPECT_EQ(granted[0].memory_limit_bytes, 0u);
}

TEST_F(SchedulerLeasesTest, SmallCompileFillsTheMemoryThatALargeOneCannotUse) {
  Worker(9, 8, 16 * kGiB, {kNeuron});
  Queue(1, "a", Purpose::kTrainer, 900'000, kNeuron);   // 11 GiB
  Queue(2, "b", Purpose::kTrainer, 900'000, kNeuron);   // 11 GiB: does not fit beside it.
  Queue(3, "small", Purpose::kTrainer, 1000, kNeuron);  // 4 GiB
  EXPECT_EQ(scheduler_.Find(KeyOf("b", kNeuron))->state, Compile::State::kQueued);
  EXPECT_EQ(scheduler_.Find(KeyOf("small", kNeuron))->state, Compile::State::kRunning);
  EXPECT_THAT(scheduler_.Describe(*scheduler_.Find(KeyOf("b", kNeuron)), now_).reason,
              HasSubstr("of memory on a worker"));
}

TEST_F(SchedulerLeasesTest, LargeCompileIsNotStarvedBySmallOnes) {
  Worker(9, 8, 16 * kGiB, {kNeuron});
  Queue(1, "small 0", Purpose::kTrainer, 1000, kNeuron);
  std::vector<LeaseToken> running{TakeGrant().token};
  Queue(2, "large", Purpose::kTrainer, 1'900'000, kNeuron);  // 15 GiB
  int started = 0;
  for (CallerId caller = 3; caller < 60; ++caller) {
    Queue(caller, absl::StrCat("small ", caller), Purpose::kTrainer, 1000, kNeuron);
    for (const Granted& granted : Take<Granted>()) running.push_back(granted.token);
    if (scheduler_.Find(KeyOf("large", kNeuron))->state == Compile::State::kRunning) break;
    if (!running.empty()) {
      Succeed(9, running.front());
      running.erase(running.begin());
      for (const Granted& granted : Take<Granted>()) running.push_back(granted.token);
    }
    ++started;
  }
  EXPECT_LT(started, 20);
  EXPECT_EQ(scheduler_.Find(KeyOf("large", kNeuron))->state, Compile::State::kRunning);
}

TEST_F(SchedulerLeasesTest, CompileLargerThanAllWorkersRunsAloneOnTheLargest) {
  Worker(9, 4, 16 * kGiB, {kNeuron});
  Worker(10, 4, 32 * kGiB, {kNeuron});
  Queue(1, "huge", Purpose::kTrainer, 50 << 20, kNeuron);  // 110 GiB
  const Granted granted = TakeGrant();
  EXPECT_EQ(granted.worker, 10u);
  EXPECT_EQ(scheduler_.workers().Find(10)->reserved_bytes, 32 * kGiB);
  EXPECT_EQ(granted.memory_limit_bytes, 32 * kGiB);
  Queue(2, "small", Purpose::kTrainer, 1000, kNeuron);
  EXPECT_EQ(TakeGrant().worker, 9u);
}

TEST_F(SchedulerLeasesTest, LeastBusyWorkerIsPreferred) {
  Worker(9, 2);
  Worker(10, 2);
  Queue(1, "a");
  Queue(2, "b");
  const auto granted = Take<Granted>();
  ASSERT_THAT(granted, SizeIs(2));
  EXPECT_NE(granted[0].worker, granted[1].worker);
}

TEST_F(SchedulerLeasesTest, WorkerInTroubleComesLast) {
  Worker(9, 4);
  Queue(1, "a");
  Fail(9, TakeGrant().token, FailureClass::kTransient);
  Worker(10, 4);
  Queue(2, "b");
  Queue(3, "c");
  for (const Granted& granted : Take<Granted>()) EXPECT_EQ(granted.worker, 10u);
}

TEST_F(SchedulerLeasesTest, LongQueueForAMissingToolchainDoesNotHoldUpOthers) {
  for (CallerId caller = 1; caller <= 500; ++caller) {
    Queue(caller, absl::StrCat("n", caller), Purpose::kTrainer, 1000, kNeuron);
  }
  Queue(1000, "g", Purpose::kRebuild);
  Worker(9);
  EXPECT_EQ(TakeGrant().key, KeyOf("g"));
}

TEST_F(SchedulerLeasesTest, NothingIsGivenOutAfterStopGranting) {
  scheduler_.StopGranting();
  Queue(1, "g");
  Worker(9);
  EXPECT_THAT(Take<Granted>(), IsEmpty());
}

}  // namespace
}  // namespace neffcache
