#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler_driver/offered_toolchain.h"
#include "compiler_driver/toolchain_table.h"
#include "compiler_driver/xla_cpu.h"
#include "tests/compiler_driver/test_directory.h"
#include "tests/local_compiler/compiler_directory.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void WriteProgram(const std::string& path, absl::string_view script) {
  WriteFile(path, script);
  fs::permissions(path, fs::perms::owner_all);
}

class ToolchainTest : public ::testing::Test {
 protected:
  ToolchainTest() {
    settings_.neuronx_cc = NEFFCACHE_FAKE_NEURONX_CC;
    settings_.path = "/usr/bin";
    settings_.program_directory = directory_ / "bin";
    settings_.environment = {"PATH=/usr/bin:/bin"};
  }
  std::unique_ptr<CompilerToolchain> Make(absl::string_view name) {
    absl::StatusOr<std::unique_ptr<CompilerToolchain>> made = MakeToolchain(name, settings_);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *std::move(made) : nullptr;
  }

  TestDirectory directory_;
  ToolchainSettings settings_;
};

TEST_F(ToolchainTest, UnknownNameListsTheKnownOnes) {
  const absl::Status status = MakeToolchain("gcc", settings_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "unknown toolchain \"gcc\"; known are neuronx-cc, xla-cpu");
}

TEST_F(ToolchainTest, NeuronxCcVersionIncludesTheBuildHash) {
  EXPECT_EQ(*Make("neuronx-cc")->Probe(directory_.path(), {}), "2.14.227.0+2d4f85be");
  settings_.environment.push_back("FAKE_NEURONX_CC_VERSION=2.27.5334.0+deadbeef");
  EXPECT_EQ(*Make("neuronx-cc")->Probe(directory_.path(), {}), "2.27.5334.0+deadbeef");
}

TEST_F(ToolchainTest, NeuronxCcCommandIsTheDocumentedOne) {
  const std::string options[] = {"--model-type=transformer", "--target=trn1"};
  EXPECT_THAT(
      Make("neuronx-cc")->CommandFor(options).argv,
      ElementsAre(NEFFCACHE_FAKE_NEURONX_CC, "compile", "--framework=XLA", "graph.hlo_module.pb",
                  "--output", "graph.neff", "--model-type=transformer", "--target=trn1",
                  "--verbose=35", "--logfile", "log-neuron-cc.txt"));
}

TEST_F(ToolchainTest, FrameworkIsNotGivenTwice) {
  const std::string options[] = {"--framework=XLA", "--target=trn1"};
  EXPECT_THAT(Make("neuronx-cc")->CommandFor(options).argv,
              ElementsAre(NEFFCACHE_FAKE_NEURONX_CC, "compile", "graph.hlo_module.pb", "--output",
                          "graph.neff", "--framework=XLA", "--target=trn1", "--verbose=35",
                          "--logfile", "log-neuron-cc.txt"));
}

