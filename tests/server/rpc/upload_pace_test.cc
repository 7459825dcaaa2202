#include "server/rpc/upload_pace.h"

#include <gtest/gtest.h>

namespace neffcache {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(30);
const absl::Time kStart = absl::UnixEpoch();

TEST(UploadPaceTest, SilenceIsBorneForTheGraceAndNoLonger) {
  const UploadPace pace(kGrace, kStart);
  EXPECT_EQ(pace.Deadline(), kStart + kGrace);
  EXPECT_EQ(pace.Check(kStart + kGrace - absl::Seconds(1)), absl::OkStatus());
  EXPECT_TRUE(absl::IsDeadlineExceeded(pace.Check(kStart + kGrace)));
}

TEST(UploadPaceTest, ADripOfNextToNothingEndsSoonAfterTheGrace) {
  UploadPace pace(kGrace, kStart);
  absl::Time now = kStart;
  while (pace.Check(now).ok()) {
    ASSERT_LT(now, kStart + 2 * kGrace);
    pace.Received(13, now, now);
    now += absl::Seconds(3);
  }
  EXPECT_GE(now, kStart + kGrace);
}

TEST(UploadPaceTest, ALargeGraphOverASlowLinkMayTakeItsTime) {
  UploadPace pace(kGrace, kStart);
  absl::Time now = kStart;
  for (int mib = 0; mib < 1000; ++mib) {
    now += absl::Seconds(4);
    ASSERT_EQ(pace.Check(now), absl::OkStatus()) << mib;
    pace.Received(1 << 20, now, now);
  }
  // What has come is no credit for silence.
  EXPECT_EQ(pace.Deadline(), now + kGrace);
}

TEST(UploadPaceTest, ASlowDiskIsNotTheClientsFault) {
  UploadPace pace(kGrace, kStart);
  const absl::Time stored = kStart + absl::Minutes(5);
  pace.Received(1000, kStart, stored);
  EXPECT_EQ(pace.Check(stored + absl::Seconds(29)), absl::OkStatus());
}

}  // namespace
}  // namespace neffcache
