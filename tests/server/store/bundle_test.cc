#include <string>
#include <vector>

#include "tests/server/store/store_fixture.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

class BundleTest : public StoreTest {
 protected:
  absl::Status Record(absl::string_view bundle, std::vector<int> numbers) {
    std::vector<Key> keys;
    for (const int number : numbers) keys.push_back(KeyOf(number));
    return store_->RecordInBundle(bundle, keys);
  }
};

TEST_F(BundleTest, BundleRemembersWhenAKeyWasFirstAndLastSeen) {
  const absl::Time first = now_;
  ASSERT_THAT(Record("bert", {1, 2}), IsOk());
  now_ += absl::Hours(1);
  ASSERT_THAT(Record("bert", {1}), IsOk());
  const auto keys = store_->GetBundle("bert");
  ASSERT_THAT(keys, IsOk());
  ASSERT_EQ(keys->size(), 2u);
  for (const BundleKey& key : *keys) {
    EXPECT_EQ(key.first_seen, first);
    EXPECT_EQ(key.last_seen, key.key == KeyOf(1) ? now_ : first);
  }
  EXPECT_LT((*keys)[0].key, (*keys)[1].key);
}

TEST_F(BundleTest, SummaryCountsWhatIsReady) {
  ASSERT_THAT(Record("bert", {1, 2, 3}), IsOk());
  ASSERT_THAT(Record("bert-large", {1}), IsOk());
  CommitArtifact(*store_, 1, "artifact");
  ASSERT_THAT(store_->CommitFailed(FailedEntry(2, now_ + absl::Hours(1)), absl::nullopt), IsOk());
  const auto bundles = store_->ListBundles();
  ASSERT_THAT(bundles, IsOk());
  ASSERT_EQ(bundles->size(), 2u);
  EXPECT_EQ((*bundles)[0].name, "bert");
  EXPECT_EQ((*bundles)[0].keys, 3u);
  EXPECT_EQ((*bundles)[0].ready, 1u);
  EXPECT_EQ((*bundles)[0].bytes, 8u);
  EXPECT_EQ((*bundles)[0].last_seen, now_);
  EXPECT_EQ((*bundles)[1].name, "bert-large");
  EXPECT_EQ((*bundles)[1].keys, 1u);
}

TEST_F(BundleTest, KeyKnowsItsBundles) {
  ASSERT_THAT(Record("bert", {1}), IsOk());
  ASSERT_THAT(Record("bert", {1}), IsOk());
  ASSERT_THAT(Record("llama", {1, 2}), IsOk());
  EXPECT_EQ(*store_->BundlesOf(KeyOf(1)), (std::vector<std::string>{"bert", "llama"}));
  EXPECT_EQ(*store_->BundlesOf(KeyOf(2)), (std::vector<std::string>{"llama"}));
  EXPECT_TRUE(store_->BundlesOf(KeyOf(3))->empty());
}

TEST_F(BundleTest, LargeBundleIsRecordedWhole) {
  std::vector<int> numbers(kMaxLookupKeys + 1);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i);
  ASSERT_THAT(Record("large", numbers), IsOk());
  EXPECT_EQ(store_->GetBundle("large")->size(), numbers.size());
}

TEST_F(BundleTest, UnknownBundleIsNotFound) {
  ASSERT_THAT(Record("bert-large", {1}), IsOk());
  EXPECT_THAT(store_->GetBundle("bert"), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(BundleTest, BadNamesAreRefused) {
  for (const std::string& name : {std::string(), std::string(kMaxNameBytes + 1, 'x'),
                                  std::string("a\0b", 3), std::string("\xff")}) {
    EXPECT_THAT(Record(name, {1}), HasCode(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(Record(std::string(kMaxNameBytes, 'x'), {1}), IsOk());
}

TEST_F(BundleTest, UsesAreCountedAcrossRestarts) {
  EXPECT_EQ(store_->UseOf(KeyOf(1))->hits, 0u);
  store_->NoteUse(KeyOf(1));
  store_->NoteUse(KeyOf(1));
  EXPECT_EQ(store_->UseOf(KeyOf(1))->hits, 2u);
  Reopen();
  now_ += absl::Hours(1);
  store_->NoteUse(KeyOf(1));
  EXPECT_EQ(store_->UseOf(KeyOf(1))->hits, 3u);
  EXPECT_EQ(store_->UseOf(KeyOf(1))->last_used, now_);
  Reopen();
  EXPECT_EQ(store_->UseOf(KeyOf(1))->hits, 3u);
  EXPECT_EQ(store_->UseOf(KeyOf(2))->hits, 0u);
}

TEST_F(BundleTest, StockModuleLeadsToItsKey) {
  ASSERT_THAT(store_->RecordNative("2.27", "MODULE_1+a", KeyOf(1)), IsOk());
  ASSERT_THAT(store_->RecordNative("2.28", "MODULE_1+a", KeyOf(2)), IsOk());
  EXPECT_EQ(*store_->FindNative("2.27", "MODULE_1+a"), KeyOf(1));
  EXPECT_EQ(*store_->FindNative("2.28", "MODULE_1+a"), KeyOf(2));
  EXPECT_THAT(store_->FindNative("2.29", "MODULE_1+a"), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->RecordNative("2.27", "", KeyOf(1)),
              HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace neffcache