TEST_F(ToolchainTest, MissingCompilerIsNotFound) {
  settings_.neuronx_cc = directory_ / "absent";
  EXPECT_EQ(MakeToolchain("neuronx-cc", settings_).status().code(), absl::StatusCode::kNotFound);
  settings_.neuronx_cc = "";
  settings_.path = directory_.path();
  EXPECT_EQ(MakeToolchain("neuronx-cc", settings_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ToolchainTest, OurShimIsNoCompiler) {
  settings_.neuronx_cc = "";
  settings_.path = absl::StrCat(directory_ / "shim", ":", directory_ / "real");
  fs::create_directory(directory_ / "bin");
  WriteProgram(directory_ / "shim/neuronx-cc", "#!/bin/sh\n");
  const absl::Status status = MakeToolchain("neuronx-cc", settings_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("name it with --neuronx-cc"));
  WriteProgram(directory_ / "real/neuronx-cc", "#!/bin/sh\n");
  EXPECT_EQ(Make("neuronx-cc")->CommandFor({}).argv.front(), directory_ / "real/neuronx-cc");
}

TEST_F(ToolchainTest, StampChangesWhenPipReplacesTheCompiler) {
  const CompilerDirectory installed{};
  settings_.neuronx_cc = installed.InstallNeuronxCc("venv", "2.26");
  const std::unique_ptr<CompilerToolchain> compiler = Make("neuronx-cc");
  const std::string before = compiler->InstallationStamp();
  EXPECT_NE(before, "");
  EXPECT_EQ(compiler->InstallationStamp(), before);
  installed.InstallNeuronxCc("venv", "2.27");
  EXPECT_NE(compiler->InstallationStamp(), before);
  fs::remove(settings_.neuronx_cc);
  EXPECT_EQ(compiler->InstallationStamp(), "");
}

// The launcher as it is in the source tree, with an environment of the test's.
std::string LauncherWith(const std::string& venv) {
  return absl::StrReplaceAll(ReadFile(NEFFCACHE_XLA_CPU_LAUNCHER), {{"@NEFFCACHE_VENV@", venv}});
}

TEST_F(ToolchainTest, StampChangesWithTheJaxOfTheLaunchersPython) {
  const CompilerDirectory installed{};
  installed.Link("/bin/sh", "my venv/bin/python");
  settings_.xla_cpu =
      installed.WriteProgram("xla-cpu-compile", LauncherWith(installed / "my venv"));
  const std::unique_ptr<CompilerToolchain> compiler = Make("xla-cpu");
  EXPECT_EQ(compiler->InstallationStamp(), "");  // Without jaxlib nothing tells.
  installed.WriteMetadata("my venv", "jaxlib", "0.4.30");
  const std::string before = compiler->InstallationStamp();
  EXPECT_NE(before, "");
  EXPECT_EQ(compiler->InstallationStamp(), before);
  installed.WriteMetadata("my venv", "jaxlib", "0.4.30");
  const std::string again = compiler->InstallationStamp();
  EXPECT_NE(again, before);
  installed.Write("xla_cpu_compile.py", "# another");
  EXPECT_NE(compiler->InstallationStamp(), again);
}

TEST_F(ToolchainTest, StampIsOfThePythonThatTheEnvironmentNames) {
  const CompilerDirectory installed{};
  for (const char* name : {"default", "named"}) {
    installed.Link("/bin/sh", absl::StrCat(name, "/bin/python"));
    installed.WriteMetadata(name, "jaxlib", "0.4.30");
  }
  settings_.xla_cpu =
      installed.WriteProgram("xla-cpu-compile", LauncherWith(installed / "default"));
  settings_.environment.push_back("NEFFCACHE_XLA_CPU_PYTHON=" + installed / "named/bin/python");
  const std::unique_ptr<CompilerToolchain> compiler = Make("xla-cpu");
  const std::string before = compiler->InstallationStamp();
  EXPECT_NE(before, "");
  installed.WriteMetadata("named", "jaxlib", "0.5.0");
  EXPECT_NE(compiler->InstallationStamp(), before);
  settings_.environment.back() = "NEFFCACHE_XLA_CPU_PYTHON=" + installed / "absent/bin/python";
  EXPECT_EQ(Make("xla-cpu")->InstallationStamp(), "");
}

TEST_F(ToolchainTest, ALauncherOfAnotherKindHasNoStamp) {
  const CompilerDirectory installed{};
  installed.WriteMetadata("venv", "jaxlib", "0.4.30");
  settings_.xla_cpu = installed.WriteProgram(
      "xla-cpu-compile",
      absl::StrCat("#!/bin/sh\nexec ", installed / "venv/bin/python", " \"$SCRIPT\" \"$@\"\n"));
  EXPECT_EQ(Make("xla-cpu")->InstallationStamp(), "");
}

TEST_F(ToolchainTest, WhatFilesDoNotTellIsAskedEachTime) {
  const std::string answer = directory_ / "answer";
  const auto say = [&](absl::string_view version) {
    WriteFile(answer, absl::StrCat("NeuronX Compiler version ", version, "\n"));
  };
  settings_.neuronx_cc = directory_ / "wrapper";
  WriteProgram(settings_.neuronx_cc, absl::StrCat("#!/bin/sh\nexec cat ", answer, "\n"));
  say("2.1");
  absl::StatusOr<std::unique_ptr<OfferedToolchain>> offered =
      OfferedToolchain::Probe(Make("neuronx-cc"), directory_.path(), {});
  ASSERT_TRUE(offered.ok()) << offered.status();
  EXPECT_TRUE((*offered)->StillAsOffered("2.1", {}).ok());
  say("2.2");
  EXPECT_EQ((*offered)->StillAsOffered("2.1", {}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ((*offered)->version(), "2.2");
}

TEST_F(ToolchainTest, UpgradeUnderARunningWorkerIsNoticed) {
  const CompilerDirectory installed{};
  const std::string journal = directory_ / "asked";
  const auto install = [&](const std::string& version) {
    fs::remove_all(installed / "venv");
    return installed.InstallNeuronxCc(
        "venv", version,
        absl::StrCat("echo asked >> ", journal, "\necho NeuronX Compiler version ", version, "\n"));
  };
  settings_.neuronx_cc = install("2.1");
  absl::StatusOr<std::unique_ptr<OfferedToolchain>> offered =
      OfferedToolchain::Probe(Make("neuronx-cc"), directory_.path(), {});
  ASSERT_TRUE(offered.ok()) << offered.status();
  EXPECT_EQ((*offered)->version(), "2.1");
  EXPECT_TRUE((*offered)->StillAsOffered("2.1", {}).ok());
  EXPECT_EQ(ReadFile(journal), "asked\n");  // Once: the files have not changed.

  install("2.22");
  const absl::Status changed = (*offered)->StillAsOffered("2.1", {});
  EXPECT_EQ(changed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(changed.message(), HasSubstr("is now 2.22 and no longer 2.1"));
  EXPECT_EQ((*offered)->version(), "2.22");
  EXPECT_TRUE((*offered)->StillAsOffered("2.22", {}).ok());

  fs::remove(settings_.neuronx_cc);
  EXPECT_EQ((*offered)->StillAsOffered("2.22", {}).code(), absl::StatusCode::kUnavailable);
}

TEST_F(ToolchainTest, XlaCpuIsFoundBesideTheProgramAndProbed) {
  EXPECT_EQ(MakeToolchain("xla-cpu", settings_).status().code(), absl::StatusCode::kNotFound);
  fs::create_directory(directory_ / "bin");
  WriteProgram(directory_ / "libexec/neffcache/xla-cpu-compile",
               "#!/bin/sh\necho a warning\necho xla-cpu 0.4.30+avx512\n");
  const std::unique_ptr<CompilerToolchain> compiler = Make("xla-cpu");
  EXPECT_EQ(*compiler->Probe(directory_.path(), {}), "0.4.30+avx512");
  const std::string options[] = {"--level=2"};
  EXPECT_THAT(compiler->CommandFor(options).argv,
              ElementsAre(directory_ / "libexec/neffcache/xla-cpu-compile", "--level=2",
                          "graph.hlo_module.pb", "--output", "graph.xla"));
}

TEST_F(ToolchainTest, ProbeOfABrokenCompilerSaysWhatItPrinted) {
  WriteProgram(directory_ / "broken", "#!/bin/sh\necho no libneuron here; exit 1\n");
  settings_.neuronx_cc = directory_ / "broken";
  const absl::Status status = Make("neuronx-cc")->Probe(directory_.path(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("exited with 1: no libneuron here"));
}

TEST_F(ToolchainTest, XlaCpuExitCodesDecideTheClass) {
  settings_.xla_cpu = directory_ / "xla";
  WriteProgram(settings_.xla_cpu, "#!/bin/sh\n");
  const std::unique_ptr<CompilerToolchain> compiler = Make("xla-cpu");
  const auto classify = [&](int code, const std::string& log) {
    FailureEvidence evidence;
    evidence.program = "xla-cpu";
    evidence.child.end = ChildEnd::kExited;
    evidence.child.exit_code = code;
    evidence.child.log = log;
    return compiler->Classify(evidence).failure_class;
  };
  EXPECT_EQ(classify(1, "error: not an HLO module\n"), CompileFailureClass::kDeterministic);
  EXPECT_EQ(classify(1, "Traceback: something\n"), CompileFailureClass::kUnclear);
  EXPECT_EQ(classify(2, "usage: ..."), CompileFailureClass::kDeterministic);
  EXPECT_EQ(classify(3, "error: no jaxlib"), CompileFailureClass::kTransient);
  EXPECT_EQ(classify(1, "error: std::bad_alloc"), CompileFailureClass::kMemory);
}

}  // namespace
}  // namespace neffcache
