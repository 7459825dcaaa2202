#include "graph/background_digests.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/graph/hlo_builder.h"

namespace neffcache {
namespace {

std::vector<std::string> LongStrings(size_t count) {
  std::vector<std::string> strings;
  for (size_t i = 0; i < count; ++i) {
    strings.emplace_back((size_t{1} << 20) + i, static_cast<char>('a' + i));
  }
  return strings;
}

TEST(BackgroundDigestsTest, GivesEveryStringItsDigestInWhateverOrderTheyAreAskedFor) {
  std::mt19937_64 random(20261201);
  const std::vector<std::string> strings = LongStrings(6);
  std::vector<Digest> expected;
  for (const std::string& string : strings) expected.push_back(Sha256Of(string));
  for (int round = 0; round < 20; ++round) {
    BackgroundDigests digests({strings.begin(), strings.end()});
    std::vector<size_t> order = {0, 1, 2, 3, 4, 5, 0, 5};
    if (round > 0) std::shuffle(order.begin(), order.end(), random);
    // Some rounds leave strings unasked for, which must not keep the end waiting for them.
    for (size_t i = 0; i < order.size() - static_cast<size_t>(round) % 4; ++i) {
      EXPECT_EQ(digests.DigestOf(strings[order[i]]), expected[order[i]]);
    }
  }
}

TEST(BackgroundDigestsTest, HashesWhatItWasNotToldOf) {
  const std::vector<std::string> strings = LongStrings(3);
  BackgroundDigests digests({strings[0], strings[1]});
  EXPECT_EQ(digests.DigestOf(strings[2]), Sha256Of(strings[2]));
  // The same address, another length.
  const absl::string_view shorter = absl::string_view(strings[0]).substr(0, 100);
  EXPECT_EQ(digests.DigestOf(shorter), Sha256Of(shorter));
  EXPECT_EQ(digests.DigestOf(strings[0]), Sha256Of(strings[0]));
}

TEST(LongLiteralsTest, AreFoundInTuplesTooAndInTheOrderOfTheModule) {
  const std::vector<std::string> strings = LongStrings(3);
  ProtoMessage inner = {.type = HloMessage::kLiteral, .fields = {}};
  inner.Bytes(3, strings[1]);
  ProtoMessage tuple = {.type = HloMessage::kLiteral, .fields = {}};
  tuple.Message(10, inner).Bytes(13, strings[2]);
  ProtoMessage literal = {.type = HloMessage::kLiteral, .fields = {}};
  literal.Bytes(3, strings[0]).Bytes(13, "short");
  ProtoMessage first = Instruction("constant", 1);
  ProtoMessage second = Instruction("constant", 2);
  const std::string module = Serialize(
      Module({Computation(1, 2, {first.Message(8, literal), second.Message(8, tuple)})}, 1));
  const absl::StatusOr<HloIndex> index = IndexModule(module);
  ASSERT_TRUE(index.ok()) << index.status();
  const std::vector<absl::string_view> found = LongLiterals(*index);
  ASSERT_EQ(found.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(found[i] == strings[i]) << i;
}

}  // namespace
}  // namespace neffcache
