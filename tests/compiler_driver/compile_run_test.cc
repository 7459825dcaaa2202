#include "compiler_driver/compile_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "compiler_driver/toolchain_table.h"
#include "tests/compiler_driver/test_directory.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Class = CompileFailureClass;

// Compiles with the fake neuronx-cc in one mode after the other.
class CompileRunTest : public ::testing::Test {
 protected:
  CompileRunTest() {
    ToolchainSettings settings;
    settings.neuronx_cc = NEFFCACHE_FAKE_NEURONX_CC;
    compiler_ = *MakeToolchain("neuronx-cc", settings);
    job_.directory = directory_ / "work";
    job_.options = {"--target=trn1"};
    job_.limits.grace = absl::Milliseconds(50);
    job_.limits.output_bytes = 1 << 20;
    WriteFile(job_.directory + "/" + compiler_->graph_file_name(), "a graph");
  }

  CompileOutcome Run(const std::string& mode, std::stop_token stop = {}) {
    job_.environment = {"PATH=/usr/bin:/bin", absl::StrCat("FAKE_NEURONX_CC_MODE=", mode),
                        absl::StrCat("FAKE_NEURONX_CC_JOURNAL=", directory_ / "journal")};
    if (!size_.empty()) job_.environment.push_back(absl::StrCat("FAKE_NEURONX_CC_SIZE=", size_));
    return RunCompile(*compiler_, job_, stop, nullptr);
  }

  void ExpectFailure(const CompileOutcome& outcome, Class failure_class, const std::string& says) {
    const CompileFailure* failure = std::get_if<CompileFailure>(&outcome.result);
    ASSERT_NE(failure, nullptr) << "it succeeded";
    EXPECT_EQ(ToString(failure->failure_class), ToString(failure_class)) << failure->message;
    EXPECT_THAT(failure->message, HasSubstr(says));
  }

  TestDirectory directory_;
  std::unique_ptr<CompilerToolchain> compiler_;
  CompileJob job_;
  std::string size_;
};

TEST_F(CompileRunTest, SuccessGivesCheckedArtifactAndLog) {
  const CompileOutcome outcome = Run("ok");
  ASSERT_NE(outcome.artifact(), nullptr) << outcome.log;
  const std::string bytes = ReadFile(outcome.artifact()->path);
  EXPECT_EQ(outcome.artifact()->size, bytes.size());
  EXPECT_EQ(outcome.artifact()->digest, Sha256Of(bytes));
  EXPECT_THAT(outcome.log, HasSubstr("Compiler status PASS"));
  EXPECT_THAT(outcome.log, HasSubstr("[neffcache: log-neuron-cc.txt]"));
  EXPECT_GT(outcome.compile_time, absl::ZeroDuration());
  EXPECT_GT(outcome.peak_memory_bytes, 0u);
}

TEST_F(CompileRunTest, JournalHasOneLineForEachCompile) {
  Run("ok");
  Run("exit70");
  const std::string journal = ReadFile(directory_ / "journal");
  EXPECT_EQ(std::count(journal.begin(), journal.end(), '\n'), 2);
  EXPECT_THAT(journal, HasSubstr(Sha256Of("a graph").Hex()));
}

TEST_F(CompileRunTest, TwoCompilesDifferInTheirBytes) {
  const CompileOutcome first = Run("ok"), second = Run("ok");
  ASSERT_TRUE(first.artifact() != nullptr && second.artifact() != nullptr);
  EXPECT_NE(first.artifact()->digest, second.artifact()->digest);
}

TEST_F(CompileRunTest, PartialOutputIsNeverASuccess) {
  ExpectFailure(Run("partial"), Class::kTransient, "not a complete NEFF");
}

TEST_F(CompileRunTest, MissingOutputIsNeverASuccess) {
  ExpectFailure(Run("missing"), Class::kTransient, "it was not written");
}

