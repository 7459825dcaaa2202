// The program itself: flags, exit codes, signals.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stop_token>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "compiler_driver/child_process.h"
#include "tests/compiler_driver/fake_daemon.h"
#include "tests/compiler_driver/test_directory.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

class WorkerProgramTest : public ::testing::Test {
 protected:
  ChildResult Run(std::vector<std::string> flags, std::stop_token stop = {}) {
    ChildSpec spec;
    spec.argv = {NEFFCACHE_WORKER_PROGRAM, "--scratch", directory_ / "scratch"};
    spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
    spec.environment = {"PATH=/usr/bin:/bin",
                        absl::StrCat("NEFFCACHE_REAL_CC=", NEFFCACHE_FAKE_NEURONX_CC),
                        absl::StrCat("FAKE_NEURONX_CC_JOURNAL=", directory_ / "journal"),
                        "NEFFCACHE_PASS_ENV=FAKE_NEURONX_CC_*",
                        absl::StrCat("NEFFCACHE_DAEMON=", daemon_.address())};
    spec.working_directory = directory_.path();
    spec.limits.wall_clock = absl::Seconds(60);
    spec.limits.grace = absl::Seconds(30);
    return RunChild(spec, stop, nullptr);
  }

  TestDirectory directory_;
  FakeDaemon daemon_;
};

TEST_F(WorkerProgramTest, MistakesInFlagsAreUsageErrorsInOneLine) {
  ChildResult result = Run({"--toolchain", "gcc"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.log, HasSubstr("unknown toolchain \"gcc\"; known are neuronx-cc, xla-cpu"));
  result = Run({"--idle-exit", "soon"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.log, HasSubstr("--idle-exit \"soon\""));
  // All at once.
  result = Run({"--toolchain", "gcc,nope", "--idle-exit", "soon", "--memory", "0"});
  EXPECT_EQ(result.exit_code, 2);
  for (const char* mistake : {"\"gcc\"", "\"nope\"", "--idle-exit \"soon\"", "--memory is 0"}) {
    EXPECT_THAT(result.log, HasSubstr(mistake));
  }
  EXPECT_EQ(Run({"--bogus"}).exit_code, 2);
  EXPECT_EQ(Run({"--slots", "0"}).exit_code, 2);
  EXPECT_EQ(Run({"--parent-pid", "1"}).exit_code, 2);
  EXPECT_EQ(Run({"--help"}).exit_code, 0);
}

TEST_F(WorkerProgramTest, MissingCompilerIsAnErrorThatNamesIt) {
  ChildResult result = Run({"--toolchain", "neuronx-cc", "--neuronx-cc", "/nowhere/neuronx-cc"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.log, HasSubstr("/nowhere/neuronx-cc"));
  result = Run({"--neuronx-cc", "/nowhere/neuronx-cc", "--xla-cpu", "/nowhere/xla"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.log, HasSubstr("no compiler works on this machine"));
}

TEST_F(WorkerProgramTest, WorksUntilTerminatedAndLeavesNothing) {
  WriteFile(directory_ / "config", "slots=2\nmemory=3GB\n");
  std::stop_source stop;
  ChildResult result;
  std::jthread runner([&] {
    result =
        Run({"--toolchain", "neuronx-cc", "--config", directory_ / "config"}, stop.get_token());
  });
  const v1::WorkerHello hello = daemon_.AwaitHello(1);
  EXPECT_EQ(hello.slots(), 2u);
  EXPECT_EQ(hello.memory_bytes(), uint64_t{3} << 30);
  EXPECT_FALSE(hello.embedded());
  FakeDaemon::Report report;
  EXPECT_TRUE(daemon_.AwaitReport(daemon_.Grant("a graph"), report));
  EXPECT_TRUE(report.start.has_artifact()) << report.start.failure().message();
  stop.request_stop();
  runner.join();
  EXPECT_EQ(result.exit_code, 0) << result.log;
  EXPECT_TRUE(daemon_.AwaitLeaving());
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "scratch"));
}

TEST_F(WorkerProgramTest, EmbeddedWorkerWithoutItsDaemonEndsAtOnce) {
  EXPECT_EQ(Run({"--toolchain", "neuronx-cc", "--embedded", "--parent-pid",
                 absl::StrCat(getpid())})  // Its parent is the supervisor, and not us.
                .exit_code,
            1);
}

// The shell stands in for the daemon: it starts the worker and is killed.
TEST_F(WorkerProgramTest, EmbeddedWorkerDiesWithItsDaemon) {
  const std::string script = absl::StrCat(
      NEFFCACHE_WORKER_PROGRAM, " --toolchain neuronx-cc --embedded --parent-pid $$ --daemon ",
      daemon_.address(), " --neuronx-cc ", NEFFCACHE_FAKE_NEURONX_CC, " --scratch ",
      directory_ / "scratch", " & echo $$ > ", directory_ / "pid", "; wait");
  const pid_t shell = fork();
  if (shell == 0) {
    execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    _exit(127);
  }
  EXPECT_TRUE(daemon_.AwaitHello(1).embedded());
  kill(shell, SIGKILL);
  waitpid(shell, nullptr, 0);
  EXPECT_TRUE(daemon_.AwaitStreamEnd());
}

}  // namespace
}  // namespace neffcache
