#include "local_compiler/program_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/local_compiler/compiler_directory.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

class ProgramSearchTest : public ::testing::Test {
 protected:
  std::string Find(const std::string& path, const std::string& own_shim = "") const {
    return FindProgram("neuronx-cc", {.path = path, .own_shim = own_shim}).value_or("none");
  }

  CompilerDirectory directory_;
};

TEST_F(ProgramSearchTest, TheFirstExecutableOnThePathIsIt) {
  directory_.Write("data/neuronx-cc", "not executable");
  directory_.Write("folder/neuronx-cc/file", "a directory is no program either");
  const std::string first = directory_.WriteProgram("first/neuronx-cc", "#!/bin/sh\n");
  directory_.WriteProgram("second/neuronx-cc", "#!/bin/sh\n");
  EXPECT_EQ(Find(absl::StrCat(directory_ / "absent", ":", directory_ / "data",
                              "::", directory_ / "folder", ":", directory_ / "first", ":",
                              directory_ / "second")),
            first);
}

TEST_F(ProgramSearchTest, OurShimIsPassedOverByMarkerByPlaceAndThroughLinks) {
  directory_.WriteProgram("marked/neuronx-cc", "#!/bin/sh\n");
  directory_.Write("marked/.neffcache-shim", "");
  const std::string own = directory_.WriteProgram("own/shim", "#!/bin/sh\n");
  directory_.Link(own, "linked/neuronx-cc");
  directory_.Link(directory_ / "marked/neuronx-cc", "linked2/neuronx-cc");
  std::string path = directory_ / "marked";
  for (const char* name : {"linked", "linked2"}) absl::StrAppend(&path, ":", directory_ / name);
  const absl::Status none = FindProgram("neuronx-cc", {.path = path, .own_shim = own}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.message()), HasSubstr("no neuronx-cc on the PATH"));
  const std::string real = directory_.WriteProgram("real/neuronx-cc", "#!/bin/sh\n");
  EXPECT_EQ(Find(absl::StrCat(path, ":", directory_ / "real"), own), real);
  // A shim that is not there excludes nothing.
  EXPECT_EQ(Find(directory_ / "real", directory_ / "absent"), real);
}

TEST_F(ProgramSearchTest, ARelativeEntryCountsOnlyForThoseWhoStayInTheirDirectory) {
  ASSERT_TRUE(IsExecutableFile("/bin/sh"));
  const std::string up = "../../../../../../../../../../../../bin";
  ProgramSearch search;
  search.path = up;
  EXPECT_FALSE(FindProgram("sh", search).ok());
  search.relative_entries = RelativeEntries::kFollowed;
  EXPECT_EQ(FindProgram("sh", search).value_or("none"), up + "/sh");
}

}  // namespace
}  // namespace neffcache
