// Clients: one graph asked for, one compile, an end for every wait.

#include <deque>
#include <thread>

#include "tests/server/scheduler/dispatcher_fixture.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using DispatcherOrdersTest = DispatcherTest;

TEST_F(DispatcherOrdersTest, SixtyFourClientsAtOnceMakeOneCompile) {
  constexpr int kClients = 64;
  RecordingWorker worker;
  Connect(worker);
  std::deque<RecordingClient> clients(kClients);
  {
    std::vector<std::jthread> threads;
    threads.reserve(clients.size() + 8);
    for (RecordingClient& client : clients) {
      threads.emplace_back([&] { Begin(client, OrderFor("graph")); });
    }
  }
  RecordingClient* asked = nullptr;
  for (RecordingClient& client : clients) {
    if (client.Count<NeedGraphEvent>() == 0) continue;
    EXPECT_EQ(asked, nullptr) << "two clients were asked for the graph";
    asked = &client;
  }
  ASSERT_NE(asked, nullptr);
  ASSERT_TRUE(SendGraph(*asked, "graph").ok());
  const Lease lease = worker.AwaitLease();
  EXPECT_EQ(lease.key, OrderFor("graph").key);
  EXPECT_EQ(lease.graph.digest, Sha256Of("graph"));
  const auto finished = FinishReady(worker, lease.token, "artifact");
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_TRUE(*finished);
  for (RecordingClient& client : clients) {
    const ReadyEvent ready = client.Await<ReadyEvent>();
    EXPECT_TRUE(ready.compiled);
    ASSERT_NE(ready.entry.ready(), nullptr);
    EXPECT_EQ(ready.entry.ready()->digest, Sha256Of("artifact"));
    EXPECT_EQ(client.events_after_the_end(), 0);
  }
  EXPECT_THAT(worker.leases(), SizeIs(1));
  EXPECT_EQ(dispatcher_->Count().joined, uint64_t{kClients - 1});
  EXPECT_EQ(dispatcher_->Count().done, 1u);
  clients.clear();
  Disconnect(worker);
}

TEST_F(DispatcherOrdersTest, HitIsAnsweredAtOnce) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient first;
  BeginWithGraph(first, "graph");
  ASSERT_TRUE(FinishReady(worker, worker.AwaitLease().token, "artifact").ok());
  RecordingClient second;
  Begin(second, OrderFor("graph"));
  EXPECT_TRUE(second.ended());
  EXPECT_FALSE(second.Await<ReadyEvent>().compiled);
  Disconnect(worker);
}

TEST_F(DispatcherOrdersTest, WhenTheSenderLeavesTheNextIsAsked) {
  RecordingClient first, second;
  Begin(first, OrderFor("graph"));
  Begin(second, OrderFor("graph"));
  EXPECT_EQ(first.Count<NeedGraphEvent>(), 1);
  EXPECT_EQ(second.Count<NeedGraphEvent>(), 0);
  first.call.reset();
  EXPECT_EQ(second.Count<NeedGraphEvent>(), 1);
  EXPECT_TRUE(SendGraph(second, "graph").ok());
  EXPECT_EQ(second.Count<QueuedEvent>(), 1);
}

TEST_F(DispatcherOrdersTest, AnotherGraphThanOrderedIsRefusedAndTheNextIsAsked) {
  RecordingClient first, second;
  Begin(first, OrderFor("graph"));
  Begin(second, OrderFor("graph"));
  const absl::Status status = SendGraph(first, "another graph");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("fingerprint"));
  EXPECT_EQ(second.Count<NeedGraphEvent>(), 1);
  EXPECT_TRUE(SendGraph(second, "graph").ok());
}

