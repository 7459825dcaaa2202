#include "client/shim/artifact_staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/client/shim/scratch_directory.h"

namespace neffcache::shim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(InspectOutputTest, AnAbsentOrRegularFileCanBeReplaced) {
  const ScratchDirectory scratch;
  EXPECT_EQ(*InspectOutput(scratch / "g.neff"), OutputKind::kReplaceable);
  scratch.Write("g.neff", "old");
  EXPECT_EQ(*InspectOutput(scratch / "g.neff"), OutputKind::kReplaceable);
}

TEST(InspectOutputTest, DevicesLinksAndDirectoriesAreLeftToTheCompiler) {
  const ScratchDirectory scratch;
  std::filesystem::create_symlink("elsewhere", scratch / "link");
  EXPECT_EQ(*InspectOutput("/dev/null"), OutputKind::kCompilerOnly);
  EXPECT_EQ(*InspectOutput(scratch / "link"), OutputKind::kCompilerOnly);
  EXPECT_EQ(*InspectOutput(scratch.path()), OutputKind::kCompilerOnly);
}

TEST(InspectOutputTest, AMissingDirectoryIsLeftToTheCompiler) {
  const ScratchDirectory scratch;
  EXPECT_EQ(*InspectOutput(scratch / "missing/g.neff"), OutputKind::kCompilerOnly);
}

TEST(InspectOutputTest, AnOutputBelowAFileIsAnErrorThatNamesIt) {
  const ScratchDirectory scratch;
  scratch.Write("file", "");
  const auto kind = InspectOutput(scratch / "file/g.neff");
  ASSERT_FALSE(kind.ok());
  EXPECT_THAT(std::string(kind.status().message()), HasSubstr("writing " + scratch.path()));
}

TEST(ArtifactStagingTest, CommitReplacesTheOutputAndLeavesNothingElse) {
  const ScratchDirectory scratch;
  scratch.Write("g.neff", "old");
  {
    auto staging = ArtifactStaging::Create(scratch / "g.neff");
    ASSERT_TRUE(staging.ok()) << staging.status();
    std::ofstream(staging->path()) << "new";
    EXPECT_EQ(scratch.Read("g.neff"), "old");
    ASSERT_TRUE(staging->Commit().ok());
  }
  EXPECT_EQ(scratch.Read("g.neff"), "new");
  EXPECT_THAT(scratch.Names(), ElementsAre("g.neff"));
}

TEST(ArtifactStagingTest, WithoutCommitTheDirectoryGoesWithItsFiles) {
  const ScratchDirectory scratch;
  {
    auto staging = ArtifactStaging::Create(scratch / "g.neff");
    ASSERT_TRUE(staging.ok()) << staging.status();
    std::ofstream(staging->path()) << "new";
    std::ofstream(staging->path() + ".temporary") << "half";
    const ArtifactStaging moved = *std::move(staging);
  }
  EXPECT_THAT(scratch.Names(), IsEmpty());
}

TEST(ArtifactStagingTest, ProbingSpaceFindsTheLimitAndTakesNoneItself) {
  const ScratchDirectory scratch;
  const auto staging = ArtifactStaging::Create(scratch / "g.neff");
  ASSERT_TRUE(staging.ok()) << staging.status();
  EXPECT_TRUE(staging->ProbeSpace(0).ok());
  EXPECT_TRUE(staging->ProbeSpace(4096).ok());
  EXPECT_FALSE(staging->ProbeSpace(uint64_t{1} << 60).ok());
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(staging->path()).parent_path()));
}

TEST(ArtifactStagingTest, ARelativeOutputIsStagedInTheWorkingDirectory) {
  const ScratchDirectory scratch;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path());
  {
    auto staging = ArtifactStaging::Create("g.neff");
    ASSERT_TRUE(staging.ok()) << staging.status();
    std::ofstream(staging->path()) << "new";
    EXPECT_TRUE(staging->Commit().ok());
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(scratch.Read("g.neff"), "new");
}

}  // namespace
}  // namespace neffcache::shim
