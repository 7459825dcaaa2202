#include "client/reconnect_window.h"

#include <gtest/gtest.h>

namespace neffcache {
namespace {

class ReconnectWindowTest : public ::testing::Test {
 protected:
  // A try that fails at once, and the wait before the next.
  absl::optional<absl::Duration> Break(absl::Duration held = absl::ZeroDuration()) {
    now_ += held;
    absl::optional<absl::Duration> delay = window_.AfterBreak(now_, held);
    if (delay.has_value()) now_ += *delay;
    return delay;
  }

  absl::Time now_ = absl::UnixEpoch();
  ReconnectWindow window_{absl::Seconds(30), 1};
};

TEST_F(ReconnectWindowTest, TriesForItsLengthAndNotLonger) {
  int tries = 0;
  while (Break().has_value()) ++tries;
  EXPECT_EQ(now_ - absl::UnixEpoch(), absl::Seconds(30));
  EXPECT_GT(tries, 15);
  EXPECT_LT(tries, 50);
}

TEST_F(ReconnectWindowTest, TriesFollowEachOtherMoreSlowly) {
  EXPECT_LE(*Break(), absl::Milliseconds(100));
  for (int i = 0; i < 6; ++i) Break();
  EXPECT_GE(*Break(), absl::Seconds(1));
  EXPECT_LE(*Break(), absl::Seconds(2));
}

TEST_F(ReconnectWindowTest, AStreamThatHeldOpensANewWindow) {
  while (Break().has_value()) {
  }
  EXPECT_FALSE(Break().has_value());
  EXPECT_TRUE(Break(absl::Seconds(30)).has_value());
  EXPECT_EQ(window_.opened(), absl::UnixEpoch() + absl::Seconds(60));
}

TEST_F(ReconnectWindowTest, ADaemonThatComesAndGoesIsAway) {
  int tries = 0;
  while (Break(absl::Seconds(5)).has_value()) ++tries;
  EXPECT_GT(tries, 0);
  EXPECT_LE(tries, 6);
}

TEST_F(ReconnectWindowTest, ClientsTryAtDifferentMoments) {
  ReconnectWindow other(absl::Seconds(30), 2);
  EXPECT_NE(*other.AfterBreak(now_, absl::ZeroDuration()),
            *window_.AfterBreak(now_, absl::ZeroDuration()));
}

TEST_F(ReconnectWindowTest, AnEmptyWindowIsNeverOpen) {
  ReconnectWindow never(absl::ZeroDuration(), 1);
  EXPECT_FALSE(never.AfterBreak(now_, absl::ZeroDuration()).has_value());
  EXPECT_FALSE(never.AfterBreak(now_, absl::Seconds(1)).has_value());
}

}  // namespace
}  // namespace neffcache
