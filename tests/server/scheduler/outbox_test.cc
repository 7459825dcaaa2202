#include "server/scheduler/outbox.h"

#include <atomic>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OutboxTest, MessagesWaitForDeliveryAndComeInOrder) {
  std::vector<int> received;
  Outbox<int> outbox([&](int message) { received.push_back(message); });
  outbox.Push(1);
  outbox.Push(2);
  EXPECT_THAT(received, IsEmpty());
  outbox.Deliver();
  EXPECT_THAT(received, ElementsAre(1, 2));
}

TEST(OutboxTest, ManyThreadsDeliverOneAtATimeInOrder) {
  constexpr int kMessages = 5000;
  absl::Mutex order;
  int next = 0;
  std::atomic<int> inside = 0;
  std::vector<int> received;
  Outbox<int> outbox([&](int message) {
    EXPECT_EQ(inside.fetch_add(1), 0);
    received.push_back(message);
    inside.fetch_sub(1);
  });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        while (true) {
          {
            absl::MutexLock lock(&order);
            if (next == kMessages) return;
            outbox.Push(next++);
          }
          outbox.Deliver();
        }
      });
    }
  }
  ASSERT_EQ(received.size(), size_t{kMessages});
  EXPECT_TRUE(std::is_sorted(received.begin(), received.end()));
}

TEST(OutboxTest, CloseWaitsForTheCallThatIsBeingMadeAndNoneFollows) {
  absl::Notification entered;
  absl::Notification go_on;
  std::atomic<int> calls = 0;
  std::atomic<bool> inside = false;
  Outbox<int> outbox([&](int) {
    inside = true;
    if (++calls == 1) entered.Notify();
    go_on.WaitForNotification();
    inside = false;
  });
  outbox.Push(1);
  outbox.Push(2);
  std::jthread deliverer([&] { outbox.Deliver(); });
  entered.WaitForNotification();
  std::jthread releaser([&] { go_on.Notify(); });
  outbox.Close();
  EXPECT_FALSE(inside);
  const int calls_at_close = calls;  // Both messages, or the first only.
  outbox.Push(3);
  outbox.Deliver();
  EXPECT_EQ(calls, calls_at_close);
}

TEST(OutboxTest, ReceiverMayCloseItsOwnOutbox) {
  int calls = 0;
  Outbox<int>* self = nullptr;
  Outbox<int> outbox([&](int) {
    ++calls;
    self->Close();
  });
  self = &outbox;
  outbox.Push(1);
  outbox.Push(2);
  outbox.Deliver();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace neffcache
