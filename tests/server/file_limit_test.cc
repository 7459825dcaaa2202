#include "server/file_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace neffcache {
namespace {

// In a process of its own: a limit that was lowered cannot always be raised again.
TEST(FileLimitTest, TheLimitIsRaisedAsFarAsItMay) {
  const auto raises = [] {
    const rlimit low = {256, 1024};
    if (setrlimit(RLIMIT_NOFILE, &low) != 0) return false;
    const uint64_t limit = RaiseFileLimit();
    rlimit now = {};
    if (getrlimit(RLIMIT_NOFILE, &now) != 0) return false;
    // 65536 with the privilege, 1024 without.
    return now.rlim_cur == limit && now.rlim_max == limit && (limit == 65536 || limit == 1024);
  };
  EXPECT_EXIT(_exit(raises() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace neffcache
