#include "server/rpc/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/rpc/strand.h"

namespace neffcache {
namespace {

TEST(ExecutorTest, TasksRunAtTheSameTimeOnItsThreads) {
  Executor executor(3);
  std::barrier together(3);
  std::atomic<int> done{0};
  absl::Notification all;
  for (int i = 0; i < 3; ++i) {
    executor.Run([&] {
      together.arrive_and_wait();  // Only returns when all three run.
      if (++done == 3) all.Notify();
    });
  }
  EXPECT_TRUE(all.WaitForNotificationWithTimeout(absl::Seconds(20)));
}

TEST(ExecutorTest, TheDestructorRunsWhatIsQueuedAndWhatThatQueues) {
  std::atomic<int> ran{0};
  {
    Executor executor(2);
    for (int i = 0; i < 100; ++i) {
      executor.Run([&] {
        ++ran;
        executor.Run([&] { ++ran; });
      });
    }
  }
  EXPECT_EQ(ran, 200);
}

TEST(StrandTest, TasksRunOneAtATimeAndInOrder) {
  std::vector<int> order;
  std::atomic<int> inside{0};
  {
    Executor executor(4);
    Strand strand(executor);
    for (int i = 0; i < 1000; ++i) {
      strand.Post([&, i] {
        EXPECT_EQ(++inside, 1);
        order.push_back(i);
        --inside;
      });
    }
  }
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[i], i);
}

TEST(StrandTest, ABlockedStrandDoesNotBlockAnother) {
  absl::Notification release;
  absl::Notification other_ran;
  Executor executor(2);
  Strand blocked(executor);
  Strand other(executor);
  blocked.Post([&] { release.WaitForNotification(); });
  other.Post([&] { other_ran.Notify(); });
  EXPECT_TRUE(other_ran.WaitForNotificationWithTimeout(absl::Seconds(20)));
  release.Notify();
}

TEST(StrandTest, ATaskMayDestroyItsStrand) {
  absl::Notification last;
  Executor executor(2);
  auto strand = std::make_unique<Strand>(executor);
  Strand* raw = strand.get();
  raw->Post([&, strand = std::move(strand)]() mutable {
    strand->Post([&] { last.Notify(); });
    strand.reset();
  });
  EXPECT_TRUE(last.WaitForNotificationWithTimeout(absl::Seconds(20)));
}

}  // namespace
}  // namespace neffcache
