// The shim as trainers start it: the built program, a compiler behind it, a daemon on loopback.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "tests/client/shim/child_program.h"
#include "tests/client/shim/scratch_directory.h"
#include "tests/client/shim/scripted_daemon.h"

namespace neffcache::shim {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

using CompileStream = ScriptedDaemon::CompileStream;

// More than anything takes; a test that waits for so long has failed.
constexpr absl::Duration kPatience = absl::Seconds(30);

// A compiler that tells what it was given. `$CALLS` gets a line for each call.
constexpr char kCompiler[] = R"(#!/bin/sh
if [ "$1" = --version ]; then
  echo "NeuronX Compiler version 2.27.5334.0+2d4f85be"
  exit 0
fi
echo "$PWD $*" >> "$CALLS"
# The signals that programs use; the C library keeps others for its threads.
grep -E '^Sig(Blk|Ign)' /proc/self/status | sed 's/\t.*\(.......\)$/ \1/' >> "$CALLS.state"
ls /proc/self/fd >> "$CALLS.state"
output=
while [ $# -gt 0 ]; do
  case "$1" in
    --output) output="$2"; shift ;;
    --output=*) output="${1#--output=}" ;;
  esac
  shift
done
if [ -n "$output" ]; then printf 'compiled here' > "$output" || exit 70; fi
echo "said by the compiler"
exit "${COMPILER_EXIT:-0}"
)";

class ShimProgramTest : public ::testing::Test {
 protected:
  ShimProgramTest() {
    namespace fs = std::filesystem;
    for (const char* name : {"real", "work", "state", "shim"})
      fs::create_directory(scratch_ / name);
    InstallCompiler("real", kCompiler);
    scratch_.Write("work/g.hlo_module.pb", "opaque graph");
    environment_ = {{"PATH", absl::StrCat(fs::path(NEFFCACHE_SHIM).parent_path().string(), ":",
                                          scratch_ / "real", ":/usr/bin:/bin")},
                    {"CALLS", scratch_ / "calls"},
                    {"NEFFCACHE_DIR", scratch_ / "state"},
                    {"NEFFCACHE_DAEMON", "127.0.0.1:1"}};  // Nobody listens there.
  }

  void InstallCompiler(const std::string& directory, const std::string& text) {
    const std::string path = directory + "/neuronx-cc";
    scratch_.Write(path, text);
    std::filesystem::permissions(scratch_ / path, std::filesystem::perms::owner_all);
  }

  void Connect(const ScriptedDaemon& daemon) {
    environment_["NEFFCACHE_DAEMON"] = daemon.address();
  }

  ChildProgram Start(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {NEFFCACHE_SHIM};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return ChildProgram(argv, environment_, scratch_ / "work",
                        absl::StrCat(scratch_ / "run", runs_++));
  }
  ProgramResult Run(const std::vector<std::string>& arguments) { return Start(arguments).Wait(); }
  ProgramResult Compile() { return Run(kCompile); }

  // The compiler's calls other than for its version.
  std::vector<std::string> Calls() {
    return absl::StrSplit(scratch_.Read("calls"), '\n', absl::SkipEmpty());
  }
  std::set<std::string> WorkNames() {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_ / "work")) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  void ExpectCompiledHere(const ProgramResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(scratch_.Read("work/g.neff"), "compiled here");
    EXPECT_EQ(Calls().size(), 1u);
    // One line of ours, whatever the trouble.
    EXPECT_THAT(result.err, AllOf(StartsWith("neffcache: "), EndsWith("; compiling here\n")));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.out, EndsWith("said by the compiler\n"));
  }

  const std::vector<std::string> kCompile = {"compile",  "--framework=XLA", "g.hlo_module.pb",
                                             "--output", "g.neff",          "--target=trn1"};
  ScratchDirectory scratch_;
  std::map<std::string, std::string> environment_;
  int runs_ = 0;
};