TEST_F(DispatcherOrdersTest, GraphThatNobodyAskedForIsRefused) {
  RecordingClient first, second;
  Begin(first, OrderFor("graph"));
  Begin(second, OrderFor("graph"));
  EXPECT_EQ(SendGraph(second, "graph").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DispatcherOrdersTest, KeptGraphIsNotAskedForAgain) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient first;
  BeginWithGraph(first, "graph");
  ASSERT_TRUE(FinishReady(worker, worker.AwaitLease().token, "artifact").ok());
  CompileOrder other = OrderFor("graph");
  other.material.options = {"--optlevel=2"};
  other.key = ComputeKey(other.material);
  RecordingClient second;
  Begin(second, other);
  EXPECT_EQ(second.Count<NeedGraphEvent>(), 0);
  EXPECT_EQ(worker.AwaitLease(1).key, other.key);
  Disconnect(worker);
}

TEST_F(DispatcherOrdersTest, QueuedIsSaidOnlyWhenItSurvivesARestart) {
  RecordingClient client;
  BeginWithGraph(client, "graph");
  const QueuedEvent queued = client.Await<QueuedEvent>();
  EXPECT_TRUE(queued.kept);
  EXPECT_THAT(queued.reason, HasSubstr("no connected worker offers xla-cpu 1"));
  EXPECT_THAT(*store_->LoadQueue(), SizeIs(1));
}

