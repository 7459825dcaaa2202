#include "graph/key.h"

#include <gtest/gtest.h>

#include <set>

namespace neffcache {
namespace {

KeyMaterial Sample() {
  KeyMaterial material;
  material.fingerprint = {"neffcache-hlo-1", Sha256Of("graph")};
  material.options = {"--optlevel=1", "--target=trn1"};
  material.toolchain = {"neuronx-cc", "2.27.5334.0+2d4f85be"};
  return material;
}

TEST(KeyTest, EqualMaterialHasOneKey) {
  EXPECT_EQ(ComputeKey(Sample()), ComputeKey(Sample()));
}

TEST(KeyTest, EveryPartIsCovered) {
  std::set<std::string> keys = {ComputeKey(Sample()).Hex()};
  const auto add = [&keys](auto change) {
    KeyMaterial material = Sample();
    change(material);
    EXPECT_TRUE(keys.insert(ComputeKey(material).Hex()).second);
  };
  add([](KeyMaterial& m) { m.fingerprint.tag = "neffcache-hlo-1-exact"; });
  add([](KeyMaterial& m) { m.fingerprint.digest = Sha256Of("another"); });
  add([](KeyMaterial& m) { m.toolchain.name = "neuron-parallel-compile"; });
  add([](KeyMaterial& m) { m.toolchain.version = "2.27.5334.0+2d4f85bf"; });
  add([](KeyMaterial& m) { m.options = {"--target=trn1", "--optlevel=1"}; });
  add([](KeyMaterial& m) { m.options = {"--optlevel=1--target=trn1"}; });
  add([](KeyMaterial& m) { m.options = {"--optlevel=1"}; });
  add([](KeyMaterial& m) { m.options = {}; });
  add([](KeyMaterial& m) { m.options.push_back(""); });
}

// Bytes that move from one part to the next must not give the same key.
TEST(KeyTest, BorderBetweenPartsIsCovered) {
  KeyMaterial a = Sample();
  a.toolchain = {"neuronx-cc2", ".27"};
  KeyMaterial b = Sample();
  b.toolchain = {"neuronx-cc", "2.27"};
  EXPECT_NE(ComputeKey(a), ComputeKey(b));
  a.options = {"--a", "b"};
  b = a;
  b.options = {"--ab"};
  EXPECT_NE(ComputeKey(a), ComputeKey(b));
}

// A key that changes for equal material would empty every cache: only a new scheme tag may do that.
TEST(KeyTest, SchemeIsStable) {
  EXPECT_EQ(ComputeKey(Sample()).Hex(),
            "7a69bf8bc4b1728cd928b0478d0ab80f57bd63acc8083598ce5ec2e1058234c4");
}

TEST(KeyTest, ToolchainReadsAsNameAndVersion) {
  EXPECT_EQ(ToString(Sample().toolchain), "neuronx-cc 2.27.5334.0+2d4f85be");
}

}  // namespace
}  // namespace neffcache
