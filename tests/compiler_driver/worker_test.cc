#include "compiler_driver/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "compiler_driver/toolchain_table.h"
#include "io/zstd.h"
#include "tests/compiler_driver/fake_daemon.h"
#include "tests/compiler_driver/test_directory.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kVersion[] = "2.14.227.0+2d4f85be";

// A worker with the fake compiler, working for a fake daemon.
class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() {
    setenv("FAKE_NEURONX_CC_CONTROL", (directory_ / "control").c_str(), 1);
    setenv("FAKE_NEURONX_CC_JOURNAL", (directory_ / "journal").c_str(), 1);
    options_.daemon = daemon_.address();
    options_.name = "tester";
    options_.memory_bytes = uint64_t{1} << 30;
    options_.reconnect_after = absl::Milliseconds(5);
    options_.compiles.pass_environment = {"FAKE_NEURONX_CC_*"};
    options_.compiles.grace = absl::Milliseconds(50);
  }
  ~WorkerTest() override {
    if (worker_ != nullptr) worker_->Kill();
    runner_ = {};
    worker_.reset();
    unsetenv("FAKE_NEURONX_CC_CONTROL");
    unsetenv("FAKE_NEURONX_CC_JOURNAL");
  }

  void Start() {
    ToolchainSettings settings;
    settings.neuronx_cc = NEFFCACHE_FAKE_NEURONX_CC;
    settings.environment = {"PATH=/usr/bin:/bin"};
    std::vector<std::unique_ptr<OfferedToolchain>> toolchains;
    toolchains.push_back(
        *OfferedToolchain::Probe(*MakeToolchain("neuronx-cc", settings), directory_.path(), {}));
    worker_ = std::make_unique<Worker>(options_, *ScratchRoot::Open(directory_ / "scratch"),
                                       std::move(toolchains));
    runner_ = std::jthread([this] { result_ = worker_->Run(); });
  }
  // Waits for Run() to return.
  absl::Status Result() {
    runner_.join();
    return result_;
  }

  void Mode(const std::string& mode) {
    WriteFile(directory_ / "control", absl::StrCat("{\"*\": \"", mode, "\"}"));
  }
  int Compiles() {
    const std::string journal = ReadFile(directory_ / "journal");
    return static_cast<int>(std::count(journal.begin(), journal.end(), '\n'));
  }
  // Of a compile that runs until directory_ / "go" is there: its lease's token.
  uint64_t StartCompileThatWaits() {
    Mode(absl::StrCat("wait-file:", directory_ / "go"));
    Start();
    daemon_.AwaitHello(1);
    const uint64_t token = daemon_.Grant("a graph");
    AwaitCompiles(1);
    return token;
  }
  void AwaitCompiles(int count) {
    while (Compiles() < count) std::this_thread::yield();
  }
  FakeDaemon::Report Report(uint64_t token) {
    FakeDaemon::Report report;
    EXPECT_TRUE(daemon_.AwaitReport(token, report));
    return report;
  }

  TestDirectory directory_;
  FakeDaemon daemon_;
  WorkerOptions options_;
  absl::Status result_;
  std::unique_ptr<Worker> worker_;
  std::jthread runner_;
};

TEST_F(WorkerTest, HelloSaysWhatTheWorkerHas) {
  options_.slots = 3;
  Start();
  const v1::WorkerHello hello = daemon_.AwaitHello(1);
  EXPECT_EQ(hello.name(), "tester");
  EXPECT_EQ(hello.slots(), 3u);
  EXPECT_EQ(hello.memory_bytes(), uint64_t{1} << 30);
  ASSERT_EQ(hello.toolchains_size(), 1);
  EXPECT_EQ(hello.toolchains(0).name(), "neuronx-cc");
  EXPECT_EQ(hello.toolchains(0).version(), kVersion);
}

TEST_F(WorkerTest, LeaseIsCompiledAndItsArtifactAndLogReported) {
  Start();
  daemon_.AwaitHello(1);
  const uint64_t token = daemon_.Grant("a graph");
  const FakeDaemon::Report report = Report(token);
  ASSERT_TRUE(report.start.has_artifact()) << report.start.failure().message();
  EXPECT_EQ(report.start.worker_id(), 1u);
  EXPECT_EQ(report.start.artifact().digest(), std::string(Sha256Of(report.artifact).bytes()));
  EXPECT_EQ(report.start.artifact().size(), report.artifact.size());
  EXPECT_GT(report.start.compile_time_ms(), 0);
  EXPECT_GT(report.start.peak_memory_bytes(), 0u);
  EXPECT_THAT(report.log, HasSubstr("Compiler status PASS"));
  EXPECT_THAT(ReadFile(directory_ / "journal"), HasSubstr(Sha256Of("a graph").Hex()));
  EXPECT_THAT(ReadFile(directory_ / "journal"), HasSubstr("--target=trn1"));
}