TEST_F(CompileRunTest, OutputOfTheFailedIsNotTaken) {
  ExpectFailure(Run("exit70"), Class::kUnclear, "without a diagnostic");
}

TEST_F(CompileRunTest, DiagnosticsAreDeterministicAndKeepExitCodeAndStderr) {
  const CompileOutcome outcome = Run("diagnostic");
  ExpectFailure(outcome, Class::kDeterministic, "NCC_EVRF007");
  EXPECT_EQ(std::get<CompileFailure>(outcome.result).exit_code, 70);
  EXPECT_THAT(outcome.log_tail, HasSubstr("does not support"));
}

TEST_F(CompileRunTest, UnknownFlagIsDeterministic) {
  job_.options = {"--bogus"};
  ExpectFailure(Run("ok"), Class::kDeterministic, "NCC_EARG002");
}

TEST_F(CompileRunTest, WrongLogicalCoreSizeIsRefused) {
  job_.options = {"--logical-nc-config=2"};
  EXPECT_NE(Run("ok").artifact(), nullptr);
  // The fake believes the last one; the check wants the first, too.
  job_.options = {"--logical-nc-config=2", "--lnc=1", "--logical-nc-config=1"};
  ExpectFailure(Run("ok"), Class::kTransient, "logical core size 1, asked for was 2");
}

TEST_F(CompileRunTest, KilledForMemoryIsMemory) {
  ExpectFailure(Run("oom"), Class::kMemory, "[F137]");
  ExpectFailure(Run("crash:9"), Class::kMemory, "signal 9");
}

TEST_F(CompileRunTest, CrashesAndFullDisksAreTransient) {
  ExpectFailure(Run("crash:11"), Class::kTransient, "signal 11");
  ExpectFailure(Run("crash:6"), Class::kTransient, "signal 6");
  ExpectFailure(Run("enospc"), Class::kTransient, "No space left");
}

TEST_F(CompileRunTest, HangEndsAtTheTimeLimit) {
  job_.limits.wall_clock = absl::Milliseconds(200);
  ExpectFailure(Run("hang"), Class::kTransient, "time limit");
}

TEST_F(CompileRunTest, MemoryLimitOfTheLeaseHolds) {
  job_.limits.memory_bytes = uint64_t{150} << 20;
  ExpectFailure(Run("allocate:300"), Class::kMemory, "memory limit");
  EXPECT_NE(Run("allocate:10").artifact(), nullptr);
}

TEST_F(CompileRunTest, OutputLargerThanTheStoreTakesIsNotASuccess) {
  size_ = "2000000";
  ExpectFailure(Run("ok"), Class::kUnclear, "larger than the store takes");
}

TEST_F(CompileRunTest, BigLogIsBoundedAndThePassLineKept) {
  const CompileOutcome outcome = Run("big-log:8");
  ASSERT_NE(outcome.artifact(), nullptr);
  EXPECT_LT(outcome.log.size(), size_t{2} << 20);
  EXPECT_LE(outcome.log_tail.size(), size_t{64} << 10);
  EXPECT_THAT(outcome.log, HasSubstr("bytes of output dropped here"));
  EXPECT_THAT(outcome.log_tail, HasSubstr("Compiler status PASS"));
}

TEST_F(CompileRunTest, ChildrenThatHoldOnToStdoutDoNotHoldUpTheCompile) {
  const CompileOutcome outcome = Run("spawn-children");
  EXPECT_NE(outcome.artifact(), nullptr) << outcome.log;
  EXPECT_LT(outcome.compile_time, absl::Seconds(60));
}

TEST_F(CompileRunTest, StopEndsAHangingCompile) {
  std::stop_source stop;
  CompileOutcome outcome;
  std::jthread runner([&] { outcome = Run("hang", stop.get_token()); });
  while (!std::filesystem::exists(directory_ / "journal")) std::this_thread::yield();
  stop.request_stop();
  runner.join();
  ExpectFailure(outcome, Class::kTransient, "cancelled");
}

}  // namespace
}  // namespace neffcache
