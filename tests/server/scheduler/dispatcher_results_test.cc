// Workers: leases, results, failures, restarts.

#include <stop_token>
#include <thread>

#include "tests/server/scheduler/dispatcher_fixture.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using DispatcherResultsTest = DispatcherTest;

TEST_F(DispatcherResultsTest, OfferWithoutToolchainOrSlotIsRefused) {
  RecordingWorker worker;
  EXPECT_EQ(dispatcher_->AddWorker({.name = "w", .toolchains = {}}, worker).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(dispatcher_->AddWorker({.name = "w", .toolchains = {kToolchain}, .slots = 0}, worker)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(DispatcherResultsTest, LostWorkersCompileIsTakenOverAndItsLateResultRefused) {
  RecordingWorker first, second;
  Connect(first, "first");
  RecordingClient client;
  BeginWithGraph(client, "graph");
  const Lease lost = first.AwaitLease();
  Connect(second, "second");
  Disconnect(first);
  const Lease taken_over = second.AwaitLease();
  EXPECT_NE(taken_over.token, lost.token);
  EXPECT_EQ(client.Last<RunningEvent>().attempt, 2u);
  EXPECT_EQ(dispatcher_->FindLease(first.id, lost.token).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(FinishReady(first, lost.token, "late").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(dispatcher_->Count().late, 1u);
  ASSERT_TRUE(FinishReady(second, taken_over.token, "artifact").ok());
  const ReadyEvent ready = client.Await<ReadyEvent>();
  EXPECT_EQ(ready.entry.ready()->digest, Sha256Of("artifact"));
  EXPECT_EQ(ready.entry.worker, "second");
  EXPECT_EQ(ready.entry.fencing_token, taken_over.token);
  EXPECT_THAT(*store_->LoadQueue(), IsEmpty());
  Disconnect(second);
}

TEST_F(DispatcherResultsTest, PublishedArtifactEndsTheCompileInWhateverState) {
  const auto publish = [this](const std::string& graph) {
    Entry entry;
    const CompileOrder order = OrderFor(graph);
    entry.key = order.key;
    entry.material = order.material;
    entry.state = Artifact{Sha256Of("published"), 9};
    entry.created = absl::Now();
    const auto committed =
        store_->CommitReady(entry, Stage(ContentKind::kArtifact, "published"), absl::nullopt);
    ASSERT_TRUE(committed.ok()) << committed.status();
    dispatcher_->Published(committed->entry);
  };
  RecordingClient asked, queued, runs;
  Begin(asked, OrderFor("asked"));
  BeginWithGraph(runs, "runs");
  RecordingWorker worker;
  Connect(worker);
  const Lease lease = worker.AwaitLease();
  BeginWithGraph(queued, "queued");
  EXPECT_THAT(dispatcher_->AreInFlight({OrderFor("asked").key, OrderFor("none").key, lease.key}),
              ElementsAre(true, false, true));
  EXPECT_THAT(dispatcher_->KeysInFlight(), SizeIs(3));

  publish("asked");
  publish("queued");
  publish("runs");
  for (const RecordingClient* client : {&asked, &queued, &runs}) {
    EXPECT_EQ(client->Await<ReadyEvent>().entry.ready()->digest, Sha256Of("published"));
  }
  EXPECT_THAT(worker.revoked(), ElementsAre(lease.token));
  EXPECT_EQ(FinishReady(worker, lease.token, "late").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(dispatcher_->ListCompiles(), IsEmpty());
  EXPECT_THAT(*store_->LoadQueue(), IsEmpty());
  EXPECT_EQ(dispatcher_->ListWorkers()[0].busy, 0u);
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, SilentWorkerIsToldThatItsLeaseIsOver) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  BeginWithGraph(client, "graph");
  const Lease lease = worker.AwaitLease();
  Pass(absl::Seconds(15));
  EXPECT_THAT(worker.revoked(), ElementsAre(lease.token));
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, ResultMustBeEitherAnArtifactOrAFailure) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  BeginWithGraph(client, "graph");
  const Lease lease = worker.AwaitLease();
  EXPECT_EQ(dispatcher_->Finish(worker.id, lease.token, CompileResult()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(FinishReady(worker, lease.token, "artifact").ok());  // The lease was not touched.
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, ResultSentTwiceIsRefusedTheSecondTime) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  BeginWithGraph(client, "graph");
  const Lease lease = worker.AwaitLease();
  EXPECT_TRUE(FinishReady(worker, lease.token, "artifact").ok());
  EXPECT_EQ(FinishReady(worker, lease.token, "artifact").status().code(),
            absl::StatusCode::kFailedPrecondition);
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, EarlierPublishedArtifactStaysAndIsWhatWaitersGet) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  BeginWithGraph(client, "graph");
  const Lease lease = worker.AwaitLease();
  Entry published;
  published.key = lease.key;
  published.material = lease.material;
  published.state = Artifact{Sha256Of("published"), 9};
  ASSERT_TRUE(
      store_->CommitReady(published, Stage(ContentKind::kArtifact, "published"), absl::nullopt)
          .ok());
  const auto finished = FinishReady(worker, lease.token, "artifact");
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_FALSE(*finished);
  EXPECT_EQ(client.Await<ReadyEvent>().entry.ready()->digest, Sha256Of("published"));
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, RestartTakesUpTheQueue) {
  RecordingClient client;
  BeginWithGraph(client, "graph");
  client.call.reset();
  Restart();
  RecordingWorker worker;
  Connect(worker);
  const Lease lease = worker.AwaitLease();
  EXPECT_EQ(lease.key, OrderFor("graph").key);
  RecordingClient again;
  Begin(again, OrderFor("graph"));
  EXPECT_EQ(again.Count<NeedGraphEvent>(), 0);
  ASSERT_TRUE(FinishReady(worker, lease.token, "artifact").ok());
  EXPECT_TRUE(again.Await<ReadyEvent>().compiled);
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, LeaseOfThePastDaemonIsVoid) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  BeginWithGraph(client, "graph");
  const Lease old = worker.AwaitLease();
  const WorkerId old_id = worker.id;
  client.call.reset();
  Disconnect(worker);
  Restart();
  RecordingWorker same;
  Connect(same);
  const Lease lease = same.AwaitLease();
  EXPECT_GT(lease.token, old.token);
  EXPECT_GT(same.id, old_id);
  EXPECT_FALSE(FinishReady(worker, old.token, "late").ok());
  Disconnect(same);
}

TEST_F(DispatcherResultsTest, AttemptsSurviveARestart) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  BeginWithGraph(client, "graph");
  worker.AwaitLease();
  client.call.reset();
  Disconnect(worker);
  Restart();
  EXPECT_EQ(dispatcher_->FindCompile(OrderFor("graph").key)->attempt, 2u);
}

// --- Failures

TEST_F(DispatcherResultsTest, DeterministicFailureIsRememberedWithItsLogAndReplayed) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  BeginWithGraph(client, "graph");
  const auto finished =
      FinishFailed(worker, worker.AwaitLease().token, FailureClass::kDeterministic);
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_TRUE(*finished);
  const FailedEvent failed = client.Await<FailedEvent>();
  ASSERT_NE(failed.entry.failed(), nullptr);
  EXPECT_EQ(failed.entry.failed()->message, "NCC_TEST refused it");
  EXPECT_EQ(failed.entry.failed()->exit_code, 70);
  EXPECT_EQ(failed.entry.failed()->worker, "w");
  RecordingClient again;
  Begin(again, OrderFor("graph"));
  EXPECT_EQ(again.Await<FailedEvent>().entry.log, Sha256Of("the log"));
  EXPECT_THAT(worker.leases(), SizeIs(1));
  EXPECT_THAT(*store_->LoadQueue(), IsEmpty());
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, RetryFailedForgetsTheFailureAndCompilesAgain) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  BeginWithGraph(client, "graph");
  ASSERT_TRUE(FinishFailed(worker, worker.AwaitLease().token, FailureClass::kDeterministic).ok());
  CompileOrder order = OrderFor("graph");
  order.retry_failed = true;
  RecordingClient again;
  Begin(again, order);
  if (again.Count<NeedGraphEvent>() > 0) {
    ASSERT_TRUE(SendGraph(again, "graph").ok());
  }
  ASSERT_TRUE(FinishReady(worker, worker.AwaitLease(1).token, "artifact").ok());
  EXPECT_TRUE(again.Await<ReadyEvent>().compiled);
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, TransientFailuresAreRetriedThenGivenUpButNotRemembered) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  BeginWithGraph(client, "graph");
  for (size_t attempt = 0; attempt < 3; ++attempt) {
    EXPECT_FALSE(client.ended());
    const auto finished =
        FinishFailed(worker, worker.AwaitLease(attempt).token, FailureClass::kTransient);
    ASSERT_TRUE(finished.ok()) << finished.status();
    EXPECT_FALSE(*finished);
    dispatcher_->Heartbeat(worker.id, {});
    Pass(absl::Seconds(10));
  }
  const FailedEvent failed = client.Await<FailedEvent>();
  EXPECT_EQ(failed.entry.failed()->attempts, 3u);
  EXPECT_EQ(store_->Find(OrderFor("graph").key).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(*store_->LoadQueue(), IsEmpty());
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, CompileWhoseWorkersAllDieIsGivenUpOutsideAnyCallOfTheClients) {
  RecordingClient client;
  BeginWithGraph(client, "graph");
  for (int i = 0; i < 3; ++i) {
    RecordingWorker worker;
    Connect(worker, absl::StrCat("w", i));
    worker.AwaitLease();
    Disconnect(worker);
  }
  const FailedEvent failed = client.Await<FailedEvent>();
  EXPECT_EQ(failed.entry.failed()->failure_class, FailureClass::kTransient);
  EXPECT_THAT(failed.entry.failed()->message, HasSubstr("was lost"));
  EXPECT_THAT(*store_->LoadQueue(), IsEmpty());
}

