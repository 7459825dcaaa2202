// Lengths beyond 32 bits, in a file with a hole: it takes no disk, and no memory that counts.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "graph/fingerprint.h"
#include "io/file.h"
#include "tests/bench/synthetic_graph.h"

namespace neffcache {
namespace {

TEST(LargeGraphTest, ByteBeyondFourGibibytesIsSeen) {
  // Not /tmp, which may be memory: there a hole that is read takes pages.
  const std::string path = "/var/tmp/neffcache-large-graph." + std::to_string(getpid());
  ASSERT_TRUE(bench::WriteSparseLiteralGraph(path, uint64_t{4200} << 20).ok());
  const auto identify = [&path] {
    const FileContents contents = FileContents::Load(path).value();
    const GraphIdentity identity = IdentifyGraph(contents.bytes()).value();
    EXPECT_EQ(identity.raw_reason, "");
    EXPECT_EQ(identity.instructions, 1u);
    return identity.fingerprint;
  };
  const Fingerprint zeros = identify();
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const auto size = static_cast<off_t>(std::filesystem::file_size(path));
  ASSERT_GT(size, off_t{1} << 32);
  ASSERT_EQ(pwrite(fd.get(), "\1", 1, size - 1), 1);
  const Fingerprint changed = identify();
  std::filesystem::remove(path);
  EXPECT_NE(zeros, changed);
}

}  // namespace
}  // namespace neffcache
