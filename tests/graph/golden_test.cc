// Fingerprints and keys that a second implementation wrote down: tests/reference/make_golden.py,
// where the format of golden/expected.tsv is.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/fingerprint.h"
#include "graph/key.h"
#include "io/digest.h"
#include "io/file.h"

namespace neffcache {
namespace {

std::string ReadGolden(absl::string_view name) {
  return ReadWholeFile(absl::StrCat(NEFFCACHE_SOURCE_DIR, "/tests/reference/golden/", name),
                       uint64_t{1} << 20)
      .value();
}

// The kernel files that golden graphs name.
absl::StatusOr<Digest> KernelDigest(absl::string_view path) {
  if (!absl::ConsumePrefix(&path, "/kernels/")) return absl::NotFoundError("no golden kernel");
  return Sha256Of(ReadGolden(path));
}

GraphIdentity IdentifyGolden(const std::string& name, const std::string& order) {
  IdentifyOptions options;
  options.order = order == "exact" ? GraphOrder::kExact : GraphOrder::kCanonical;
  options.file_digest = KernelDigest;
  return IdentifyGraph(ReadGolden(name), options).value();
}

// The lines of one kind, split into columns.
std::vector<std::vector<std::string>> Expected(const std::string& kind) {
  std::vector<std::vector<std::string>> lines;
  for (absl::string_view line :
       absl::StrSplit(ReadGolden("expected.tsv"), '\n', absl::SkipEmpty())) {
    std::vector<std::string> columns = absl::StrSplit(line, '\t');
    if (columns[0] == kind) lines.push_back(std::move(columns));
  }
  return lines;
}

TEST(GoldenTest, FingerprintsAreThoseWrittenDown) {
  const auto lines = Expected("fingerprint");
  ASSERT_GE(lines.size(), 40u);
  for (const auto& line : lines) {
    const GraphIdentity identity = IdentifyGolden(line[1], line[2]);
    EXPECT_EQ(ToString(identity.fingerprint), line[3])
        << line[1] << " " << line[2] << " " << identity.raw_reason;
    EXPECT_TRUE(identity.cacheable()) << line[1] << " " << identity.uncacheable_reason;
  }
}

TEST(GoldenTest, KeysAreThoseWrittenDown) {
  const auto lines = Expected("key");
  ASSERT_GE(lines.size(), 80u);
  for (const auto& line : lines) {
    KeyMaterial material;
    material.fingerprint = IdentifyGolden(line[1], line[2]).fingerprint;
    material.toolchain = {line[3], line[4]};
    material.options.assign(line.begin() + 6, line.end());
    EXPECT_EQ(ComputeKey(material).Hex(), line[5]) << line[1] << " " << line[2];
  }
}

}  // namespace
}  // namespace neffcache
