#include "compiler_driver/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "io/file.h"
#include "tests/compiler_driver/test_directory.h"

namespace neffcache {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A named pipe that every process of a tree holds open for writing. Reading it ends when the last
// of them is dead: a wait without a sleep.
class Leash {
 public:
  explicit Leash(const std::string& path) : path_(path) {
    if (mkfifo(path.c_str(), 0600) != 0) abort();
    read_ = Fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  const std::string& path() const { return path_; }

  // Bytes written so far, at least one; blocks for them.
  std::string AwaitLine() {
    std::string text;
    while (text.find('\n') == std::string::npos) {
      pollfd polled = {read_.get(), POLLIN, 0};
      if (poll(&polled, 1, 20'000) != 1) return text;
      char buffer[64];
      const ssize_t n = read(read_.get(), buffer, sizeof buffer);
      if (n > 0) text.append(buffer, static_cast<size_t>(n));
    }
    return text;
  }

  // True when nobody holds it any more, within 20 s.
  bool AwaitAllDead() {
    for (;;) {
      pollfd polled = {read_.get(), POLLIN, 0};
      if (poll(&polled, 1, 20'000) != 1) return false;
      char buffer[64];
      const ssize_t n = read(read_.get(), buffer, sizeof buffer);
      if (n == 0) return true;
      if (n < 0 && errno != EAGAIN) return false;
    }
  }

 private:
  const std::string path_;
  Fd read_;
};

class ChildProcessTest : public ::testing::Test {
 protected:
  ChildSpec Shell(const std::string& script) {
    ChildSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    spec.environment = {"PATH=/usr/bin:/bin"};
    spec.working_directory = directory_.path();
    return spec;
  }
  ChildResult Run(const ChildSpec& spec) { return RunChild(spec, std::stop_token(), nullptr); }

  TestDirectory directory_;
};

TEST_F(ChildProcessTest, GivesExitCodeAndBothOutputs) {
  const ChildResult result = Run(Shell("echo out; echo err >&2; exit 7"));
  EXPECT_EQ(result.end, ChildEnd::kExited);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.log, "out\nerr\n");
  EXPECT_GT(result.wall_clock, absl::ZeroDuration());
  EXPECT_GT(result.peak_memory_bytes, 0u);
}

TEST_F(ChildProcessTest, ChildSeesTheGivenEnvironmentDirectoryAndAnEmptyStdin) {
  ChildSpec spec = Shell("env; pwd -P; cat; ulimit -c; ls /proc/self/fd | wc -l");
  spec.environment.push_back("GIVEN=yes");
  setenv("NOT_GIVEN", "secret", 1);
  const ChildResult result = Run(spec);
  unsetenv("NOT_GIVEN");
  EXPECT_THAT(result.log, HasSubstr("GIVEN=yes\n"));
  EXPECT_THAT(result.log, ::testing::Not(HasSubstr("NOT_GIVEN")));
  const std::string directory = std::filesystem::canonical(directory_.path()).string();
  // No core file, and no descriptor besides the standard ones (the fourth is that of ls itself).
  EXPECT_THAT(result.log, EndsWith(absl::StrCat(directory, "\n0\n4\n")));
}

// Those of gRPC take locks; in the supervisor nobody would ever release them.
TEST_F(ChildProcessTest, StartingAChildRunsNoForkHandlers) {
  static std::atomic<int> runs = 0;
  ASSERT_EQ(pthread_atfork([] { ++runs; }, nullptr, nullptr), 0);
  EXPECT_EQ(Run(Shell("exit 7")).exit_code, 7);
  ASSERT_EQ(runs, 0);
  const pid_t forked = fork();
  if (forked == 0) _exit(0);
  EXPECT_EQ(waitpid(forked, nullptr, 0), forked);
  EXPECT_EQ(runs, 1) << "the handler does not work";
}

TEST_F(ChildProcessTest, SignalsAreToldFromExits) {
  const ChildResult result = Run(Shell("kill -SEGV $$"));
  EXPECT_EQ(result.end, ChildEnd::kSignalled);
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_EQ(result.exit_code, -1);
}

TEST_F(ChildProcessTest, MissingProgramIsNotStarted) {
  ChildSpec spec = Shell("");
  spec.argv = {"/nowhere/neuronx-cc"};
  const ChildResult result = Run(spec);
  EXPECT_EQ(result.end, ChildEnd::kNotStarted);
  EXPECT_EQ(result.start_error.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(result.start_error.message(), HasSubstr("starting /nowhere/neuronx-cc"));
}

TEST_F(ChildProcessTest, MissingDirectoryIsNotStarted) {
  ChildSpec spec = Shell("true");
  spec.working_directory = directory_ / "absent";
  const ChildResult result = Run(spec);
  EXPECT_EQ(result.end, ChildEnd::kNotStarted);
  EXPECT_THAT(result.start_error.message(), HasSubstr("entering the directory"));
}

TEST_F(ChildProcessTest, LogIsBoundedWithHeadAndTailKept) {
  ChildSpec spec =
      Shell("echo begin; i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo end");
  spec.limits.log_head_bytes = 100;
  spec.limits.log_tail_bytes = 100;
  const ChildResult result = Run(spec);
  EXPECT_LT(result.log.size(), 300u);
  EXPECT_THAT(result.log, AllOf(StartsWith("begin\n"), HasSubstr("bytes of output dropped here"),
                                EndsWith("line 2999\nend\n")));
}

TEST_F(ChildProcessTest, TimeLimitKillsThePoliteAndTheStubborn) {
  ChildSpec polite = Shell("sleep 600");
  polite.limits.wall_clock = absl::Milliseconds(50);
  polite.limits.grace = absl::Minutes(10);
  EXPECT_EQ(Run(polite).end, ChildEnd::kTimedOut);

  ChildSpec stubborn = Shell("trap '' TERM; while :; do sleep 600; done");
  stubborn.limits.wall_clock = absl::Milliseconds(50);
  stubborn.limits.grace = absl::Milliseconds(50);
  const ChildResult result = Run(stubborn);
  EXPECT_EQ(result.end, ChildEnd::kTimedOut);
  EXPECT_EQ(result.signal, SIGKILL);
}

TEST_F(ChildProcessTest, EndlessOutputDoesNotPutOffTheTimeLimit) {
  ChildSpec spec = Shell("yes");
  spec.limits.wall_clock = absl::Milliseconds(100);
  const ChildResult result = Run(spec);
  EXPECT_EQ(result.end, ChildEnd::kTimedOut);
  EXPECT_LE(result.log.size(), spec.limits.log_head_bytes + spec.limits.log_tail_bytes + 100);
}

TEST_F(ChildProcessTest, CancelFromAnotherThreadKillsTheWholeTree) {
  Leash leash(directory_ / "leash");
  // Grandchildren in sessions of their own, ignoring SIGTERM, one orphaned.
  const ChildSpec base =
      Shell(absl::StrCat("exec 9>", leash.path(),
                         "; trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 600' & "
                         "(setsid sleep 600 &) ; echo ready >&9; wait; sleep 600"));
  ChildSpec spec = base;
  spec.limits.grace = absl::Milliseconds(50);
  std::stop_source stop;
  ChildResult result;
  std::jthread runner([&] { result = RunChild(spec, stop.get_token(), nullptr); });
  EXPECT_EQ(leash.AwaitLine(), "ready\n");
  stop.request_stop();
  runner.join();
  EXPECT_EQ(result.end, ChildEnd::kCancelled);
  EXPECT_TRUE(leash.AwaitAllDead());
}

TEST_F(ChildProcessTest, CancelBeforeStartRunsNothing) {
  std::stop_source stop;
  stop.request_stop();
  const ChildResult result = RunChild(Shell("touch ran"), stop.get_token(), nullptr);
  EXPECT_EQ(result.end, ChildEnd::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "ran"));
}

TEST_F(ChildProcessTest, WhatTheChildLeavesBehindIsKilled) {
  Leash leash(directory_ / "leash");
  const ChildResult result = Run(
      Shell(absl::StrCat("exec 9>", leash.path(), "; (setsid sleep 600 &); sleep 600 & exit 0")));
  EXPECT_EQ(result.end, ChildEnd::kExited);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(leash.AwaitAllDead());
}

TEST_F(ChildProcessTest, TreeDiesWithTheProcessThatStartedIt) {
  Leash leash(directory_ / "leash");
  const ChildSpec spec = Shell(
      absl::StrCat("exec 9>", leash.path(), "; (setsid sleep 600 &); echo ready >&9; sleep 600"));
  const pid_t worker = fork();
  if (worker == 0) {
    RunChild(spec, std::stop_token(), nullptr);
    _exit(0);
  }
  EXPECT_EQ(leash.AwaitLine(), "ready\n");
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  EXPECT_TRUE(leash.AwaitAllDead());
}

TEST_F(ChildProcessTest, MemoryOfTheTreeIsMeasuredTogether) {
  // Three processes with 40 MiB each; none of them alone has 100.
  const std::string hold =
      "python3 -I -S -c \"b=bytearray(40<<20); b[::4096]=b'x'*len(b[::4096]); import time; "
      "time.sleep(1)\"";
  const ChildResult result =
      Run(Shell(absl::StrCat("PATH=/usr/bin; ", hold, " & ", hold, " & ", hold, " & wait")));
  EXPECT_EQ(result.exit_code, 0) << result.log;
  EXPECT_GT(result.peak_memory_bytes, uint64_t{100} << 20);
}

TEST_F(ChildProcessTest, MemoryLimitOfTheTreeKillsIt) {
  ChildSpec spec = Shell(
      "PATH=/usr/bin; exec python3 -I -S -c \"b=bytearray(200<<20); "
      "b[::4096]=b'x'*len(b[::4096]); import time; time.sleep(600)\"");
  spec.limits.memory_bytes = uint64_t{100} << 20;
  const ChildResult result = Run(spec);
  EXPECT_EQ(result.end, ChildEnd::kOverMemory);
  EXPECT_GT(result.peak_memory_bytes, uint64_t{100} << 20);
}

TEST_F(ChildProcessTest, AddressSpaceIsLimitedOnlyWhenAsked) {
  ChildSpec spec = Shell("ulimit -v");
  EXPECT_EQ(Run(spec).log, "unlimited\n");
  spec.limits.address_space_bytes = uint64_t{512} << 20;
  EXPECT_EQ(Run(spec).log, "524288\n");
}

TEST_F(ChildProcessTest, OutputLimitStopsARunawayFile) {
  ChildSpec spec = Shell("yes > out");
  spec.output_file = directory_ / "out";
  spec.limits.output_bytes = 1 << 20;
  EXPECT_EQ(Run(spec).end, ChildEnd::kOverOutput);
}

TEST_F(ChildProcessTest, ProgressShowsLastLineAndMemoryWhileRunning) {
  Leash gate(directory_ / "gate");
  const ChildSpec spec =
      Shell("echo working; echo nearly there; while [ ! -e go ]; do sleep 0.01; done");
  ChildProgress progress;
  ChildResult result;
  std::jthread runner([&] { result = RunChild(spec, std::stop_token(), &progress); });
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  ChildProgress::Snapshot seen;
  while (absl::Now() < deadline &&
         (seen.last_log_line != "nearly there" || seen.peak_memory_bytes == 0)) {
    seen = progress.Read();
    std::this_thread::yield();
  }
  EXPECT_EQ(seen.last_log_line, "nearly there");
  EXPECT_GT(seen.peak_memory_bytes, 0u);
  WriteFile(directory_ / "go", "");
}

TEST_F(ChildProcessTest, ManyAtATimeDoNotMixUp) {
  std::vector<ChildResult> results(16);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < results.size(); ++i) {
      threads.emplace_back(
          [&, i] { results[i] = Run(Shell(absl::StrCat("echo ", i, "; exit ", i))); });
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].exit_code, static_cast<int>(i));
    EXPECT_EQ(results[i].log, absl::StrCat(i, "\n"));
  }
}

}  // namespace
}  // namespace neffcache
