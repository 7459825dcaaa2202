#include "server/embedded_workers.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "io/file.h"

namespace neffcache {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Stands in for neffcache-worker: a shell script that reports through a FIFO.
class EmbeddedWorkersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/embedded-XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    fifo_ = directory_ + "/reports";
    ASSERT_EQ(mkfifo(fifo_.c_str(), 0600), 0);
    // Opened for writing too, so that it never reports an end.
    reports_ = Fd(open(fifo_.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(reports_.valid());
  }
  void TearDown() override {
    workers_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Start(const std::string& script, uint32_t count = 1) {
    EmbeddedWorkersOptions options;
    options.program = directory_ + "/worker";
    std::ofstream(options.program) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(options.program, std::filesystem::perms::owner_all);
    options.count = count;
    options.daemon = "127.0.0.1:7433";
    options.toolchains = {"neuronx-cc", "xla-cpu"};
    options.memory_bytes = 1000;
    options.scratch = directory_ + "/scratch";
    options.first_pause = absl::Milliseconds(10);
    options.longest_pause = absl::Milliseconds(40);
    auto workers = EmbeddedWorkers::Start(options);
    ASSERT_TRUE(workers.ok()) << workers.status();
    workers_ = *std::move(workers);
  }
  // What the script does with this reaches NextReport().
  std::string Report(const std::string& text) const {
    return absl::StrCat("echo \"", text, "\" > ", fifo_, "\n");
  }
  // A line; empty after 20 s without one.
  std::string NextReport() {
    std::string line;
    for (;;) {
      pollfd readable = {.fd = reports_.get(), .events = POLLIN, .revents = 0};
      if (poll(&readable, 1, 20'000) <= 0) return "";
      char c;
      if (read(reports_.get(), &c, 1) != 1 || c == '\n') return line;
      line.push_back(c);
    }
  }

  std::string directory_;
  std::string fifo_;
  Fd reports_;
  std::unique_ptr<EmbeddedWorkers> workers_;
};

TEST_F(EmbeddedWorkersTest, AWorkerIsToldAllItNeeds) {
  Start(Report("$*") + "exec cat /dev/zero > /dev/null\n");
  EXPECT_EQ(NextReport(),
            absl::StrCat("--daemon 127.0.0.1:7433 --slots 1 --toolchain neuronx-cc --toolchain "
                         "xla-cpu --memory 1000 --scratch ",
                         directory_, "/scratch/0 --embedded --parent-pid ", getpid()));
}

TEST_F(EmbeddedWorkersTest, AWorkerThatEndsIsStartedAgainAndAgain) {
  Start(Report("$$"));
  std::set<std::string> pids;
  for (int i = 0; i < 4; ++i) pids.insert(NextReport());
  EXPECT_THAT(pids, SizeIs(4));
}

TEST_F(EmbeddedWorkersTest, AKilledWorkerIsReplacedAndTheOthersAreLeftAlone) {
  Start(Report("$$") + "exec tail -f /dev/null\n", 2);
  const std::string first = NextReport();
  const std::string second = NextReport();
  ASSERT_EQ(kill(std::stoi(first), SIGKILL), 0);
  const std::string third = NextReport();
  EXPECT_NE(third, first);
  EXPECT_NE(third, second);
  EXPECT_EQ(kill(std::stoi(second), 0), 0);
}

TEST_F(EmbeddedWorkersTest, StopLetsAWorkerEndByItself) {
  Start(absl::StrCat("tail -f /dev/null >/dev/null 2>&1 &\ntrap 'kill -KILL $!; echo ended > ",
                     fifo_, "; exit 0' TERM\n") +
        Report("ready") + "wait\n");
  ASSERT_EQ(NextReport(), "ready");
  workers_->Stop(absl::Seconds(20));
  EXPECT_EQ(NextReport(), "ended");
  EXPECT_THAT(workers_->pids(), SizeIs(0));
}

TEST_F(EmbeddedWorkersTest, StopKillsAWorkerThatDoesNotEnd) {
  Start("trap '' TERM\n" + Report("$$") + "exec tail -f /dev/null\n");
  const int pid = std::stoi(NextReport());
  workers_->Stop(absl::Milliseconds(50));
  EXPECT_NE(kill(pid, 0), 0);
  workers_->Stop(absl::Seconds(1));  // Again is no error.
}

TEST_F(EmbeddedWorkersTest, AWorkersSignalsAreNotThoseTheDaemonBlocks) {
  sigset_t term;
  sigset_t before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  Start(Report("$$") + "exec tail -f /dev/null\n");
  const int pid = std::stoi(NextReport());
  const absl::Time stopping = absl::Now();
  workers_->Stop(absl::Seconds(60));
  EXPECT_LT(absl::Now() - stopping, absl::Seconds(30));
  EXPECT_NE(kill(pid, 0), 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(EmbeddedWorkersTest, ARetiredWorkerIsNotStartedAgain) {
  Start(Report("started") + "read line < " + fifo_ + ".go\n" + Report("ending"));
  ASSERT_EQ(mkfifo((fifo_ + ".go").c_str(), 0600), 0);
  EXPECT_EQ(NextReport(), "started");
  workers_->Retire();
  std::ofstream(fifo_ + ".go") << "go" << std::endl;
  EXPECT_EQ(NextReport(), "ending");
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (!workers_->pids().empty() && absl::Now() < deadline) std::this_thread::yield();
  EXPECT_THAT(workers_->pids(), SizeIs(0));
  // Longer than the pause after which another would be there.
  pollfd readable = {.fd = reports_.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&readable, 1, 100), 0);
}

TEST_F(EmbeddedWorkersTest, AMissingProgramIsNotFound) {
  EmbeddedWorkersOptions options;
  options.program = directory_ + "/nothing";
  EXPECT_TRUE(absl::IsNotFound(EmbeddedWorkers::Start(options).status()));
}

}  // namespace
}  // namespace neffcache