TEST_F(WorkerTest, AWrappedGraphIsUnwrappedForTheCompiler) {
  Start();
  daemon_.AwaitHello(1);
  const FakeDaemon::Report report = Report(daemon_.Grant(ZstdCompress("a graph")));
  ASSERT_TRUE(report.start.has_artifact()) << report.start.failure().message();
  EXPECT_THAT(ReadFile(directory_ / "journal"), HasSubstr(Sha256Of("a graph").Hex()));
}

TEST_F(WorkerTest, LargeGraphsAndArtifactsTravelInPieces) {
  setenv("FAKE_NEURONX_CC_SIZE", "5000000", 1);
  Start();
  daemon_.AwaitHello(1);
  std::string graph(3 << 20, '\0');
  uint32_t noise = 1;
  for (char& c : graph) c = static_cast<char>((noise = noise * 1664525 + 1013904223) >> 24);
  const FakeDaemon::Report report = Report(daemon_.Grant(graph));
  unsetenv("FAKE_NEURONX_CC_SIZE");
  ASSERT_TRUE(report.start.has_artifact()) << report.start.failure().message();
  EXPECT_GT(report.artifact.size(), 5'000'000u);
  EXPECT_EQ(report.start.artifact().digest(), std::string(Sha256Of(report.artifact).bytes()));
}

TEST_F(WorkerTest, FailureIsReportedWithClassExitCodeAndLog) {
  Mode("diagnostic:NCC_EVRF042");
  Start();
  daemon_.AwaitHello(1);
  const FakeDaemon::Report report = Report(daemon_.Grant("a graph"));
  ASSERT_TRUE(report.start.has_failure());
  const v1::Failure& failure = report.start.failure();
  EXPECT_EQ(failure.failure_class(), v1::FAILURE_CLASS_DETERMINISTIC);
  EXPECT_THAT(failure.message(), HasSubstr("NCC_EVRF042"));
  EXPECT_EQ(failure.exit_code(), 70);
  EXPECT_THAT(failure.log_tail(), HasSubstr("does not support"));
  EXPECT_THAT(report.log, HasSubstr("NCC_EVRF042"));
  EXPECT_EQ(report.artifact, "");
}

TEST_F(WorkerTest, HeartbeatsCarryMemoryAndLastLogLine) {
  Mode(absl::StrCat("big-log:1+wait-file:", directory_ / "go"));
  Start();
  daemon_.AwaitHello(1);
  const uint64_t token = daemon_.Grant("a graph");
  EXPECT_TRUE(daemon_.AwaitHeartbeat(token, "this line is one of very many", 1 << 20) ||
              daemon_.AwaitHeartbeat(token, ".", 1 << 20));
  WriteFile(directory_ / "go", "");
  EXPECT_TRUE(Report(token).start.has_artifact());
}

TEST_F(WorkerTest, RevokedLeaseIsKilledAndNotReportedAndItsSlotIsFreeAgain) {
  Mode("hang");
  Start();
  daemon_.AwaitHello(1);
  const uint64_t revoked = daemon_.Grant("a graph");
  AwaitCompiles(1);
  Mode("ok");
  daemon_.Revoke(revoked);
  const uint64_t next = daemon_.Grant("another graph");
  EXPECT_TRUE(Report(next).start.has_artifact());
  EXPECT_EQ(daemon_.reports(), 1);
}

TEST_F(WorkerTest, SlotsCompileAtTheSameTime) {
  options_.slots = 2;
  Mode(absl::StrCat("wait-file:", directory_ / "go"));
  Start();
  daemon_.AwaitHello(1);
  const uint64_t one = daemon_.Grant("one"), two = daemon_.Grant("two"),
                 three = daemon_.Grant("three");
  AwaitCompiles(2);
  EXPECT_EQ(daemon_.reports(), 0);
  WriteFile(directory_ / "go", "");
  for (uint64_t token : {one, two, three}) EXPECT_TRUE(Report(token).start.has_artifact());
}

