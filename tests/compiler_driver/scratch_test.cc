#include "compiler_driver/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "absl/types/optional.h"
#include "tests/compiler_driver/test_directory.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

TEST(ScratchTest, RootIsPrivateAndGoesWithItsOwner) {
  TestDirectory directory;
  std::string path;
  {
    absl::StatusOr<ScratchRoot> root = ScratchRoot::Open(directory / "new/parent");
    ASSERT_TRUE(root.ok()) << root.status();
    path = root->path();
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    EXPECT_GT(*root->FreeBytes(), 0u);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchTest, EachCompileGetsItsOwnDirectoryAndItIsRemoved) {
  TestDirectory directory;
  absl::StatusOr<ScratchRoot> root = ScratchRoot::Open(directory.path());
  ASSERT_TRUE(root.ok());
  absl::StatusOr<ScratchDirectory> one = root->MakeDirectory("compile-1");
  absl::StatusOr<ScratchDirectory> two = root->MakeDirectory("compile-1");
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE(one->path(), two->path());
  const std::string path = one->path();
  WriteFile(path + "/a/b/c", "x");
  { const ScratchDirectory gone = *std::move(one); }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(two->path()));
}

TEST(ScratchTest, LeftoversOfTheDeadAreRemovedThoseOfTheLivingStay) {
  TestDirectory directory;
  const std::string dead = directory / "neffcache-worker-dead01";
  WriteFile(dead + "/compile-1-x/graph.neff", "x");
  fs::permissions(dead + "/compile-1-x", fs::perms::owner_read | fs::perms::owner_exec);
  const std::string foreign = directory / "something-else";
  fs::create_directory(foreign);
  absl::StatusOr<ScratchRoot> living = ScratchRoot::Open(directory.path());
  ASSERT_TRUE(living.ok());
  EXPECT_FALSE(fs::exists(dead));

  absl::StatusOr<ScratchRoot> next = ScratchRoot::Open(directory.path());
  ASSERT_TRUE(next.ok());
  EXPECT_TRUE(fs::exists(living->path()));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST(ScratchTest, UnusableParentIsAnErrorThatNamesIt) {
  TestDirectory directory;
  WriteFile(directory / "file", "");
  const absl::Status status = ScratchRoot::Open(directory / "file/sub").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), ::testing::HasSubstr("file"));
}

TEST(ScratchTest, LocalFileSystemIsNotTakenForAShared) {
  EXPECT_EQ(SharedFileSystem("/proc"), "");
}

}  // namespace
}  // namespace neffcache
