#include "client/shim/last_resort.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/client/shim/scratch_directory.h"

namespace neffcache::shim {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

// Each case runs in a process of its own.
class LastResortDeathTest : public ::testing::Test {
 protected:
  LastResortDeathTest() {
    // By fork alone, so that what the process leaves on disk can be looked at.
    GTEST_FLAG_SET(death_test_style, "fast");
    scratch_.Write("neuronx-cc",
                   "#!/bin/sh\n"
                   "echo compiler of \"$@\" >&2\n"
                   "grep SigBlk /proc/self/status >&2\n"
                   "exit 7\n");
    std::filesystem::permissions(compiler_, std::filesystem::perms::owner_all);
    std::filesystem::create_directory(staging_);
    scratch_.Write("staging/artifact", "half");
  }

  void Arm(bool with_compiler = true) {
    ArmLastResort(with_compiler ? compiler_ : "", argv_);
    SetStagingDirectory(staging_);
  }

  const ScratchDirectory scratch_;
  const std::string compiler_ = scratch_ / "neuronx-cc";
  const std::string staging_ = scratch_ / "staging";
  char name_[8] = "shim";
  char argument_[16] = "compile g.pb";
  char* argv_[3] = {name_, argument_, nullptr};
};

[[noreturn]] void WaitForever() {
  while (true) pause();
}

// Sanitizers have handlers of their own for faults; an abort they leave alone.
TEST_F(LastResortDeathTest, AnAbortBecomesTheCompilerWithTheSameArguments) {
  EXPECT_EXIT((Arm(), std::abort()), ExitedWithCode(7),
              "compiling here\ncompiler of compile g.pb\nSigBlk:\t0+\n");
  EXPECT_FALSE(std::filesystem::exists(staging_));
}

TEST_F(LastResortDeathTest, AFaultBecomesTheCompiler) {
  EXPECT_EXIT((Arm(), raise(SIGSEGV)), ExitedWithCode(7), "compiler of compile g.pb");
}

TEST_F(LastResortDeathTest, AHangBecomesTheCompiler) {
  EXPECT_EXIT((Arm(), ExpectSignOfLifeWithin(absl::Milliseconds(5)), WaitForever()),
              ExitedWithCode(7), "hangs; compiling here\ncompiler of compile g.pb\nSigBlk:\t0+\n");
}

TEST_F(LastResortDeathTest, AHangWithoutACompilerEnds) {
  EXPECT_EXIT((Arm(false), ExpectSignOfLifeWithin(absl::Milliseconds(5)), WaitForever()),
              ExitedWithCode(70), "no compiler here");
}

TEST_F(LastResortDeathTest, ACrashWithoutACompilerKeepsItsSignal) {
  EXPECT_EXIT((Arm(false), std::abort()), KilledBySignal(SIGABRT), "");
}

TEST_F(LastResortDeathTest, ASignalOfSomebodyElseIsObeyed) {
  EXPECT_EXIT((Arm(), kill(getpid(), SIGABRT), WaitForever()), KilledBySignal(SIGABRT), "");
  EXPECT_EXIT((Arm(), kill(getpid(), SIGTERM), WaitForever()), KilledBySignal(SIGTERM), "");
  EXPECT_FALSE(std::filesystem::exists(staging_));
}

TEST_F(LastResortDeathTest, AnIgnoredSignalStaysIgnored) {
  EXPECT_EXIT((signal(SIGHUP, SIG_IGN), Arm(), raise(SIGHUP), _exit(5)), ExitedWithCode(5), "");
}

TEST_F(LastResortDeathTest, EndingBySignalHasThatSignalsEffect) {
  EXPECT_EXIT((Arm(), EndBySignal(SIGSEGV)), KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT((Arm(), EndBySignal(SIGKILL)), KilledBySignal(SIGKILL), "");
}

TEST(StagingDirectoryTest, RemovingItTakesItsFilesAndHappensOnce) {
  const ScratchDirectory scratch;
  const std::string staging = scratch / "staging";
  std::filesystem::create_directory(staging);
  for (int i = 0; i < 200; ++i) scratch.Write("staging/" + std::to_string(i), "part");
  ASSERT_TRUE(SetStagingDirectory(staging));
  RemoveStagingDirectory();
  EXPECT_FALSE(std::filesystem::exists(staging));

  std::filesystem::create_directory(staging);
  RemoveStagingDirectory();
  EXPECT_TRUE(std::filesystem::exists(staging)) << "it is no longer ours";
}

TEST(StagingDirectoryTest, APathThatIsTooLongIsRefused) {
  EXPECT_FALSE(SetStagingDirectory(std::string(5000, 'x')));
}

}  // namespace
}  // namespace neffcache::shim
