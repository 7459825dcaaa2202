#include "compiler_driver/child_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace neffcache {
namespace {

using ::testing::ElementsAre;

TEST(CompilerEnvironmentTest, PassesTheAllowListAndNothingElse) {
  const char* inherited[] = {"PATH=/bin",           "XLA_FLAGS=--x",       "LC_ALL=C",
                             "NEURON_CC_FLAGS=-O3", "LD_PRELOAD=/evil.so", nullptr};
  EXPECT_THAT(CompilerEnvironment(inherited, {}, {}),
              ElementsAre("LC_ALL=C", "NEFFCACHE_DISABLE=1", "PATH=/bin"));
}

TEST(CompilerEnvironmentTest, AlsoPassesWhatIsAskedFor) {
  const char* inherited[] = {"FAKE_A=1", "FAKE_B=2", "OTHER=3", "ONE=4", "ONE_MORE=5", nullptr};
  const std::string also[] = {"FAKE_*", "ONE"};
  EXPECT_THAT(CompilerEnvironment(inherited, also, {}),
              ElementsAre("FAKE_A=1", "FAKE_B=2", "NEFFCACHE_DISABLE=1", "ONE=4"));
}

TEST(CompilerEnvironmentTest, GivenVariablesReplaceInheritedOnes) {
  const char* inherited[] = {"TMPDIR=/tmp", "NEFFCACHE_DISABLE=0", nullptr};
  const std::pair<std::string, std::string> given[] = {{"TMPDIR", "/scratch"}};
  EXPECT_THAT(CompilerEnvironment(inherited, {}, given),
              ElementsAre("NEFFCACHE_DISABLE=1", "TMPDIR=/scratch"));
}

}  // namespace
}  // namespace neffcache
