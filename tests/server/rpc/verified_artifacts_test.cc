#include "server/rpc/verified_artifacts.h"

#include <gtest/gtest.h>

namespace neffcache {
namespace {

TEST(VerifiedArtifactsTest, AVerifiedArtifactIsTrustedForAWhileOnly) {
  VerifiedArtifacts verified;
  const absl::Time now = absl::UnixEpoch();
  verified.Add(Sha256Of("one"), now);
  EXPECT_TRUE(verified.Contains(Sha256Of("one"), now));
  EXPECT_FALSE(verified.Contains(Sha256Of("another"), now));
  EXPECT_FALSE(verified.Contains(Sha256Of("one"), now + VerifiedArtifacts::kGoodFor));
  verified.Add(Sha256Of("one"), now + VerifiedArtifacts::kGoodFor);
  EXPECT_TRUE(verified.Contains(Sha256Of("one"), now + VerifiedArtifacts::kGoodFor));
}

}  // namespace
}  // namespace neffcache
