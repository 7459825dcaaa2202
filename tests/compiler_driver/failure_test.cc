#include "compiler_driver/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

namespace neffcache {
namespace {

using ::testing::HasSubstr;
using Class = CompileFailureClass;

FailureEvidence Exit(int code, const std::string& log, const std::string& log_file = "") {
  FailureEvidence evidence;
  evidence.program = "neuronx-cc";
  evidence.child.end = ChildEnd::kExited;
  evidence.child.exit_code = code;
  evidence.child.log = log;
  evidence.log_file = log_file;
  return evidence;
}

FailureEvidence Signal(int signal) {
  FailureEvidence evidence = Exit(-1, "");
  evidence.child.end = ChildEnd::kSignalled;
  evidence.child.signal = signal;
  return evidence;
}

FailureEvidence Own(ChildEnd end) {
  FailureEvidence evidence = Signal(SIGKILL);
  evidence.child.end = end;
  return evidence;
}

struct Case {
  FailureEvidence evidence;
  Class failure_class;
  std::string says;
};

class FailureTableTest : public ::testing::TestWithParam<Case> {};

TEST_P(FailureTableTest, EvidenceDecidesTheClassAndIsQuoted) {
  const CompileFailure failure = ClassifyFailure(GetParam().evidence);
  EXPECT_EQ(ToString(failure.failure_class), ToString(GetParam().failure_class)) << failure.message;
  EXPECT_THAT(failure.message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Deterministic, FailureTableTest,
    ::testing::Values(
        Case{Exit(70, "x\n[ERROR] [NCC_EVRF007] no such op\ntail"), Class::kDeterministic,
             "exited with 70: [ERROR] [NCC_EVRF007] no such op"},
        Case{Exit(70, "", "NCC_EARG002: unrecognized --bogus"), Class::kDeterministic,
             "NCC_EARG002"},
        Case{Exit(1, "ERROR [TEN404] internal tensorizer error"), Class::kDeterministic, "TEN404"},
        Case{Exit(70, "[XCG815] Estimated peak HBM usage exceeds 16GB"), Class::kDeterministic,
             "XCG815"},
        Case{Exit(2, "neuronx-cc: error: unrecognized arguments: --bogus"), Class::kDeterministic,
             "--bogus"}));

INSTANTIATE_TEST_SUITE_P(
    Memory, FailureTableTest,
    ::testing::Values(
        Case{Signal(SIGKILL), Class::kMemory, "signal 9"},
        Case{Exit(137, ""), Class::kMemory, "exited with 137"},
        Case{Exit(70, "[F137] neuronx-cc was forcibly killed"), Class::kMemory, "[F137]"},
        Case{Exit(70, "terminate called: std::bad_alloc"), Class::kMemory, "std::bad_alloc"},
        Case{Exit(1, "MemoryError"), Class::kMemory, "MemoryError"},
        Case{Exit(70, "Received error code: -9"), Class::kMemory, "error code: -9"},
        Case{Own(ChildEnd::kOverMemory), Class::kMemory, "memory limit"},
        // A driver that also prints a diagnostic when its child was killed.
        Case{Exit(70, "[F137] killed\n[NCC_EXXX001] backend exited abnormally"), Class::kMemory,
             "[F137]"}));

INSTANTIATE_TEST_SUITE_P(
    Transient, FailureTableTest,
    ::testing::Values(
        Case{Signal(SIGSEGV), Class::kTransient, "signal 11"},
        Case{Signal(SIGABRT), Class::kTransient, "signal 6"},
        Case{Exit(127, ""), Class::kTransient, "exited with 127"},
        Case{Exit(70, "[ERROR] [NCC_EVRF059] kernel file not found"), Class::kTransient,
             "NCC_EVRF059"},
        Case{Exit(70, "walrus: error while loading shared libraries: libxml2.so.2: cannot open"),
             Class::kTransient, "libxml2"},
        Case{Exit(70, "OSError: [Errno 28] No space left on device\n[NCC_EXXX001] oh"),
             Class::kTransient, "No space left"},
        Case{Own(ChildEnd::kTimedOut), Class::kTransient, "time limit"},
        Case{Own(ChildEnd::kCancelled), Class::kTransient, "cancelled"}));

INSTANTIATE_TEST_SUITE_P(
    Unclear, FailureTableTest,
    ::testing::Values(
        Case{Exit(70, "Subcommand returned with exitcode=70"), Class::kUnclear,
             "exited with 70 without a diagnostic"},
        Case{Exit(1, ""), Class::kUnclear, "exited with 1"},
        // One capital letter: how a child died, not what is wrong with the graph.
        Case{Exit(70, "[F134] neuronx-cc terminated abnormally"), Class::kUnclear,
             "exited with 70"},
        Case{Exit(70, "shape [ABC] and [1024] and NCC_ and NCC_E"), Class::kUnclear, ""},
        Case{Own(ChildEnd::kOverOutput), Class::kUnclear, "larger than the store takes"}));

TEST(FailureTest, BadOutputAfterExitZeroIsTransient) {
  FailureEvidence evidence = Exit(0, "Compiler status PASS");
  evidence.output_error = absl::DataLossError("it was not written");
  const CompileFailure failure = ClassifyFailure(evidence);
  EXPECT_EQ(failure.failure_class, Class::kTransient);
  EXPECT_THAT(failure.message, HasSubstr("exited with 0 but its output is no good: it was not"));
  EXPECT_EQ(failure.exit_code, 0);
}

TEST(FailureTest, NotStartedIsTransientAndSaysWhy) {
  FailureEvidence evidence = Exit(-1, "");
  evidence.child.end = ChildEnd::kNotStarted;
  evidence.child.start_error = absl::NotFoundError("starting /x: No such file");
  const CompileFailure failure = ClassifyFailure(evidence);
  EXPECT_EQ(failure.failure_class, Class::kTransient);
  EXPECT_THAT(failure.message, HasSubstr("starting /x"));
  EXPECT_EQ(failure.exit_code, -1);
}

TEST(FailureTest, SignalHasNoExitCode) {
  const CompileFailure failure = ClassifyFailure(Signal(SIGSEGV));
  EXPECT_EQ(failure.exit_code, -1);
  EXPECT_EQ(failure.signal, SIGSEGV);
}

TEST(FailureTest, MessageIsBoundedUtf8WhateverTheCompilerPrints) {
  const CompileFailure failure =
      ClassifyFailure(Exit(70, "[NCC_EVRF007] \xff\xfe " + std::string(100'000, 'x')));
  EXPECT_LE(failure.message.size(), 1024u);
  EXPECT_THAT(failure.message, HasSubstr("?? xxx"));
}

}  // namespace
}  // namespace neffcache