TEST_F(WorkerTest, BrokenStreamKillsItsCompilesAndTheWorkerComesBack) {
  Mode("hang");
  Start();
  daemon_.AwaitHello(1);
  daemon_.Grant("a graph");
  AwaitCompiles(1);
  Mode("ok");
  daemon_.BreakStream();
  EXPECT_EQ(daemon_.AwaitHello(2).name(), "tester");
  const FakeDaemon::Report report = Report(daemon_.Grant("a graph"));
  EXPECT_TRUE(report.start.has_artifact());
  EXPECT_EQ(report.start.worker_id(), 2u);
  EXPECT_EQ(daemon_.reports(), 1);
}

TEST_F(WorkerTest, LeavingFinishesWhatRuns) {
  const uint64_t token = StartCompileThatWaits();
  worker_->Leave();
  EXPECT_TRUE(daemon_.AwaitLeaving());
  EXPECT_EQ(daemon_.reports(), 0);
  WriteFile(directory_ / "go", "");
  EXPECT_TRUE(Report(token).start.has_artifact());
  EXPECT_TRUE(Result().ok()) << result_;
  EXPECT_TRUE(daemon_.AwaitStreamEnd());
}

TEST_F(WorkerTest, DrainedWorkerFinishesWhatRunsAndWorksForTheNextDaemonOnThePort) {
  const uint64_t token = StartCompileThatWaits();
  daemon_.RefuseHellos(grpc::Status(grpc::UNAVAILABLE, "the daemon is stopping"));
  daemon_.Drain();
  EXPECT_TRUE(daemon_.AwaitLeaving());
  EXPECT_EQ(daemon_.reports(), 0);
  WriteFile(directory_ / "go", "");
  EXPECT_TRUE(Report(token).start.has_artifact());
  EXPECT_TRUE(daemon_.AwaitStreamEnd());
  daemon_.Stop();

  FakeDaemon next(daemon_.address());
  EXPECT_EQ(next.AwaitHello(1).name(), "tester");
  FakeDaemon::Report report;
  ASSERT_TRUE(next.AwaitReport(next.Grant("a graph"), report));
  EXPECT_TRUE(report.start.has_artifact());
}

TEST_F(WorkerTest, DrainedWorkerThatIsToldToLeaveLeaves) {
  const uint64_t token = StartCompileThatWaits();
  daemon_.Drain();
  EXPECT_TRUE(daemon_.AwaitLeaving());
  worker_->Leave();
  WriteFile(directory_ / "go", "");
  EXPECT_TRUE(Report(token).start.has_artifact());
  EXPECT_TRUE(Result().ok()) << result_;
}

TEST_F(WorkerTest, DrainSendsAnEmbeddedWorkerAway) {
  options_.embedded = true;
  Start();
  daemon_.AwaitHello(1);
  daemon_.Drain();
  EXPECT_TRUE(daemon_.AwaitLeaving());
  EXPECT_TRUE(Result().ok()) << result_;
}

TEST_F(WorkerTest, KillDoesNotWaitForAHangingCompile) {
  Mode("hang");
  Start();
  daemon_.AwaitHello(1);
  daemon_.Grant("a graph");
  AwaitCompiles(1);
  worker_->Leave();
  EXPECT_TRUE(daemon_.AwaitLeaving());
  worker_->Kill();
  EXPECT_TRUE(Result().ok()) << result_;
  EXPECT_EQ(daemon_.reports(), 0);
}

TEST_F(WorkerTest, IdleWorkerLeavesAndABusyOneDoesNot) {
  options_.idle_exit = absl::Milliseconds(100);
  Mode("slow:0.4");
  Start();
  daemon_.AwaitHello(1);
  EXPECT_TRUE(Report(daemon_.Grant("a graph")).start.has_artifact());
  EXPECT_TRUE(daemon_.AwaitLeaving());
  EXPECT_TRUE(Result().ok()) << result_;
}

TEST_F(WorkerTest, LeavesAtOnceWhenTheDaemonIsAway) {
  options_.daemon = "127.0.0.1:1";
  options_.reconnect_after = absl::Minutes(10);
  options_.reconnect_limit = absl::Minutes(10);
  Start();
  worker_->Leave();
  EXPECT_TRUE(Result().ok()) << result_;
}

