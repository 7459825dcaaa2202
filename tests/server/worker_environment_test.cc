#include "server/worker_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace neffcache {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class WorkerEnvironmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/environment-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path Program(const std::string& path) {
    const fs::path program = directory_ / path;
    fs::create_directories(program.parent_path());
    std::ofstream(program) << "#!/bin/sh\n";
    fs::permissions(program, fs::perms::owner_all);
    return program;
  }
  std::string Bin() const { return (directory_ / "install" / "bin").string(); }

  fs::path directory_;
};

TEST_F(WorkerEnvironmentTest, WithoutTheNeuronCompilerWorkersCompileForTheCpu) {
  EXPECT_THAT(DefaultToolchains(directory_.string(), Bin()), ElementsAre("xla-cpu"));
  EXPECT_THAT(DefaultToolchains("", Bin()), ElementsAre("xla-cpu"));
}

TEST_F(WorkerEnvironmentTest, TheNeuronCompilerOnThePathIsTheDefault) {
  Program("venv/neuronx-cc");
  EXPECT_THAT(DefaultToolchains("/usr/bin:" + (directory_ / "venv").string(), Bin()),
              ElementsAre("neuronx-cc"));
}

TEST_F(WorkerEnvironmentTest, OurOwnShimIsNoCompiler) {
  const fs::path shim = Program("install/shim/neuronx-cc");
  EXPECT_THAT(DefaultToolchains(shim.parent_path().string(), Bin()), ElementsAre("xla-cpu"));
  // Nor is another installation's, which its marker gives away, nor a link to one.
  const fs::path other = Program("other/neuronx-cc");
  std::ofstream(directory_ / "other" / ".neffcache-shim");
  EXPECT_THAT(DefaultToolchains(other.parent_path().string(), Bin()), ElementsAre("xla-cpu"));
  fs::create_directories(directory_ / "venv");
  fs::create_symlink(other, directory_ / "venv" / "neuronx-cc");
  EXPECT_THAT(DefaultToolchains((directory_ / "venv").string(), Bin()), ElementsAre("xla-cpu"));
}

TEST_F(WorkerEnvironmentTest, WorkersShareTheMachinesMemory) {
  const uint64_t one = MemoryPerWorker(1);
  EXPECT_GT(one, uint64_t{1} << 20);
  EXPECT_LT(one, static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE));
  EXPECT_EQ(MemoryPerWorker(4), one / 4);
}

TEST_F(WorkerEnvironmentTest, ScratchIsPrivateAndTheSameForTheSameStore) {
  const std::string base = (directory_ / "tmp").string();
  const std::string scratch = PrepareScratch(base, "/data").value();
  EXPECT_EQ(fs::status(scratch).permissions(), fs::perms::owner_all);
  EXPECT_NE(PrepareScratch(base, "/other").value(), scratch);
  // What a killed daemon left is cleared.
  fs::create_directories(scratch + "/0/neuronxcc-abcdefgh");
  EXPECT_EQ(PrepareScratch(base, "/data").value(), scratch);
  EXPECT_TRUE(fs::is_empty(scratch));
}

TEST_F(WorkerEnvironmentTest, SomebodyElsesScratchIsNotUsed) {
  const std::string base = directory_.string();
  const std::string scratch = PrepareScratch(base, "/data").value();
  fs::remove(scratch);
  fs::create_directories(directory_ / "elsewhere" / "precious");
  fs::create_symlink(directory_ / "elsewhere", scratch);
  EXPECT_EQ(PrepareScratch(base, "/data").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(fs::exists(directory_ / "elsewhere" / "precious"));
  fs::remove(scratch);
  fs::create_directory(scratch);
  fs::permissions(scratch, fs::perms::all);
  EXPECT_EQ(PrepareScratch(base, "/data").status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace neffcache
