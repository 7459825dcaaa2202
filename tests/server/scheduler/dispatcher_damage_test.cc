// What rots on the disk costs a compile, and never the daemon or the key.

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/server/scheduler/dispatcher_fixture.h"

namespace neffcache {
namespace {

using ::testing::SizeIs;

class DispatcherDamageTest : public DispatcherTest {
 protected:
  // Asked for, compiled and committed.
  void Compile(const std::string& graph) {
    RecordingWorker worker;
    Connect(worker);
    RecordingClient client;
    BeginWithGraph(client, graph);
    ASSERT_TRUE(FinishReady(worker, worker.AwaitLease().token, "artifact of " + graph).ok());
    client.Await<ReadyEvent>();
    Disconnect(worker);
  }
  // "graph" and "another graph" are queued, and nobody waits for them.
  void QueueTwoAndClose() {
    RecordingClient one;
    RecordingClient other;
    BeginWithGraph(one, "graph");
    BeginWithGraph(other, "another graph");
    one.call.reset();
    other.call.reset();
    Close();
  }
  std::string GraphPath(const std::string& graph) const {
    const std::string hex = Sha256Of(graph).Hex();
    return absl::StrCat(directory_, "/artifacts/", hex.substr(0, 2), "/", hex, ".zst");
  }
  // Flips a bit of the graph's last byte, which every reader but a careful one takes for whole.
  void SpoilGraph(const std::string& graph) {
    std::filesystem::permissions(GraphPath(graph), std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::fstream file(GraphPath(graph), std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file.is_open());
    file.seekg(-1, std::ios::end);
    const int last = file.get();
    file.seekp(-1, std::ios::end);
    file.put(static_cast<char>(last ^ 1));
  }
  // The same graph for another key.
  static CompileOrder OrderForOther(const std::string& graph) {
    CompileOrder order = OrderFor(graph);
    order.material.options = {"--optlevel=1"};
    order.key = ComputeKey(order.material);
    return order;
  }
};

TEST_F(DispatcherDamageTest, EntryThatCannotBeReadDoesNotKeepTheDaemonFromStarting) {
  Compile("graph");
  Compile("another graph");
  Close();
  SpoilRow(Column::kEntries, OrderFor("graph").key);
  Open();
  RecordingClient client;
  Begin(client, OrderFor("another graph"));
  EXPECT_EQ(client.Count<ReadyEvent>(), 1);
}

TEST_F(DispatcherDamageTest, EntryThatCannotBeReadIsAnsweredFromItsRecord) {
  Compile("graph");
  const Digest first = store_->Find(OrderFor("graph").key)->ready()->digest;
  Close();
  SpoilRow(Column::kEntries, OrderFor("graph").key);
  Open();
  RecordingClient client;
  Begin(client, OrderFor("graph"));
  EXPECT_EQ(client.Await<ReadyEvent>().entry.ready()->digest, first);
  EXPECT_EQ(client.Count<QueuedEvent>(), 0);
}

TEST_F(DispatcherDamageTest, EntryThatCannotBeReadAndHasNoRecordIsCompiledAgain) {
  Compile("graph");
  Close();
  SpoilRow(Column::kEntries, OrderFor("graph").key);
  for (const auto& shard : std::filesystem::directory_iterator(directory_ + "/records")) {
    std::filesystem::remove_all(shard);
  }
  Open();
  RecordingWorker worker;
  Connect(worker);
  RecordingClient client;
  Begin(client, OrderFor("graph"));
  ASSERT_EQ(client.Count<RefusedEvent>(), 0);
  ASSERT_TRUE(FinishReady(worker, worker.AwaitLease().token, "artifact").ok());
  EXPECT_TRUE(client.Await<ReadyEvent>().compiled);
  EXPECT_TRUE(store_->Find(OrderFor("graph").key).ok());
  Disconnect(worker);
}

TEST_F(DispatcherDamageTest, WhatIsQuarantinedIsCompiledAgainFromTheKeptGraphAsARebuild) {
  Compile("graph");
  const Key key = OrderFor("graph").key;
  ASSERT_TRUE(store_->Quarantine(store_->Find(key)->ready()->digest).ok());
  ASSERT_FALSE(store_->Find(key).ok());
  dispatcher_->Tick();
  RecordingWorker worker;
  Connect(worker);
  const Lease lease = worker.AwaitLease();
  EXPECT_EQ(lease.key, key);
  const auto queue = store_->LoadQueue();  // A restart would go on with it.
  ASSERT_THAT(*queue, SizeIs(1));
  EXPECT_EQ(queue->front().purpose, Purpose::kRebuild);
  ASSERT_TRUE(FinishReady(worker, lease.token, "another artifact").ok());
  EXPECT_EQ(store_->Find(key)->ready()->digest, Sha256Of("another artifact"));
  Disconnect(worker);
}

TEST_F(DispatcherDamageTest, WhatIsQuarantinedWithoutAKeptGraphWaitsUntilSomebodyAsks) {
  Compile("graph");
  const Key key = OrderFor("graph").key;
  SpoilGraph("graph");
  ASSERT_TRUE(store_->Quarantine(store_->Find(key)->ready()->digest).ok());
  dispatcher_->Tick();
  RecordingClient client;
  Begin(client, OrderFor("graph"));
  client.Await<NeedGraphEvent>();
  ASSERT_TRUE(SendGraph(client, "graph").ok());
  EXPECT_GT(client.Count<QueuedEvent>(), 0);
}

TEST_F(DispatcherDamageTest, QueuedCompileThatCannotBeReadIsDroppedAndTheOthersGoOn) {
  QueueTwoAndClose();
  SpoilRow(Column::kQueue, OrderFor("graph").key);
  Open();
  EXPECT_THAT(*store_->LoadQueue(), SizeIs(1));
  EXPECT_EQ(store_->Count()->damaged, 1u);
  EXPECT_FALSE(dispatcher_->FindCompile(OrderFor("graph").key).has_value());
  EXPECT_TRUE(dispatcher_->FindCompile(OrderFor("another graph").key).has_value());
  RecordingClient again;
  Begin(again, OrderFor("graph"));
  EXPECT_GT(again.Count<QueuedEvent>(), 0);
  EXPECT_THAT(*store_->LoadQueue(), SizeIs(2));
}

TEST_F(DispatcherDamageTest, DamagedGraphIsAskedForAgain) {
  Compile("graph");
  SpoilGraph("graph");
  RecordingClient client;
  Begin(client, OrderForOther("graph"));
  ASSERT_EQ(client.Count<NeedGraphEvent>(), 1);
  EXPECT_FALSE(std::filesystem::exists(GraphPath("graph")));
  EXPECT_FALSE(store_->FindGraph(OrderFor("graph").material.fingerprint).ok());
  ASSERT_TRUE(SendGraph(client, "graph").ok());
  EXPECT_GT(client.Count<QueuedEvent>(), 0);
  client.call.reset();
  // What was sent is whole.
  RecordingClient again;
  CompileOrder order = OrderForOther("graph");
  order.material.options = {"--optlevel=3"};
  order.key = ComputeKey(order.material);
  Begin(again, order);
  EXPECT_EQ(again.Count<NeedGraphEvent>(), 0);
  EXPECT_GT(again.Count<QueuedEvent>(), 0);
}

TEST_F(DispatcherDamageTest, GraphWithoutItsFileIsAskedForAgain) {
  Compile("graph");
  std::filesystem::remove(GraphPath("graph"));
  RecordingClient client;
  Begin(client, OrderForOther("graph"));
  EXPECT_EQ(client.Count<NeedGraphEvent>(), 1);
}

TEST_F(DispatcherDamageTest, QueuedCompileOfADamagedGraphIsDroppedAfterTheStart) {
  QueueTwoAndClose();
  SpoilGraph("graph");
  absl::Mutex mutex;
  std::string logged;
  options_.log = [&](absl::string_view line) {
    absl::MutexLock lock(&mutex);
    absl::StrAppend(&logged, line);
  };
  Open();
  RecordingClient again;
  Begin(again, OrderFor("graph"));
  // Whether its graph was looked at before or after.
  again.Await<NeedGraphEvent>();
  EXPECT_THAT(*store_->LoadQueue(), SizeIs(1));
  EXPECT_TRUE(dispatcher_->FindCompile(OrderFor("another graph").key).has_value());
  EXPECT_EQ(store_->Count()->damaged, 1u);
  ASSERT_TRUE(SendGraph(again, "graph").ok());
  EXPECT_THAT(*store_->LoadQueue(), SizeIs(2));
  absl::MutexLock lock(&mutex);
  EXPECT_THAT(logged, ::testing::HasSubstr(OrderFor("graph").key.Hex()));
}

TEST_F(DispatcherDamageTest, QueuedCompileWhoseGraphCannotBeReadJustNowStaysQueued) {
  options_.wall_clock = options_.clock;
  Restart();
  RecordingClient unreadable;
  BeginWithGraph(unreadable, "graph");
  Pass(absl::Seconds(1));
  RecordingClient spoilt;
  BeginWithGraph(spoilt, "another graph");
  unreadable.call.reset();
  spoilt.call.reset();
  Close();
  // Neither absent nor damaged, even for root: its directory is none.
  const std::string path = std::filesystem::path(GraphPath("graph")).parent_path();
  std::filesystem::rename(path, directory_ + "/elsewhere");
  std::ofstream(path) << "not a directory";
  SpoilGraph("another graph");
  Open();
  RecordingClient later;
  Begin(later, OrderFor("another graph"));
  later.Await<NeedGraphEvent>();  // So the graph of the one before it was looked at.
  EXPECT_TRUE(dispatcher_->FindCompile(OrderFor("graph").key).has_value());
  ASSERT_THAT(*store_->LoadQueue(), SizeIs(1));
  EXPECT_EQ(store_->LoadQueue()->front().key, OrderFor("graph").key);
  later.call.reset();
  Close();
  std::filesystem::remove(path);
  std::filesystem::rename(directory_ + "/elsewhere", path);
  Open();
  RecordingWorker worker;
  Connect(worker);
  EXPECT_EQ(worker.AwaitLease().key, OrderFor("graph").key);
  Disconnect(worker);
}

}  // namespace
}  // namespace neffcache
