#include "compiler_driver/memory_size.h"

#include <gtest/gtest.h>

#include "tests/compiler_driver/test_directory.h"

namespace neffcache {
namespace {

class UsableMemoryTest : public ::testing::Test {
 protected:
  UsableMemoryTest() {
    WriteFile(directory_ / "proc/meminfo", "MemTotal:       1048576 kB\nMemFree: 5 kB\n");
  }
  uint64_t Usable() const { return UsableMemory(directory_ / "proc", directory_ / "cgroup"); }

  static constexpr uint64_t kMachine = uint64_t{1} << 30;
  TestDirectory directory_;
};

TEST_F(UsableMemoryTest, IsTheMachinesWithoutCgroup) {
  EXPECT_EQ(Usable(), kMachine);
}

TEST_F(UsableMemoryTest, IsTheTightestOfTheCgroupsOnTheWayUp) {
  WriteFile(directory_ / "proc/self/cgroup", "0::/pod/container\n");
  WriteFile(directory_ / "cgroup/pod/container/memory.max", "max\n");
  EXPECT_EQ(Usable(), kMachine);
  WriteFile(directory_ / "cgroup/pod/memory.max", "4096000\n");
  EXPECT_EQ(Usable(), 4096000u);
}

TEST_F(UsableMemoryTest, CountsTheRootThatAContainerSees) {
  WriteFile(directory_ / "proc/self/cgroup", "0::/not/visible/here\n");
  WriteFile(directory_ / "cgroup/memory.max", "8192000\n");
  EXPECT_EQ(Usable(), 8192000u);
}

TEST_F(UsableMemoryTest, KnowsVersionOne) {
  WriteFile(directory_ / "proc/self/cgroup", "5:cpu:/x\n4:memory:/job\n0::/\n");
  WriteFile(directory_ / "cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  WriteFile(directory_ / "cgroup/memory/job/memory.limit_in_bytes", "123456\n");
  EXPECT_EQ(Usable(), 123456u);
}

TEST(UsableMemoryHereTest, IsKnownOnThisMachine) {
  EXPECT_GT(UsableMemory(), uint64_t{1} << 20);
}

}  // namespace
}  // namespace neffcache
