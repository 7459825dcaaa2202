#include "client/shim/wait_notice.h"

#include <gtest/gtest.h>

namespace neffcache::shim {
namespace {

using Phase = CompileProgress::Phase;

class WaitNoticeTest : public ::testing::Test {
 protected:
  static CompileProgress Running() {
    CompileProgress progress;
    progress.phase = Phase::kRunning;
    progress.key = "0123456789abcdef";
    progress.elapsed = absl::Seconds(130);
    progress.expected = absl::Minutes(9);
    progress.worker = "w1";
    return progress;
  }
  std::string After(absl::Duration since_begin) {
    return notice_.On(progress_, begin_ + since_begin);
  }

  const absl::Time begin_ = absl::UnixEpoch();
  WaitNotice notice_{"cache:7433", begin_};
  CompileProgress progress_ = Running();
};

TEST_F(WaitNoticeTest, AQuickWaitIsSilent) {
  EXPECT_EQ(After(absl::Seconds(1)), "");
  EXPECT_EQ(After(absl::Seconds(9)), "");
}

TEST_F(WaitNoticeTest, ALongOneIsALineAndThenOneEveryMinute) {
  EXPECT_EQ(After(absl::Seconds(12)),
            "waiting 12s for key 0123456789ab, compiling on worker w1 for 2m10s of about 9m");
  EXPECT_EQ(After(absl::Seconds(22)), "");
  EXPECT_EQ(After(absl::Seconds(71)), "");
  EXPECT_NE(After(absl::Seconds(73)), "");
  EXPECT_EQ(After(absl::Seconds(90)), "");
}

TEST_F(WaitNoticeTest, AQueuedCompileSaysBehindWhatAndWhy) {
  progress_.phase = Phase::kQueued;
  progress_.position = 3;
  EXPECT_EQ(After(absl::Seconds(10)), "waiting 10s for key 0123456789ab, queued behind 3");
  progress_.position = 0;
  progress_.detail = "no worker offers it";
  EXPECT_EQ(After(absl::Seconds(70)),
            "waiting 1m10s for key 0123456789ab, queued (no worker offers it)");
}

TEST_F(WaitNoticeTest, ALostDaemonIsOneLineEachTimeWithWhatBroke) {
  progress_.phase = Phase::kReconnecting;
  progress_.detail = "compiling /g.pb at cache:7433: the daemon is draining: connect again";
  progress_.expected = absl::Seconds(30);
  const CompileProgress away = progress_;
  const std::string line = After(absl::Seconds(1));
  EXPECT_EQ(
      line,
      "the daemon at cache:7433 was lost (the daemon is draining: connect again); trying to reach "
      "it again for 30s");
  EXPECT_EQ(After(absl::Seconds(2)), "");
  progress_ = Running();
  EXPECT_EQ(After(absl::Seconds(3)), "");
  progress_ = away;
  EXPECT_EQ(After(absl::Seconds(4)), line);
}

}  // namespace
}  // namespace neffcache::shim
