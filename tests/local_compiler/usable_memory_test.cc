#include "local_compiler/usable_memory.h"

#include <gtest/gtest.h>

#include "tests/local_compiler/compiler_directory.h"

namespace neffcache {
namespace {

class UsableMemoryTest : public ::testing::Test {
 protected:
  UsableMemoryTest() {
    directory_.Write("proc/meminfo", "MemTotal:       1048576 kB\nMemFree: 5 kB\n");
  }
  uint64_t Usable() const { return UsableMemory(directory_ / "proc", directory_ / "cgroup"); }

  static constexpr uint64_t kMachine = uint64_t{1} << 30;
  CompilerDirectory directory_;
};

TEST_F(UsableMemoryTest, IsTheMachinesWithoutCgroup) {
  EXPECT_EQ(Usable(), kMachine);
}

TEST_F(UsableMemoryTest, IsTheTightestOfTheCgroupsOnTheWayUp) {
  directory_.Write("proc/self/cgroup", "0::/pod/container\n");
  directory_.Write("cgroup/pod/container/memory.max", "max\n");
  EXPECT_EQ(Usable(), kMachine);
  directory_.Write("cgroup/pod/memory.max", "4096000\n");
  EXPECT_EQ(Usable(), 4096000u);
}

TEST_F(UsableMemoryTest, CountsTheRootThatAContainerSees) {
  directory_.Write("proc/self/cgroup", "0::/not/visible/here\n");
  directory_.Write("cgroup/memory.max", "8192000\n");
  EXPECT_EQ(Usable(), 8192000u);
}

TEST_F(UsableMemoryTest, KnowsVersionOne) {
  directory_.Write("proc/self/cgroup", "5:cpu:/x\n4:memory:/job\n0::/\n");
  directory_.Write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  directory_.Write("cgroup/memory/job/memory.limit_in_bytes", "123456\n");
  EXPECT_EQ(Usable(), 123456u);
}

TEST(UsableMemoryHereTest, IsKnownOnThisMachine) {
  EXPECT_GT(UsableMemory(), uint64_t{1} << 20);
}

}  // namespace
}  // namespace neffcache
