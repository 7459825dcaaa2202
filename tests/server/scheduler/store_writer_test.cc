#include "server/scheduler/store_writer.h"

#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;

Key KeyOf(char byte) {
  return *Key::FromBytes(std::string(32, byte));
}

TEST(StoreWriterTest, WritesAreDoneInOrderAndAllBeforeTheEnd) {
  std::vector<int> done;
  {
    StoreWriter writer;
    for (int i = 0; i < 3; ++i) writer.Post(KeyOf('a'), [&done, i] { done.push_back(i); });
  }
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
}

TEST(StoreWriterTest, AwaitReturnsWhenTheKeysWritesAreDone) {
  StoreWriter writer;
  absl::Notification go_on;
  bool written = false;
  writer.Post(KeyOf('a'), [&] {
    go_on.WaitForNotification();
    written = true;
  });
  writer.Await(KeyOf('b'));  // Not held up by another key's.
  EXPECT_FALSE(go_on.HasBeenNotified());
  std::jthread releaser([&] { go_on.Notify(); });
  writer.Await(KeyOf('a'));
  EXPECT_TRUE(written);
}

}  // namespace
}  // namespace neffcache
