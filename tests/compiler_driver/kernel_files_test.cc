#include "compiler_driver/kernel_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/graph_pack.h"
#include "tests/compiler_driver/test_directory.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

class KernelFilesTest : public ::testing::Test {
 protected:
  KernelFilesTest() { std::filesystem::create_directories(work_); }

  // A pack with one file, in the graph's place.
  absl::StatusOr<KernelFiles> LayOut(const std::string& path, const std::string& content) {
    WriteFile(work_ + "/graph.hlo_module.pb",
              absl::StrCat(GraphPackHead({{path, content}}), content, "the graph"));
    return KernelFiles::LayOut(work_ + "/graph.hlo_module.pb", work_);
  }

  const TestDirectory directory_;
  const std::string work_ = directory_ / "work";
  const std::string kernel_ = directory_ / "host/k.klir";
};

TEST_F(KernelFilesTest, AKernelLiesBesideTheGraph) {
  const absl::StatusOr<KernelFiles> files = LayOut(kernel_, "code");
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(ReadFile(work_ + "/host/k.klir"), "code");
  EXPECT_TRUE(files->CheckUnchanged().ok());
}

TEST_F(KernelFilesTest, TheSameFileOnTheHostIsNoTrouble) {
  WriteFile(kernel_, "code");
  const absl::StatusOr<KernelFiles> files = LayOut(kernel_, "code");
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_TRUE(files->CheckUnchanged().ok());
}

TEST_F(KernelFilesTest, AnotherFileOnTheHostIsRefused) {
  for (const std::string content : {"cod2", "longer code", "c", ""}) {
    WriteFile(kernel_, content);
    std::filesystem::remove(work_ + "/host/k.klir");
    EXPECT_THAT(LayOut(kernel_, "code").status().message(), HasSubstr("another file")) << content;
  }
  std::filesystem::remove(kernel_);
  std::filesystem::remove(work_ + "/host/k.klir");
  std::filesystem::create_directories(kernel_);
  EXPECT_FALSE(LayOut(kernel_, "code").ok());
}

TEST_F(KernelFilesTest, AFileThatComesUpOrChangesDuringTheCompileIsNoticed) {
  const absl::StatusOr<KernelFiles> absent = LayOut(kernel_, "code");
  ASSERT_TRUE(absent.ok()) << absent.status();
  WriteFile(kernel_, "code");
  EXPECT_FALSE(absent->CheckUnchanged().ok());

  std::filesystem::remove(work_ + "/host/k.klir");
  const absl::StatusOr<KernelFiles> present = LayOut(kernel_, "code");
  ASSERT_TRUE(present.ok()) << present.status();
  WriteFile(kernel_, "newer code");
  EXPECT_FALSE(present->CheckUnchanged().ok());
}

TEST_F(KernelFilesTest, NothingIsWrittenOverOrElsewhere) {
  std::filesystem::create_directories(work_ + "/host");
  WriteFile(work_ + "/host/k.klir", "already here");
  EXPECT_FALSE(LayOut(kernel_, "code").ok());
  EXPECT_EQ(ReadFile(work_ + "/host/k.klir"), "already here");
  EXPECT_FALSE(LayOut("/a/..", "code").ok());
  EXPECT_FALSE(LayOut("../x", "code").ok());
  EXPECT_FALSE(LayOut("/a/../x", "code").ok());
  EXPECT_FALSE(LayOut("/x", "code").ok());
  std::filesystem::create_directory_symlink(directory_ / "", work_ + "/linked");
  EXPECT_FALSE(LayOut("/a/linked/x", "code").ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ / "x"));
}

TEST_F(KernelFilesTest, AGraphWithoutKernelsNeedsNothing) {
  WriteFile(work_ + "/graph.hlo_module.pb", "the graph");
  EXPECT_TRUE(KernelFiles::LayOut(work_ + "/graph.hlo_module.pb", work_).ok());
}

}  // namespace
}  // namespace neffcache