TEST_F(WorkerTest, RefusedHelloEndsTheWorkerWithTheReason) {
  daemon_.RefuseHellos(grpc::Status(grpc::INVALID_ARGUMENT, "no such luck"));
  Start();
  const absl::Status result = Result();
  EXPECT_EQ(result.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.message(), HasSubstr("no such luck"));
}

TEST_F(WorkerTest, GraphOfAVoidLeaseIsNotReported) {
  Start();
  daemon_.AwaitHello(1);
  Mode("hang");
  const uint64_t blocker = daemon_.Grant("a blocker");
  AwaitCompiles(1);
  daemon_.Grant("a graph");
  daemon_.ForgetGraphs();
  Mode("ok");
  daemon_.Revoke(blocker);
  const uint64_t last = daemon_.Grant("the last");
  EXPECT_TRUE(Report(last).start.has_artifact());
  EXPECT_EQ(daemon_.reports(), 1);
  EXPECT_EQ(Compiles(), 2);
}

TEST_F(WorkerTest, WrongGraphIsNeverCompiled) {
  Start();
  daemon_.AwaitHello(1);
  Mode("hang");
  const uint64_t blocker = daemon_.Grant("a blocker");
  AwaitCompiles(1);
  const uint64_t token = daemon_.Grant("a graph");
  daemon_.SendGraphsAs("A graph");
  daemon_.Revoke(blocker);
  const FakeDaemon::Report report = Report(token);
  EXPECT_EQ(report.start.failure().failure_class(), v1::FAILURE_CLASS_TRANSIENT);
  EXPECT_THAT(report.start.failure().message(), HasSubstr("instead of"));
  EXPECT_EQ(Compiles(), 1);
}

TEST_F(WorkerTest, OtherToolchainVersionIsNeverCompiledWith) {
  Start();
  daemon_.AwaitHello(1);
  v1::Lease lease;
  lease.mutable_toolchain()->set_name("neuronx-cc");
  lease.mutable_toolchain()->set_version("2.15");
  const FakeDaemon::Report report = Report(daemon_.Grant("a graph", lease));
  EXPECT_EQ(report.start.failure().failure_class(), v1::FAILURE_CLASS_TRANSIENT);
  EXPECT_THAT(report.start.failure().message(), HasSubstr("no longer 2.15"));
  EXPECT_EQ(Compiles(), 0);
  // What it offers may have changed, so it says hello again.
  EXPECT_EQ(daemon_.AwaitHello(2).toolchains(0).version(), kVersion);
}

TEST_F(WorkerTest, FullStoreIsReportedAsATransientFailure) {
  daemon_.RefuseArtifacts(grpc::Status(grpc::RESOURCE_EXHAUSTED, "the disk is full"));
  Start();
  daemon_.AwaitHello(1);
  const FakeDaemon::Report report = Report(daemon_.Grant("a graph"));
  EXPECT_EQ(report.start.failure().failure_class(), v1::FAILURE_CLASS_TRANSIENT);
  EXPECT_THAT(report.start.failure().message(), HasSubstr("the disk is full"));
}

TEST_F(WorkerTest, LimitsOfTheLeaseHold) {
  Mode("hang");
  Start();
  daemon_.AwaitHello(1);
  v1::Lease lease;
  lease.mutable_toolchain()->set_name("neuronx-cc");
  lease.mutable_toolchain()->set_version(kVersion);
  lease.set_time_limit_ms(100);
  const FakeDaemon::Report late = Report(daemon_.Grant("a graph", lease));
  EXPECT_EQ(late.start.failure().failure_class(), v1::FAILURE_CLASS_TRANSIENT);
  EXPECT_THAT(late.start.failure().message(), HasSubstr("time limit"));

  Mode("ok");
  lease.set_time_limit_ms(0);
  lease.set_output_limit_bytes(100);
  const FakeDaemon::Report large = Report(daemon_.Grant("a graph", lease));
  EXPECT_EQ(large.start.failure().failure_class(), v1::FAILURE_CLASS_UNCLEAR);
}

TEST_F(WorkerTest, NothingIsLeftInScratch) {
  Start();
  daemon_.AwaitHello(1);
  Report(daemon_.Grant("a graph"));
  Mode("exit70");
  Report(daemon_.Grant("a graph"));
  worker_->Leave();
  EXPECT_TRUE(Result().ok());
  worker_.reset();
  EXPECT_TRUE(fs::is_empty(directory_ / "scratch"));
}

}  // namespace
}  // namespace neffcache
