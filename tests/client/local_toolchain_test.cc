#include "client/local_toolchain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/local_xla_cpu.h"
#include "local_compiler/program_search.h"
#include "tests/local_compiler/compiler_directory.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

constexpr char kSpeak[] =
    "echo asked >> \"$(dirname \"$0\")/asked\"\n"
    "echo 'NeuronX Compiler version 2.27.5334.0+2d4f85be'\n"
    "echo\n"
    "echo 'Python version 3.11.2'\n";

class LocalToolchainTest : public ::testing::Test {
 protected:
  LocalToolchainTest() {
    search_.path = scratch_ / "shim" + ":" + scratch_ / "venv/bin";
    search_.memory_directories = {scratch_ / "memory"};
  }

  // A compiler of one version.
  std::string Install(const std::string& version) {
    return scratch_.InstallNeuronxCc("venv", version, kSpeak);
  }
  // Two versions, of which the compiler must say which one it is.
  std::string InstallTwo() {
    scratch_.WriteMetadata("venv", "neuronx_cc", "2.25.1.0", "python3.10");
    return Install("2.27.5334.0+2d4f85be");
  }
  int TimesAsked() {
    std::ifstream asked(scratch_ / "venv/bin/asked");
    return static_cast<int>(std::count(std::istreambuf_iterator<char>(asked), {}, '\n'));
  }

  const CompilerDirectory scratch_;
  LocalToolchainSearch search_;
};

TEST_F(LocalToolchainTest, FindsTheCompilerBehindTheShimOnThePath) {
  scratch_.WriteProgram("shim/neuronx-cc", "#!/bin/sh\n");
  scratch_.Write(absl::StrCat("shim/", kShimMarker), "");
  const std::string real = Install("2.27.1.0");
  absl::StatusOr<std::string> found = FindLocalCompiler(search_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, real);
}

TEST_F(LocalToolchainTest, TheRunningProgramUnderTheCompilersNameIsPassedOver) {
  search_.self = scratch_.WriteProgram("elsewhere/shim", "#!/bin/sh\n");
  std::filesystem::create_directories(scratch_ / "shim");
  std::filesystem::create_symlink(search_.self, scratch_ / "shim/neuronx-cc");
  const std::string real = Install("2.27.1.0");
  absl::StatusOr<std::string> found = FindLocalCompiler(search_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, real);
}

TEST_F(LocalToolchainTest, XlaCpuIsFoundInTheProgramsOwnInstallation) {
  search_.self = scratch_.WriteProgram("installed/bin/neffcache", "#!/bin/sh\n");
  EXPECT_EQ(FindLocalXlaCpu(search_).status().code(), absl::StatusCode::kNotFound);
  const std::string program = scratch_.WriteProgram("installed/libexec/neffcache/xla-cpu-compile",
                                                    "#!/bin/sh\necho warning\necho xla-cpu 0.4\n");
  const absl::StatusOr<LocalToolchain> found = FindLocalXlaCpu(search_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->program, program);
  EXPECT_EQ(found->toolchain.name, "xla-cpu");
  EXPECT_EQ(found->toolchain.version, "0.4");
}

TEST_F(LocalToolchainTest, AnXlaCpuThatDoesNotSayItsVersionIsAskedToBeRun) {
  search_.self = scratch_.WriteProgram("installed/bin/neffcache", "#!/bin/sh\n");
  scratch_.WriteProgram("installed/libexec/neffcache/xla-cpu-compile",
                        "#!/bin/sh\necho 'error: no module named jax' >&2\nexit 3\n");
  const absl::Status status = FindLocalXlaCpu(search_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("run it to see why"));
}

