#include "io/digest.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "graph/key.h"
#include "gtest/gtest.h"
#include "tests/io/status_matchers.h"

namespace neffcache {
namespace {

// Of FIPS 180-4's examples.
constexpr char kOfNothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(DigestTest, IsTheSha256OfTheBytes) {
  EXPECT_EQ(Sha256Of("").Hex(), kOfNothing);
  EXPECT_EQ(Sha256Of("abc").Hex(), kOfAbc);
}

TEST(DigestTest, PiecesHashLikeTheWhole) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("");
  hash.Update("bc");
  EXPECT_EQ(hash.Finish().Hex(), kOfAbc);
}

TEST(DigestTest, HasherStartsAnewAfterFinish) {
  Sha256 hash;
  hash.Update("something else");
  hash.Finish();
  EXPECT_EQ(hash.Finish().Hex(), kOfNothing);
  hash.Update("abc");
  EXPECT_EQ(hash.Finish().Hex(), kOfAbc);
}

TEST(DigestTest, MovedHasherGoesOn) {
  Sha256 hash;
  hash.Update("ab");
  Sha256 moved = std::move(hash);
  moved.Update("c");
  EXPECT_EQ(moved.Finish().Hex(), kOfAbc);
}

TEST(DigestTest, HexIsReadInEitherCaseAndWrittenInLower) {
  const absl::StatusOr<Digest> digest =
      Digest::FromHex("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD");
  ASSERT_THAT(digest, IsOk());
  EXPECT_EQ(digest->Hex(), kOfAbc);
}

TEST(DigestTest, OtherTextIsNoDigest) {
  EXPECT_THAT(Digest::FromHex(""), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Digest::FromHex(std::string(63, 'a')), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Digest::FromHex(std::string(65, 'a')), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Digest::FromHex(std::string(63, 'a') + "g"),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Digest::FromBytes(std::string(31, 'a')), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Digest::FromBytes(std::string(33, 'a')), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(DigestTest, BytesAndHexNameTheSame) {
  const Digest digest = Sha256Of("abc");
  EXPECT_EQ(*Digest::FromBytes(digest.bytes()), digest);
  EXPECT_EQ(*Digest::FromHex(digest.Hex()), digest);
}

TEST(DigestTest, DefaultNamesNothing) {
  EXPECT_TRUE(Digest().empty());
  EXPECT_FALSE(Sha256Of("").empty());
}

TEST(DigestTest, OrderIsThatOfTheBytes) {
  const Digest low = *Digest::FromHex("00" + std::string(62, 'f'));
  const Digest high = *Digest::FromHex("ff" + std::string(62, '0'));
  EXPECT_LT(low, high);
}

TEST(DigestTest, WorksAsAHashKey) {
  absl::flat_hash_set<Key> keys = {*Key::FromHex(kOfAbc)};
  EXPECT_TRUE(keys.contains(*Key::FromHex(kOfAbc)));
  EXPECT_FALSE(keys.contains(*Key::FromHex(kOfNothing)));
}

}  // namespace
}  // namespace neffcache