TEST_F(ShimProgramTest, AHitIsServedAndLooksLikeACompile) {
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  const ProgramResult result = Compile();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, ".\nCompiler status PASS\n");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(scratch_.Read("work/g.neff"), "artifact");
  EXPECT_THAT(scratch_.Read("work/log-neuron-cc.txt"), HasSubstr("came from neffcache"));
  EXPECT_THAT(WorkNames(), UnorderedElementsAre("g.hlo_module.pb", "g.neff", "log-neuron-cc.txt"));
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(ShimProgramTest, ALargeArtifactIsFetched) {
  const std::string artifact(5 << 20, 'x');
  const ScriptedDaemon daemon(Have(artifact, false), Serve(artifact));
  Connect(daemon);
  const ProgramResult result = Compile();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(scratch_.Read("work/g.neff"), artifact);
}

TEST_F(ShimProgramTest, AnAbsoluteOutputAndItsLogFileAreFollowed) {
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  const ProgramResult result =
      Run({"--target=trn1", "compile", "--framework", "XLA", "--output=" + (scratch_ / "g.neff"),
           "--logfile", scratch_ / "cc.log", "g.hlo_module.pb"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(scratch_.Read("g.neff"), "artifact");
  EXPECT_THAT(scratch_.Read("cc.log"), HasSubstr("came from neffcache"));
  EXPECT_THAT(WorkNames(), ElementsAre("g.hlo_module.pb"));
}

TEST_F(ShimProgramTest, TheDaemonIsToldToolchainAndBundle) {
  environment_["NEFFCACHE_BUNDLE"] = "bert";
  v1::CompileStart asked;
  const ScriptedDaemon daemon(
      [&](grpc::ServerContext&, const v1::CompileStart& start, CompileStream& stream) {
        asked = start;
        stream.Write(ReadyEvent(start, "artifact", true));
        return grpc::Status::OK;
      });
  Connect(daemon);
  Compile();
  EXPECT_EQ(asked.bundle(), "bert");
  EXPECT_EQ(asked.purpose(), v1::PURPOSE_TRAINER);
  EXPECT_EQ(asked.material().toolchain().name(), "neuronx-cc");
  EXPECT_EQ(asked.material().toolchain().version(), "2.27.5334.0+2d4f85be");
}

TEST_F(ShimProgramTest, ItWaitsForTheOneCompile) {
  absl::Notification waiting, compiled;
  const ScriptedDaemon daemon(
      [&](grpc::ServerContext&, const v1::CompileStart& start, CompileStream& stream) {
        v1::CompileEvent event;
        event.mutable_queued()->set_position(1);
        stream.Write(event);
        event.mutable_running()->set_elapsed_ms(1);
        stream.Write(event);
        waiting.Notify();
        compiled.WaitForNotificationWithTimeout(kPatience);
        stream.Write(ReadyEvent(start, "artifact", true));
        return grpc::Status::OK;
      });
  Connect(daemon);
  ChildProgram shim = Start(kCompile);
  ASSERT_TRUE(waiting.WaitForNotificationWithTimeout(kPatience));
  EXPECT_THAT(WorkNames(), ElementsAre("g.hlo_module.pb"));
  compiled.Notify();
  EXPECT_EQ(shim.Wait().exit_code, 0);
  EXPECT_EQ(scratch_.Read("work/g.neff"), "artifact");
}

TEST_F(ShimProgramTest, ThirtyTwoAtOnceAreAllServed) {
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  std::vector<ChildProgram> shims;
  for (int rank = 0; rank < 32; ++rank) {
    shims.push_back(Start({"compile", "--framework=XLA", "g.hlo_module.pb", "--output",
                           absl::StrCat("rank", rank, ".neff"), "--target=trn1"}));
  }
  for (int rank = 0; rank < 32; ++rank) {
    const ProgramResult result = shims[rank].Wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(scratch_.Read(absl::StrCat("work/rank", rank, ".neff")), "artifact");
  }
  EXPECT_EQ(daemon.compiles(), 32);
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(ShimProgramTest, WithTheDaemonAwayTheCompilerRuns) {
  ExpectCompiledHere(Compile());
  EXPECT_EQ(Calls()[0], absl::StrCat(scratch_ / "work",
                                     " compile --framework=XLA g.hlo_module.pb --output g.neff "
                                     "--target=trn1"));
}

TEST_F(ShimProgramTest, WithTheDaemonGoneInTheMiddleTheCompilerRuns) {
  absl::Notification waiting;
  ScriptedDaemon daemon(
      [&](grpc::ServerContext& context, const v1::CompileStart&, CompileStream& stream) {
        v1::CompileEvent event;
        event.mutable_running()->set_elapsed_ms(1);
        stream.Write(event);
        waiting.Notify();
        v1::CompileRequest more;
        while (!context.IsCancelled() && stream.Read(&more)) {
        }
        return grpc::Status::CANCELLED;
      });
  Connect(daemon);
  environment_["NEFFCACHE_RECONNECT"] = "0";
  ChildProgram shim = Start(kCompile);
  ASSERT_TRUE(waiting.WaitForNotificationWithTimeout(kPatience));
  daemon.Stop();
  ExpectCompiledHere(shim.Wait());
}

TEST_F(ShimProgramTest, AWaitThatIsTooLongEndsInTheCompiler) {
  environment_["NEFFCACHE_WAIT"] = "0.2";
  absl::Notification over;
  const ScriptedDaemon daemon(
      [&](grpc::ServerContext&, const v1::CompileStart&, CompileStream& stream) {
        v1::CompileEvent event;
        event.mutable_queued()->set_position(3);
        stream.Write(event);
        over.WaitForNotificationWithTimeout(kPatience);
        return grpc::Status::CANCELLED;
      });
  Connect(daemon);
  const ProgramResult result = Compile();
  over.Notify();
  ExpectCompiledHere(result);
}

TEST_F(ShimProgramTest, ADamagedArtifactIsNotServed) {
  const ScriptedDaemon daemon(Have("artifact", false), Serve("artefact"));
  Connect(daemon);
  ExpectCompiledHere(Compile());
}

TEST_F(ShimProgramTest, ADeterministicFailureIsRepeatedWithItsExitCodeAndOutput) {
  v1::Failure failure;
  failure.set_failure_class(v1::FAILURE_CLASS_DETERMINISTIC);
  failure.set_exit_code(70);
  failure.set_log_tail("..ERROR: NCC_EVRF001: no such operator\n");
  const ScriptedDaemon daemon(Fail(failure));
  Connect(daemon);
  const ProgramResult result = Compile();
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_EQ(result.err, "ERROR: NCC_EVRF001: no such operator\n");
  EXPECT_EQ(result.out, "..");
  EXPECT_THAT(WorkNames(), UnorderedElementsAre("g.hlo_module.pb", "log-neuron-cc.txt"));
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(ShimProgramTest, AFailureBySignalIsRepeatedAsThatSignal) {
  v1::Failure failure;
  failure.set_failure_class(v1::FAILURE_CLASS_DETERMINISTIC);
  failure.set_exit_code(-1);
  failure.set_signal(SIGSEGV);
  const ScriptedDaemon daemon(Fail(failure));
  Connect(daemon);
  EXPECT_EQ(Compile().signal, SIGSEGV);
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(ShimProgramTest, AFailureForWantOfMemoryIsTriedHere) {
  v1::Failure failure;
  failure.set_failure_class(v1::FAILURE_CLASS_MEMORY);
  failure.set_signal(SIGKILL);
  failure.set_message("killed for memory");
  const ScriptedDaemon daemon(Fail(failure));
  Connect(daemon);
  ExpectCompiledHere(Compile());
}

TEST_F(ShimProgramTest, OtherCallsPassThroughWithTheirExitStatus) {
  environment_["COMPILER_EXIT"] = "41";
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  EXPECT_EQ(Run({"list-operators", "--framework", "XLA", "a  b"}).exit_code, 41);
  EXPECT_THAT(Calls(),
              ElementsAre(absl::StrCat(scratch_ / "work", " list-operators --framework XLA a  b")));
  EXPECT_EQ(daemon.compiles(), 0);
}

TEST_F(ShimProgramTest, TheVersionIsTheCompilersOwn) {
  const ProgramResult result = Run({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "NeuronX Compiler version 2.27.5334.0+2d4f85be\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(ShimProgramTest, DisabledItIsNotThere) {
  environment_["NEFFCACHE_DISABLE"] = "1";
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  const ProgramResult result = Compile();
  EXPECT_EQ(scratch_.Read("work/g.neff"), "compiled here");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(daemon.compiles(), 0);
}

TEST_F(ShimProgramTest, AnUncacheableCompileIsTheCompilersAndSaidOnlyWhenAsked) {
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  std::vector<std::string> arguments = kCompile;
  arguments.insert(arguments.end(), {"--pipeline", "compile", "SaveTemps"});
  EXPECT_EQ(Run(arguments).err, "");
  EXPECT_EQ(scratch_.Read("work/g.neff"), "compiled here");
  environment_["NEFFCACHE_VERBOSE"] = "1";
  EXPECT_THAT(Run(arguments).err, HasSubstr("SaveTemps"));
  EXPECT_EQ(daemon.compiles(), 0);
}

TEST_F(ShimProgramTest, AMissingGraphIsTheCompilersToReport) {
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  const ProgramResult result =
      Run({"compile", "--framework=XLA", "missing.pb", "--output", "g.neff", "--target=trn1"});
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(Calls().size(), 1u);
}

TEST_F(ShimProgramTest, AnOutputThatCannotBeWrittenIsOneSentenceAndNoFile) {
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  const ProgramResult result = Run({"compile", "--framework=XLA", "g.hlo_module.pb", "--output",
                                    "g.hlo_module.pb/g.neff", "--target=trn1"});
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_THAT(result.err, ContainsRegex("^neffcache: writing g.hlo_module.pb/g.neff: .*\n$"));
  EXPECT_THAT(WorkNames(), ElementsAre("g.hlo_module.pb"));
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(ShimProgramTest, ADeviceAsOutputIsNotReplaced) {
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  const ProgramResult result = Run(
      {"compile", "--framework=XLA", "g.hlo_module.pb", "--output", "/dev/null", "--target=trn1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(Calls().size(), 1u);
}

TEST_F(ShimProgramTest, WithoutACompilerACompileIsOneSentence) {
  environment_["PATH"] = std::filesystem::path(NEFFCACHE_SHIM).parent_path().string();
  for (const auto& arguments : {kCompile, std::vector<std::string>{"--version"}}) {
    const ProgramResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 127);
    EXPECT_THAT(result.err, ContainsRegex("^neffcache: .*neuronx-cc.*\n$"));
  }
}

TEST_F(ShimProgramTest, WithoutACompilerHitsOfANamedVersionAreServed) {
  environment_["PATH"] = std::filesystem::path(NEFFCACHE_SHIM).parent_path().string();
  environment_["NEFFCACHE_TOOLCHAIN_VERSION"] = "2.27.5334.0+2d4f85be";
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  EXPECT_EQ(Compile().exit_code, 0);
  EXPECT_EQ(scratch_.Read("work/g.neff"), "artifact");
}

TEST_F(ShimProgramTest, ACompilerThatCallsTheShimAgainEnds) {
  InstallCompiler("real", "#!/bin/sh\nexec neuronx-cc \"$@\"\n");
  const ProgramResult result = Run({"list-operators"});
  EXPECT_EQ(result.exit_code, 127);
  EXPECT_THAT(result.err, HasSubstr("NEFFCACHE_REAL_CC"));
}

TEST_F(ShimProgramTest, TheCompilerInheritsWhatItWouldHaveWithoutTheShim) {
  ChildProgram({scratch_ / "real/neuronx-cc", "compile"}, environment_, scratch_ / "work",
               scratch_ / "direct")
      .Wait();
  const std::string direct = scratch_.Read("calls.state");
  std::filesystem::remove(scratch_ / "calls.state");
  std::filesystem::remove(scratch_ / "calls");
  // By way of a failed connection: gRPC's threads and sockets have been there.
  ExpectCompiledHere(Compile());
  EXPECT_EQ(scratch_.Read("calls.state"), direct);
}

TEST_F(ShimProgramTest, ASignalWhileWaitingEndsItAtOnceWithoutATrace) {
  for (const int signal : {SIGTERM, SIGINT}) {
    absl::Notification waiting, over;
    const ScriptedDaemon daemon(
        [&](grpc::ServerContext&, const v1::CompileStart&, CompileStream& stream) {
          v1::CompileEvent event;
          event.mutable_running()->set_elapsed_ms(1);
          stream.Write(event);
          waiting.Notify();
          over.WaitForNotificationWithTimeout(kPatience);
          return grpc::Status::CANCELLED;
        });
    Connect(daemon);
    ChildProgram shim = Start(kCompile);
    ASSERT_TRUE(waiting.WaitForNotificationWithTimeout(kPatience));
    shim.Signal(signal);
    EXPECT_EQ(shim.Wait().signal, signal);
    over.Notify();
    EXPECT_THAT(WorkNames(), ElementsAre("g.hlo_module.pb"));
    EXPECT_THAT(Calls(), IsEmpty());
  }
}

TEST_F(ShimProgramTest, ASignalInTheMiddleOfADownloadLeavesNothingBehind) {
  const std::string artifact(3 << 20, 'x');
  absl::Notification half, over;
  const ScriptedDaemon daemon(Have(artifact, false),
                              [&](grpc::ServerContext&, const v1::FetchRequest&,
                                  grpc::ServerWriter<v1::FetchResponse>& writer) {
                                v1::FetchResponse response;
                                response.set_data(artifact.substr(0, 1 << 20));
                                writer.Write(response);
                                half.Notify();
                                over.WaitForNotificationWithTimeout(kPatience);
                                return grpc::Status::CANCELLED;
                              });
  Connect(daemon);
  ChildProgram shim = Start(kCompile);
  ASSERT_TRUE(half.WaitForNotificationWithTimeout(kPatience));
  shim.Signal(SIGTERM);
  EXPECT_EQ(shim.Wait().signal, SIGTERM);
  over.Notify();
  EXPECT_THAT(WorkNames(), ElementsAre("g.hlo_module.pb"));
}

#ifndef NEFFCACHE_SANITIZED  // Sanitizers need more address space than this.
TEST_F(ShimProgramTest, WhenTheShimItselfHangsTheCompilerRuns) {
  const ScriptedDaemon daemon(Have("artifact", true));
  Connect(daemon);
  // Room for the program, not for its threads: gRPC waits for them without end.
  environment_["NEFFCACHE_WAIT"] = "0.1";
  const std::string limited = absl::StrCat("ulimit -v 60000; exec ", NEFFCACHE_SHIM, " \"$@\"");
  std::vector<std::string> arguments = {"/bin/sh", "-c", limited, "sh"};
  arguments.insert(arguments.end(), kCompile.begin(), kCompile.end());
  const ProgramResult result =
      ChildProgram(arguments, environment_, scratch_ / "work", scratch_ / "limited").Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(scratch_.Read("work/g.neff"), "compiled here");
  EXPECT_THAT(result.err, HasSubstr("compiling here"));
}
#endif

}  // namespace
}  // namespace neffcache::shim