TEST_F(LocalToolchainTest, WhatIsNotExecutableIsNoCompiler) {
  scratch_.Write("venv/bin/neuronx-cc", "#!/bin/sh\n");
  const absl::Status status = FindLocalCompiler(search_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no neuronx-cc on the PATH"));
}

TEST_F(LocalToolchainTest, AnExplicitCompilerGoesBeforeThePath) {
  Install("2.27.1.0");
  search_.real_compiler = scratch_.WriteProgram("other/compiler", "#!/bin/sh\n");
  absl::StatusOr<std::string> found = FindLocalCompiler(search_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, search_.real_compiler);
}

TEST_F(LocalToolchainTest, AnExplicitCompilerThatIsTheShimIsRefused) {
  search_.real_compiler = scratch_.WriteProgram("shim/neuronx-cc", "#!/bin/sh\n");
  search_.self = search_.real_compiler;
  EXPECT_EQ(FindLocalCompiler(search_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(LocalToolchainTest, VersionComesFromThePackageWithoutRunningTheCompiler) {
  Install("2.26.1.0+abcdef12");
  absl::StatusOr<LocalToolchain> local = FindLocalToolchain(search_);
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_EQ(local->toolchain.name, "neuronx-cc");
  EXPECT_EQ(local->toolchain.version, "2.26.1.0+abcdef12");
  EXPECT_EQ(TimesAsked(), 0);
}

TEST_F(LocalToolchainTest, TwoPackagesMakeItAskTheCompiler) {
  scratch_.WriteMetadata("venv", "neuronx_cc", "2.25.1.0", "python3.10");
  Install("2.26.1.0");
  absl::StatusOr<LocalToolchain> local = FindLocalToolchain(search_);
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_EQ(local->toolchain.version, "2.27.5334.0+2d4f85be");
}

TEST_F(LocalToolchainTest, TheCompilerAmongSeveralPackagesIsAskedOnce) {
  InstallTwo();
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<LocalToolchain> local = FindLocalToolchain(search_);
    ASSERT_TRUE(local.ok()) << local.status();
    EXPECT_EQ(local->toolchain.version, "2.27.5334.0+2d4f85be");
  }
  EXPECT_EQ(TimesAsked(), 1);
}

TEST_F(LocalToolchainTest, AReplacedCompilerIsAskedAgain) {
  InstallTwo();
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  scratch_.WriteScript("venv", "echo 'NeuronX Compiler version 3.0.0.0+1'\n");
  absl::StatusOr<LocalToolchain> local = FindLocalToolchain(search_);
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_EQ(local->toolchain.version, "3.0.0.0+1");
}

TEST_F(LocalToolchainTest, AReplacedPackageMakesItAskAgain) {
  InstallTwo();
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  std::filesystem::remove_all(scratch_ /
                              "venv/lib/python3.10/site-packages/neuronx_cc-2.25.1.0.dist-info");
  scratch_.WriteMetadata("venv", "neuronx_cc", "2.26.1.0", "python3.10");
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  EXPECT_EQ(TimesAsked(), 2);
}

TEST_F(LocalToolchainTest, AnUpgradeInPlaceGivesTheNewPackagesVersion) {
  Install("2.26.1.0");
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  std::filesystem::remove_all(scratch_ /
                              "venv/lib/python3.11/site-packages/neuronx_cc-2.26.1.0.dist-info");
  Install("2.28.1.0");
  EXPECT_EQ(FindLocalToolchain(search_)->toolchain.version, "2.28.1.0");
}

TEST_F(LocalToolchainTest, AWrapperWhoseTargetChangesGivesTheNewVersion) {
  const auto install = [&](const std::string& version) {
    scratch_.WriteProgram(version + "/bin/neuronx-cc",
                          "#!/bin/sh\necho 'NeuronX Compiler version " + version + "'\n");
    std::filesystem::remove(scratch_ / "current");
    std::filesystem::create_directory_symlink(scratch_ / version, scratch_ / "current");
  };
  search_.real_compiler = scratch_.WriteProgram(
      "wrapped/neuronx-cc", "#!/bin/sh\nexec " + scratch_ / "current/bin/neuronx-cc" + " \"$@\"\n");
  for (const char* version : {"2.26.1.0", "2.27.1.0"}) {
    install(version);
    absl::StatusOr<LocalToolchain> local = FindLocalToolchain(search_);
    ASSERT_TRUE(local.ok()) << local.status();
    EXPECT_EQ(local->toolchain.version, version);
  }
}

TEST_F(LocalToolchainTest, AWrapperThatCannotBeFollowedIsAskedEachTime) {
  InstallTwo();
  scratch_.WriteProgram("venv/bin/neuronx-cc", absl::StrCat("#!/bin/sh\n", kSpeak));
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(FindLocalToolchain(search_)->toolchain.version, "2.27.5334.0+2d4f85be");
    EXPECT_EQ(TimesAsked(), i);
  }
}

TEST_F(LocalToolchainTest, AWrapperHasTheVersionOfWhatItStartsAndNotOfWhatIsBesideIt) {
  const std::string real = scratch_.InstallNeuronxCc("opt", "2.28.1.0", kSpeak);
  Install("2.26.1.0");
  scratch_.WriteProgram("venv/bin/neuronx-cc", absl::StrCat("#!/bin/sh\nexec ", real, " \"$@\"\n"));
  EXPECT_EQ(FindLocalToolchain(search_)->toolchain.version, "2.28.1.0");
}

TEST_F(LocalToolchainTest, ANoteThatOthersCouldHaveWrittenIsNotBelieved) {
  InstallTwo();
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  for (const auto& note : std::filesystem::directory_iterator(scratch_ / "memory/versions")) {
    std::filesystem::permissions(note.path(), std::filesystem::perms::all);
  }
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  EXPECT_EQ(TimesAsked(), 2);
}

TEST_F(LocalToolchainTest, AMemoryThatCannotBeWrittenIsNoTrouble) {
  InstallTwo();
  search_.memory_directories = {"/proc/no/such/place"};
  EXPECT_TRUE(FindLocalToolchain(search_).ok());
}

TEST_F(LocalToolchainTest, ASilentCompilerIsKilledInTime) {
  scratch_.WriteProgram("venv/bin/neuronx-cc", "#!/bin/sh\nexec sleep 1000\n");
  search_.ask_timeout = absl::Milliseconds(50);
  EXPECT_EQ(FindLocalToolchain(search_).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(LocalToolchainTest, ACompilerThatDoesNotSayItsVersionIsAnError) {
  scratch_.WriteProgram("venv/bin/neuronx-cc", "#!/bin/sh\necho hello\n");
  const absl::Status status = FindLocalToolchain(search_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("NeuronX Compiler version"));
}

}  // namespace
}  // namespace neffcache