TEST_F(DispatcherOrdersTest, UnknownToolchainIsRefusedToThoseWhoDoNotWantToWait) {
  RecordingClient waits;
  BeginWithGraph(waits, "graph");
  CompileOrder order = OrderFor("graph");
  order.refuse_unknown_toolchain = true;
  RecordingClient joins;
  Begin(joins, order);
  EXPECT_EQ(joins.Await<RefusedEvent>().status.code(), absl::StatusCode::kFailedPrecondition);
  order = OrderFor("another graph");
  order.refuse_unknown_toolchain = true;
  RecordingClient starts;
  Begin(starts, order);
  EXPECT_EQ(starts.Await<RefusedEvent>().status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(waits.ended());
  EXPECT_FALSE(dispatcher_->FindCompile(order.key).has_value());
}

TEST_F(DispatcherOrdersTest, FullQueueRefusesNewCompilesButNotHits) {
  dispatcher_.reset();
  store_.reset();
  options_.max_queued = 1;
  Open();
  RecordingClient first, second, third;
  BeginWithGraph(first, "graph 1");
  Begin(second, OrderFor("graph 2"));
  EXPECT_EQ(second.Await<RefusedEvent>().status.code(), absl::StatusCode::kResourceExhausted);
  Begin(third, OrderFor("graph 1"));  // Joins.
  EXPECT_FALSE(third.ended());
}

TEST_F(DispatcherOrdersTest, NobodyIsLeftInSilence) {
  RecordingWorker worker;
  RecordingClient sender, waits;
  Begin(sender, OrderFor("graph"));
  Begin(waits, OrderFor("graph"));
  Pass(absl::Seconds(6));
  EXPECT_EQ(waits.Count<QueuedEvent>(), 1);
  EXPECT_FALSE(waits.Last<QueuedEvent>().kept);
  ASSERT_TRUE(SendGraph(sender, "graph").ok());
  EXPECT_TRUE(waits.Last<QueuedEvent>().kept);
  const int queued = waits.Count<QueuedEvent>();
  for (int i = 0; i < 2; ++i) Pass(absl::Seconds(5));
  EXPECT_EQ(waits.Count<QueuedEvent>(), queued + 2);
  Connect(worker);
  const int running = waits.Count<RunningEvent>();
  EXPECT_EQ(running, 1);
  for (int i = 0; i < 2; ++i) Pass(absl::Seconds(5));
  EXPECT_EQ(waits.Count<RunningEvent>(), running + 2);
  EXPECT_EQ(waits.Last<RunningEvent>().elapsed, absl::Seconds(10));
  EXPECT_EQ(waits.Last<RunningEvent>().worker, "w");
  Disconnect(worker);
}

TEST_F(DispatcherOrdersTest, ProgressReachesTheWaiters) {
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  BeginWithGraph(client, "graph");
  const Lease lease = worker.AwaitLease();
  dispatcher_->Heartbeat(worker.id, {LeaseProgress{lease.token, 12345, "tiling"}});
  EXPECT_EQ(client.Last<RunningEvent>().memory_bytes, 12345u);
  EXPECT_EQ(client.Last<RunningEvent>().last_log_line, "tiling");
  Disconnect(worker);
}

TEST_F(DispatcherOrdersTest, PositionsMoveUpAsCompilesEnd) {
  RecordingWorker worker;
  std::deque<RecordingClient> clients(3);
  for (int i = 0; i < 3; ++i) BeginWithGraph(clients[i], absl::StrCat("graph ", i));
  EXPECT_EQ(clients[2].Last<QueuedEvent>().position, 2u);
  Connect(worker);
  Pass(absl::Seconds(1));
  EXPECT_EQ(clients[2].Last<QueuedEvent>().position, 1u);
  clients.clear();
  Disconnect(worker);
}

TEST_F(DispatcherOrdersTest, ListenerIsNotCalledAfterTheCallIsGone) {
  RecordingClient client;
  BeginWithGraph(client, "graph");
  const int events = client.Count<QueuedEvent>();
  client.call.reset();
  Pass(absl::Seconds(20));
  EXPECT_EQ(client.Count<QueuedEvent>(), events);
  EXPECT_TRUE(dispatcher_->FindCompile(OrderFor("graph").key).has_value());  // It goes on.
}

TEST_F(DispatcherOrdersTest, ShutdownEndsEveryWaitAndKeepsTheQueue) {
  RecordingWorker worker;
  RecordingClient asked, queued;
  Begin(asked, OrderFor("graph 1"));
  BeginWithGraph(queued, "graph 2");
  dispatcher_->Shutdown();
  EXPECT_EQ(asked.Await<RefusedEvent>().status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(queued.Await<RefusedEvent>().status.code(), absl::StatusCode::kUnavailable);
  RecordingClient late;
  Begin(late, OrderFor("graph 3"));
  EXPECT_EQ(late.Await<RefusedEvent>().status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(*store_->LoadQueue(), SizeIs(1));
}

TEST_F(DispatcherOrdersTest, ManyClientsAndWorkersAtOnceAllEnd) {
  constexpr int kGraphs = 12;
  constexpr int kClientsEach = 6;
  std::deque<RecordingWorker> workers(3);
  for (size_t i = 0; i < workers.size(); ++i) Connect(workers[i], absl::StrCat("w", i));
  std::deque<RecordingClient> clients(kGraphs * kClientsEach);
  std::atomic<int> finished = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(clients.size() + 8);
    for (RecordingWorker& worker : workers) {
      threads.emplace_back([&] {
        for (size_t next = 0; finished < kGraphs;) {
          if (worker.leases().size() == next) {
            std::this_thread::yield();
            continue;
          }
          const Lease lease = worker.AwaitLease(next++);
          EXPECT_TRUE(FinishReady(worker, lease.token, lease.key.Hex()).ok());
          ++finished;
        }
      });
    }
    for (int i = 0; i < kGraphs * kClientsEach; ++i) {
      threads.emplace_back([this, i, &clients] {
        const std::string graph = absl::StrCat("graph ", i % kGraphs);
        Begin(clients[i], OrderFor(graph));
        const auto asked_or_ended = [&] {
          return clients[i].ended() || clients[i].Count<NeedGraphEvent>() > 0;
        };
        while (!asked_or_ended()) std::this_thread::yield();
        if (clients[i].Count<NeedGraphEvent>() > 0) {
          EXPECT_TRUE(SendGraph(clients[i], graph).ok());
        }
        clients[i].Await<ReadyEvent>();
      });
    }
  }
  EXPECT_EQ(dispatcher_->Count().done, uint64_t{kGraphs});
  EXPECT_THAT(dispatcher_->ListCompiles(), IsEmpty());
  clients.clear();
  for (RecordingWorker& worker : workers) Disconnect(worker);
}

}  // namespace
}  // namespace neffcache
