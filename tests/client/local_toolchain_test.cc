#include "client/local_toolchain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/client/scratch_directory.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

constexpr char kSpeakingCompiler[] =
    "#!/bin/sh\n"
    "echo asked >> \"$(dirname \"$0\")/asked\"\n"
    "echo 'NeuronX Compiler version 2.27.5334.0+2d4f85be'\n"
    "echo\n"
    "echo 'Python version 3.11.2'\n";

class LocalToolchainTest : public ::testing::Test {
 protected:
  LocalToolchainTest() {
    search_.path = scratch_.Path("shim") + ":" + scratch_.Path("venv/bin");
    search_.memory_directories = {scratch_.Path("memory")};
  }

  std::string AddMetadata(const std::string& python, const std::string& version) {
    return scratch_.Write(
        "venv/lib/" + python + "/site-packages/neuronx_cc-" + version + ".dist-info/METADATA",
        "Metadata-Version: 2.1\nName: neuronx-cc\nVersion: " + version +
            "\n\nVersion: not this one\n");
  }
  // Two versions, of which the compiler must say which one it is.
  void AddTwoPackages() {
    AddMetadata("python3.10", "2.25.1.0");
    AddMetadata("python3.11", "2.27.5334.0+2d4f85be");
  }
  int TimesAsked() {
    const std::string asked = ContentOf(scratch_.Path("venv/bin/asked"));
    return static_cast<int>(std::count(asked.begin(), asked.end(), '\n'));
  }

  ScratchDirectory scratch_;
  LocalToolchainSearch search_;
};

TEST_F(LocalToolchainTest, FindsTheCompilerBehindTheShimOnThePath) {
  scratch_.WriteProgram("shim/neuronx-cc", "#!/bin/sh\n");
  scratch_.Write(std::string("shim/") + kShimMarker, "");
  const std::string real = scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
  absl::StatusOr<std::string> found = FindLocalCompiler(search_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, real);
}

TEST_F(LocalToolchainTest, TheRunningProgramUnderTheCompilersNameIsPassedOver) {
  search_.self = scratch_.WriteProgram("elsewhere/shim", "#!/bin/sh\n");
  std::filesystem::create_directories(scratch_.Path("shim"));
  std::filesystem::create_symlink(search_.self, scratch_.Path("shim/neuronx-cc"));
  const std::string real = scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
  absl::StatusOr<std::string> found = FindLocalCompiler(search_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, real);
}

TEST_F(LocalToolchainTest, WhatIsNotExecutableIsNoCompiler) {
  scratch_.Write("venv/bin/neuronx-cc", kSpeakingCompiler);
  const absl::Status status = FindLocalCompiler(search_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no neuronx-cc on the PATH"));
}

TEST_F(LocalToolchainTest, AnExplicitCompilerGoesBeforeThePath) {
  scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
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
  scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
  AddMetadata("python3.11", "2.26.1.0+abcdef12");
  absl::StatusOr<LocalToolchain> local = FindLocalToolchain(search_);
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_EQ(local->toolchain.name, "neuronx-cc");
  EXPECT_EQ(local->toolchain.version, "2.26.1.0+abcdef12");
  EXPECT_EQ(TimesAsked(), 0);
}

TEST_F(LocalToolchainTest, TwoPackagesMakeItAskTheCompiler) {
  scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
  AddMetadata("python3.10", "2.25.1.0");
  AddMetadata("python3.11", "2.26.1.0");
  absl::StatusOr<LocalToolchain> local = FindLocalToolchain(search_);
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_EQ(local->toolchain.version, "2.27.5334.0+2d4f85be");
}

TEST_F(LocalToolchainTest, TheCompilerAmongSeveralPackagesIsAskedOnce) {
  scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
  AddTwoPackages();
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<LocalToolchain> local = FindLocalToolchain(search_);
    ASSERT_TRUE(local.ok()) << local.status();
    EXPECT_EQ(local->toolchain.version, "2.27.5334.0+2d4f85be");
  }
  EXPECT_EQ(TimesAsked(), 1);
}

TEST_F(LocalToolchainTest, AReplacedCompilerIsAskedAgain) {
  scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
  AddTwoPackages();
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  scratch_.WriteProgram("venv/bin/neuronx-cc",
                        "#!/bin/sh\necho 'NeuronX Compiler version 3.0.0.0+1'\n");
  absl::StatusOr<LocalToolchain> local = FindLocalToolchain(search_);
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_EQ(local->toolchain.version, "3.0.0.0+1");
}

TEST_F(LocalToolchainTest, AReplacedPackageMakesItAskAgain) {
  scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
  AddTwoPackages();
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  std::filesystem::remove_all(
      scratch_.Path("venv/lib/python3.10/site-packages/neuronx_cc-2.25.1.0.dist-info"));
  AddMetadata("python3.10", "2.26.1.0");
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  EXPECT_EQ(TimesAsked(), 2);
}

TEST_F(LocalToolchainTest, AnUpgradeInPlaceGivesTheNewPackagesVersion) {
  scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
  const std::string old = AddMetadata("python3.11", "2.26.1.0");
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  std::filesystem::remove_all(std::filesystem::path(old).parent_path());
  AddMetadata("python3.11", "2.28.1.0");
  EXPECT_EQ(FindLocalToolchain(search_)->toolchain.version, "2.28.1.0");
}

TEST_F(LocalToolchainTest, AWrapperWhoseTargetChangesGivesTheNewVersion) {
  const auto install = [&](const std::string& version) {
    scratch_.WriteProgram(version + "/bin/neuronx-cc",
                          "#!/bin/sh\necho 'NeuronX Compiler version " + version + "'\n");
    std::filesystem::remove(scratch_.Path("current"));
    std::filesystem::create_directory_symlink(scratch_.Path(version), scratch_.Path("current"));
  };
  search_.real_compiler = scratch_.WriteProgram(
      "wrapped/neuronx-cc",
      "#!/bin/sh\nexec " + scratch_.Path("current/bin/neuronx-cc") + " \"$@\"\n");
  for (const char* version : {"2.26.1.0", "2.27.1.0"}) {
    install(version);
    absl::StatusOr<LocalToolchain> local = FindLocalToolchain(search_);
    ASSERT_TRUE(local.ok()) << local.status();
    EXPECT_EQ(local->toolchain.version, version);
  }
}

TEST_F(LocalToolchainTest, ANoteThatOthersCouldHaveWrittenIsNotBelieved) {
  scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
  AddTwoPackages();
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  for (const auto& note : std::filesystem::directory_iterator(scratch_.Path("memory/versions"))) {
    std::filesystem::permissions(note.path(), std::filesystem::perms::all);
  }
  ASSERT_TRUE(FindLocalToolchain(search_).ok());
  EXPECT_EQ(TimesAsked(), 2);
}

TEST_F(LocalToolchainTest, AMemoryThatCannotBeWrittenIsNoTrouble) {
  scratch_.WriteProgram("venv/bin/neuronx-cc", kSpeakingCompiler);
  AddTwoPackages();
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

TEST(ParseCompilerVersionTest, TakesTheVersionWithItsBuildHash) {
  EXPECT_EQ(
      ParseCompilerVersion("a warning\nNeuronX Compiler version 2.14.227.0+2d4f85be\n\nPython"),
      "2.14.227.0+2d4f85be");
  EXPECT_EQ(ParseCompilerVersion("Python version 3.10.12"), "");
}

}  // namespace
}  // namespace neffcache
