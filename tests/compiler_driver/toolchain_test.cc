#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "compiler_driver/neuronx_cc.h"
#include "compiler_driver/offered_toolchain.h"
#include "compiler_driver/toolchain_table.h"
#include "compiler_driver/xla_cpu.h"
#include "tests/compiler_driver/test_directory.h"

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

TEST_F(ToolchainTest, VersionTextIsReadStrictly) {
  EXPECT_EQ(*ParseNeuronxCcVersion("WARN x\nNeuronX Compiler version 2.8.0.25+a3ad0f342\r\n\n"
                                   "NEFF version Dynamic\n"),
            "2.8.0.25+a3ad0f342");
  EXPECT_FALSE(ParseNeuronxCcVersion("").ok());
  EXPECT_FALSE(ParseNeuronxCcVersion("NeuronX Compiler version \n").ok());
  EXPECT_FALSE(ParseNeuronxCcVersion("NeuronX Compiler version unknown thing\n").ok());
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

TEST_F(ToolchainTest, OurShimIsSkippedByMarkerByPlaceAndThroughLinks) {
  WriteProgram(directory_ / "marked/neuronx-cc", "#!/bin/sh\n");
  WriteFile(directory_ / "marked/.neffcache-shim", "");
  WriteProgram(directory_ / "shim/neuronx-cc", "#!/bin/sh\n");
  fs::create_directory(directory_ / "bin");
  fs::create_directory(directory_ / "linked");
  fs::create_symlink(directory_ / "shim/neuronx-cc", directory_ / "linked/neuronx-cc");
  fs::create_directory(directory_ / "linked2");
  fs::create_symlink(directory_ / "marked/neuronx-cc", directory_ / "linked2/neuronx-cc");
  WriteFile(directory_ / "data/neuronx-cc", "not executable");
  WriteProgram(directory_ / "real/neuronx-cc", "#!/bin/sh\n");
  std::string path = ":relative";
  for (const char* name : {"marked", "shim", "linked", "linked2", "data", "absent"}) {
    absl::StrAppend(&path, ":", directory_ / name);
  }
  EXPECT_EQ(FindNeuronxCc(path, directory_ / "bin").status().code(), absl::StatusCode::kNotFound);
  absl::StrAppend(&path, ":", directory_ / "real");
  EXPECT_EQ(*FindNeuronxCc(path, directory_ / "bin"), directory_ / "real/neuronx-cc");
}

TEST_F(ToolchainTest, StampChangesWhenPipReplacesTheCompiler) {
  WriteProgram(directory_ / "venv/bin/neuronx-cc", "#!/bin/sh\n");
  settings_.neuronx_cc = directory_ / "venv/bin/neuronx-cc";
  const std::unique_ptr<CompilerToolchain> compiler = Make("neuronx-cc");
  const std::string before = compiler->InstallationStamp();
  EXPECT_EQ(compiler->InstallationStamp(), before);
  fs::create_directories(directory_ /
                         "venv/lib/python3.10/site-packages/neuronx_cc-2.27.dist-info");
  EXPECT_NE(compiler->InstallationStamp(), before);
  fs::remove(directory_ / "venv/bin/neuronx-cc");
  EXPECT_EQ(compiler->InstallationStamp(), "");
}

TEST_F(ToolchainTest, StampChangesWithTheJaxOfTheLaunchersPython) {
  settings_.xla_cpu = directory_ / "xla-cpu-compile";
  const std::string venv = directory_ / "my-venv";
  WriteProgram(settings_.xla_cpu,
               absl::StrCat("#!/bin/sh\npython=${SOME_PYTHON:-", venv, "/bin/python}\n"));
  const std::unique_ptr<CompilerToolchain> compiler = Make("xla-cpu");
  const std::string before = compiler->InstallationStamp();
  EXPECT_EQ(compiler->InstallationStamp(), before);
  fs::create_directories(venv + "/lib/python3.11/site-packages/jaxlib-0.4.30.dist-info");
  EXPECT_NE(compiler->InstallationStamp(), before);
}

TEST_F(ToolchainTest, UpgradeUnderARunningWorkerIsNoticed) {
  const auto install = [&](absl::string_view version) {
    const std::string path = directory_ / "upgraded/neuronx-cc";
    fs::remove(path);
    WriteProgram(path, absl::StrCat("#!/bin/sh\necho NeuronX Compiler version ", version, "\n"));
  };
  install("2.1");
  settings_.neuronx_cc = directory_ / "upgraded/neuronx-cc";
  absl::StatusOr<std::unique_ptr<OfferedToolchain>> offered =
      OfferedToolchain::Probe(Make("neuronx-cc"), directory_.path(), {});
  ASSERT_TRUE(offered.ok()) << offered.status();
  EXPECT_EQ((*offered)->version(), "2.1");
  EXPECT_TRUE((*offered)->StillAsOffered("2.1", {}).ok());

  install("2.22");
  const absl::Status changed = (*offered)->StillAsOffered("2.1", {});
  EXPECT_EQ(changed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(changed.message(), HasSubstr("is now 2.22 and no longer 2.1"));
  EXPECT_EQ((*offered)->version(), "2.22");
  EXPECT_TRUE((*offered)->StillAsOffered("2.22", {}).ok());

  fs::remove(directory_ / "upgraded/neuronx-cc");
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
