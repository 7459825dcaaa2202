#include "client/shim/compiler_output.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/client/shim/scratch_directory.h"

namespace neffcache::shim {
namespace {

class CompilerProgressTest : public ::testing::Test {
 protected:
  ~CompilerProgressTest() override {
    std::fclose(out_);
    std::free(text_);
  }

  char* text_ = nullptr;
  size_t size_ = 0;
  FILE* out_ = open_memstream(&text_, &size_);
  absl::Time now_ = absl::UnixEpoch();
  CompilerProgress progress_{out_, now_};
};

TEST_F(CompilerProgressTest, AHitShowsOneDotAndPass) {
  progress_.Pass();
  EXPECT_STREQ(text_, ".\nCompiler status PASS\n");
}

TEST_F(CompilerProgressTest, WaitingDrawsADotEveryTenSecondsHoweverOftenItIsTold) {
  for (int second = 0; second < 35; ++second) progress_.Tick(now_ + absl::Seconds(second));
  progress_.Pass();
  EXPECT_STREQ(text_, "...\nCompiler status PASS\n");
}

TEST_F(CompilerProgressTest, AFailureShowsTheCompilersDotsUnlessARowIsThereAlready) {
  progress_.Fail("...\n");
  progress_.Tick(now_ + absl::Seconds(10));
  progress_.Fail("..\n");
  EXPECT_STREQ(text_, "...\n.\n");
}

TEST(SplitStreamsTest, DotsAndTheClosingLineAreOfStandardOutput) {
  const CompilerStreams streams = SplitStreams(
      "..[ERROR] [NCC_EVRF007] not supported...\n"
      "Subcommand returned with exitcode=70\n"
      "...\n"
      "Compiler status FAIL\n");
  EXPECT_EQ(streams.out, ".....\nCompiler status FAIL\n");
  EXPECT_EQ(streams.err,
            "[ERROR] [NCC_EVRF007] not supported...\nSubcommand returned with exitcode=70\n");
}

TEST(SplitStreamsTest, EmptyLinesStayWithTheirText) {
  EXPECT_EQ(SplitStreams("a\n\nb").err, "a\n\nb");
  EXPECT_EQ(SplitStreams("..").out, "..");
  EXPECT_EQ(SplitStreams("../pass.py: line 3\n").err, "../pass.py: line 3\n");
  EXPECT_EQ(SplitStreams("").err, "");
}

TEST(CompilerLogTest, LogLinesHaveTheCompilersForm) {
  const absl::Time time =
      absl::FromCivil(absl::CivilSecond(2023, 12, 29, 15, 18, 0), absl::LocalTimeZone()) +
      absl::Milliseconds(558);
  EXPECT_EQ(LogLine(time, 14283, "served"),
            "2023-12-29 15:18:00.000558:  14283  INFO ||NEFFCACHE||: served\n");
}

TEST(CompilerLogTest, AppendsToWhatTheCompilerWroteBefore) {
  const ScratchDirectory scratch;
  scratch.Write("log.txt", "before\n");
  AppendCompilerLog(scratch / "log.txt", "after\n");
  EXPECT_EQ(scratch.Read("log.txt"), "before\nafter\n");
}

TEST(CompilerLogTest, ALogThatCannotBeWrittenIsIgnored) {
  const ScratchDirectory scratch;
  AppendCompilerLog(scratch / "missing/log.txt", "text\n");
  EXPECT_TRUE(scratch.Names().empty());
}

}  // namespace
}  // namespace neffcache::shim