TEST_F(DispatcherResultsTest, ViewsShowWhatGoesOn) {
  RecordingWorker worker;
  Connect(worker, "node-1:42");
  RecordingClient running, queued;
  BeginWithGraph(running, "graph 1");
  BeginWithGraph(queued, "graph 2");
  const auto compiles = dispatcher_->ListCompiles();
  ASSERT_THAT(compiles, SizeIs(2));
  EXPECT_EQ(compiles[0].state, CompileView::State::kRunning);
  EXPECT_EQ(compiles[0].worker, "node-1:42");
  EXPECT_EQ(compiles[1].state, CompileView::State::kQueued);
  EXPECT_EQ(compiles[1].waiters, 1u);
  const auto workers = dispatcher_->ListWorkers();
  ASSERT_THAT(workers, SizeIs(1));
  EXPECT_EQ(workers[0].busy, 1u);
  EXPECT_GT(workers[0].reserved_bytes, 0u);
  EXPECT_THAT(dispatcher_->ListToolchains(), ElementsAre(kToolchain));
  const DispatchCounts counts = dispatcher_->Count();
  EXPECT_EQ(counts.queued, 1u);
  EXPECT_EQ(counts.running, 1u);
  EXPECT_EQ(counts.slots, 1u);
  dispatcher_->Shutdown();
  EXPECT_TRUE(worker.drained());
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, WhatRunsWhenTheDaemonDrainsIsFinishedAndNothingElseStarts) {
  RecordingWorker worker;
  RecordingClient running, queued;
  Connect(worker);
  BeginWithGraph(running, "graph 1");
  const Lease lease = worker.AwaitLease();
  BeginWithGraph(queued, "graph 2");
  dispatcher_->Drain();
  EXPECT_TRUE(worker.drained());
  EXPECT_FALSE(dispatcher_->AwaitDrained(absl::InfinitePast(), {}));
  {
    const std::jthread finisher(
        [&] { EXPECT_THAT(FinishReady(worker, lease.token, "neff"), true); });
    EXPECT_TRUE(dispatcher_->AwaitDrained(absl::InfiniteFuture(), {}));
  }
  EXPECT_TRUE(store_->Find(lease.key)->ready() != nullptr);
  EXPECT_EQ(worker.leases().size(), 1u);
  RecordingClient late;
  Begin(late, OrderFor("graph 1"));
  EXPECT_EQ(late.Await<ReadyEvent>().entry.key, lease.key);  // What is ready is still served.
  Disconnect(worker);
}

TEST_F(DispatcherResultsTest, AStopRequestEndsTheWaitForADrainAndShutdownStopsWhatRuns) {
  RecordingWorker worker;
  RecordingClient client;
  Connect(worker);
  BeginWithGraph(client, "graph");
  const Lease lease = worker.AwaitLease();
  dispatcher_->Drain();
  std::stop_source hurry;
  {
    const std::jthread second_signal([&] { hurry.request_stop(); });
    EXPECT_FALSE(dispatcher_->AwaitDrained(absl::InfiniteFuture(), hurry.get_token()));
  }
  EXPECT_THAT(worker.revoked(), IsEmpty());
  dispatcher_->Shutdown();
  EXPECT_THAT(worker.revoked(), ElementsAre(lease.token));
  Disconnect(worker);
  EXPECT_EQ(store_->LoadQueue()->size(), 1u);
}

}  // namespace
}  // namespace neffcache
