#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/explain.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

KeyMaterial With(std::vector<std::string> options, std::string version = "2.27") {
  return {{}, std::move(options), {"neuronx-cc", std::move(version)}};
}

std::vector<std::string> Texts(const KeyMaterial& before, const KeyMaterial& after) {
  std::vector<std::string> texts;
  for (const Difference& difference : ExplainMaterial(before, after)) {
    texts.push_back(difference.text);
  }
  return texts;
}

TEST(ExplainMaterialTest, EqualMaterialHasNoDifferences) {
  EXPECT_THAT(Texts(With({"--optlevel=1"}), With({"--optlevel=1"})), IsEmpty());
}

TEST(ExplainMaterialTest, ToolchainComesFirst) {
  EXPECT_THAT(Texts(With({"--optlevel=1"}, "2.26"), With({"--optlevel=2"})),
              ElementsAre("toolchain neuronx-cc 2.26 → 2.27", "flag --optlevel 1 → 2"));
  KeyMaterial other = With({});
  other.toolchain = {"xla-cpu", "0.4"};
  EXPECT_THAT(Texts(With({}), other), ElementsAre("toolchain neuronx-cc 2.27 → xla-cpu 0.4"));
}

TEST(ExplainMaterialTest, FlagsComeAndGo) {
  EXPECT_THAT(Texts(With({"--fast-math"}), With({"--lnc=2"})),
              ElementsAre("- flag --fast-math", "+ flag --lnc 2"));
}

TEST(ExplainMaterialTest, WordsBehindAFlagAreItsValue) {
  EXPECT_THAT(Texts(With({"--x-unknown", "a", "b"}), With({"--x-unknown", "a", "c"})),
              ElementsAre("flag --x-unknown a b → a c"));
  EXPECT_THAT(Texts(With({"--x-unknown"}), With({"--x-unknown", "c"})),
              ElementsAre("flag --x-unknown without value → c"));
}

TEST(ExplainMaterialTest, RepeatedFlagsArePairedInOrder) {
  EXPECT_THAT(Texts(With({"--i=1", "--i=2"}), With({"--i=1", "--i=3", "--i=4"})),
              ElementsAre("flag --i 2 → 3", "+ flag --i 4"));
}

TEST(ExplainMaterialTest, OrderOfUnknownFlagsIsADifference) {
  EXPECT_THAT(Texts(With({"--a", "--b"}), With({"--b", "--a"})),
              ElementsAre("flags in another order or spelling"));
}

TEST(ExplainMaterialTest, ManyAndLongFlagsAreBounded) {
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back("--flag" + std::to_string(i) + "=" + std::string(1000, 'x') + "\n");
  }
  const std::vector<Difference> differences = ExplainMaterial(With({}), With(many));
  EXPECT_THAT(differences, SizeIs(20));
  for (const Difference& difference : differences) {
    EXPECT_LE(difference.text.size(), 300u);
    EXPECT_EQ(difference.text.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace neffcache
