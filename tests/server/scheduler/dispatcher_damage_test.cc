// What rots on the disk costs a compile, and never the daemon or the key.

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

TEST_F(DispatcherDamageTest, EntryThatCannotBeReadIsCompiledAgain) {
  Compile("graph");
  Close();
  SpoilRow(Column::kEntries, OrderFor("graph").key);
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

TEST_F(DispatcherDamageTest, QueuedCompileThatCannotBeReadIsDroppedAndTheOthersGoOn) {
  RecordingClient spoilt;
  RecordingClient whole;
  BeginWithGraph(spoilt, "graph");
  BeginWithGraph(whole, "another graph");
  spoilt.call.reset();
  whole.call.reset();
  Close();
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

}  // namespace
}  // namespace neffcache
