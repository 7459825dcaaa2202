#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

using FindTest = StoreTest;

// A key that begins with these digits.
Entry EntryWithKey(const std::string& hex_prefix) {
  Entry entry = ReadyEntry(1, "artifact");
  entry.key = *Key::FromHex(hex_prefix + std::string(64 - hex_prefix.size(), '0'));
  return entry;
}

TEST_F(FindTest, BatchAnswersEachKeyInItsPlace) {
  std::vector<Key> keys;
  for (int number = 0; number < 200; ++number) keys.push_back(KeyOf(number));
  for (int number = 0; number < 200; number += 2) CommitArtifact(*store_, number, "shared");
  const auto entries = store_->Find(keys);
  ASSERT_THAT(entries, IsOk());
  ASSERT_EQ(entries->size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ((*entries)[i].has_value(), i % 2 == 0) << i;
    if (i % 2 == 0) {
      EXPECT_EQ((*entries)[i]->key, keys[i]);
    }
  }
}

TEST_F(FindTest, BatchMayRepeatKeysAndBeEmptyOrLarge) {
  CommitArtifact(*store_, 1, "artifact");
  EXPECT_TRUE(store_->Find(absl::Span<const Key>())->empty());
  const std::vector<Key> keys(10'000, KeyOf(1));
  const auto entries = store_->Find(keys);
  ASSERT_THAT(entries, IsOk());
  EXPECT_TRUE(std::all_of(entries->begin(), entries->end(),
                          [](const auto& entry) { return entry.has_value(); }));
}

TEST_F(FindTest, UniquePrefixNamesItsKey) {
  const Entry entry = EntryWithKey("0123456789abcdef");
  ASSERT_THAT(store_->CommitReady(entry, StageArtifact(*store_, "artifact"), absl::nullopt),
              IsOk());
  EXPECT_EQ(*store_->ResolvePrefix("01234567"), entry.key);
  EXPECT_EQ(*store_->ResolvePrefix("012345678"), entry.key);  // Ends inside a byte.
  EXPECT_EQ(*store_->ResolvePrefix("0123456789ABCDEF"), entry.key);
  EXPECT_EQ(*store_->ResolvePrefix(entry.key.Hex()), entry.key);
  EXPECT_THAT(store_->ResolvePrefix("012345679"), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->ResolvePrefix("ffffffff"), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(FindTest, PrefixOfSeveralKeysIsRefused) {
  for (const char* prefix : {"0123456781", "0123456782", "0123456790"}) {
    ASSERT_THAT(store_->CommitReady(EntryWithKey(prefix), StageArtifact(*store_, "artifact"),
                                    absl::nullopt),
                IsOk());
  }
  EXPECT_THAT(store_->ResolvePrefix("01234567"), HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(store_->ResolvePrefix("012345678"), HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(store_->ResolvePrefix("0123456782"), IsOk());
  EXPECT_THAT(store_->ResolvePrefix("012345679"), IsOk());
}

TEST_F(FindTest, OtherTextIsNoPrefix) {
  for (const std::string& text : {std::string(), std::string("0123456"), std::string("0123456g"),
                                  std::string(65, 'a'), std::string("01234567\n")}) {
    EXPECT_THAT(store_->ResolvePrefix(text), HasCode(absl::StatusCode::kInvalidArgument)) << text;
  }
}

TEST_F(FindTest, EntriesAreVisitedByKeyUntilToldToStop) {
  for (int number = 0; number < 20; ++number) CommitArtifact(*store_, number, "artifact");
  ASSERT_THAT(store_->CommitFailed(FailedEntry(20, now_ + absl::Hours(1)), absl::nullopt), IsOk());
  ASSERT_THAT(store_->CommitFailed(FailedEntry(21, now_ + absl::Hours(3)), absl::nullopt), IsOk());
  now_ += absl::Hours(2);
  std::vector<Key> keys;
  ASSERT_THAT(store_->ForEachEntry([&keys](const Entry& entry) {
    keys.push_back(entry.key);
    return true;
  }),
              IsOk());
  EXPECT_EQ(keys.size(), 21u);  // One failure is no longer remembered.
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  int visits = 0;
  ASSERT_THAT(store_->ForEachEntry([&visits](const Entry&) { return ++visits < 5; }), IsOk());
  EXPECT_EQ(visits, 5);
}

}  // namespace
}  // namespace neffcache
