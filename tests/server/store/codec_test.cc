#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "server/store/counter_merge.h"
#include "server/store/entry_codec.h"
#include "server/store/row_codec.h"
#include "server/store/row_keys.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

TEST(EntryCodecTest, OtherBytesAreDataLoss) {
  for (const std::string& bytes : {std::string(), std::string("\xff\xff"), std::string(100, 'x')}) {
    EXPECT_THAT(DecodeEntry(bytes), HasCode(absl::StatusCode::kDataLoss));
    EXPECT_THAT(DecodeEntryFile(bytes), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST(EntryCodecTest, EveryTruncationIsDataLossOrAnotherEntry) {
  const std::string bytes = EncodeEntry(ReadyEntry(1, "artifact")).value();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const absl::StatusOr<Entry> entry = DecodeEntry(bytes.substr(0, size));
    // Only the last field, which is not part of the message within, can be cut off unnoticed.
    if (entry.ok()) {
      EXPECT_EQ(entry->fencing_token, 0u);
      EXPECT_EQ(entry->key, KeyOf(1));
    } else {
      EXPECT_THAT(entry, HasCode(absl::StatusCode::kDataLoss));
    }
  }
}

TEST(EntryCodecTest, EveryFailureClassComesBack) {
  for (const FailureClass failure_class : {FailureClass::kDeterministic, FailureClass::kMemory,
                                           FailureClass::kTransient, FailureClass::kUnclear}) {
    Entry entry = FailedEntry(1, absl::InfinitePast());
    Failure failure = *entry.failed();
    failure.failure_class = failure_class;
    failure.exit_code = -1;
    failure.signal = 9;
    entry.state = failure;
    const Entry decoded = DecodeEntry(EncodeEntry(entry).value()).value();
    EXPECT_EQ(decoded.failed()->failure_class, failure_class);
    EXPECT_EQ(decoded.failed()->exit_code, -1);
    EXPECT_EQ(decoded.failed()->signal, 9);
    EXPECT_EQ(decoded.failed()->remembered_until, absl::InfinitePast());
  }
}

TEST(RowCodecTest, OtherBytesAreDataLoss) {
  const std::string bytes = "\xff\xff";
  EXPECT_THAT(DecodeArtifactRow(bytes), HasCode(absl::StatusCode::kDataLoss));
  EXPECT_THAT(DecodeGraphRecord(bytes), HasCode(absl::StatusCode::kDataLoss));
  EXPECT_THAT(DecodeQueued(Key(), bytes), HasCode(absl::StatusCode::kDataLoss));
  EXPECT_THAT(DecodeBundleTimes(bytes), HasCode(absl::StatusCode::kDataLoss));
  EXPECT_THAT(DecodeUse(bytes), HasCode(absl::StatusCode::kDataLoss));
}

TEST(RowKeysTest, FailuresAreOrderedByExpiry) {
  std::vector<std::string> rows = {
      FailureRow(absl::InfiniteFuture(), KeyOf(1)), FailureRow(absl::FromUnixMillis(256), KeyOf(2)),
      FailureRow(absl::FromUnixMillis(255), KeyOf(3)), FailureRow(absl::InfinitePast(), KeyOf(4))};
  std::sort(rows.begin(), rows.end());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(*KeyAtEnd(rows[static_cast<size_t>(i)]), KeyOf(4 - i));
}

TEST(RowKeysTest, NoBundlesPrefixIsTheStartOfAnothers) {
  EXPECT_EQ(BundleRow("bert-large", KeyOf(1)).find(BundlePrefix("bert")), std::string::npos);
  EXPECT_EQ(*KeyAtEnd(BundleRow("bert", KeyOf(1))), KeyOf(1));
}

TEST(RowKeysTest, ShortRowIsDataLoss) {
  EXPECT_THAT(KeyAtEnd("short"), HasCode(absl::StatusCode::kDataLoss));
}

TEST(CounterTest, CountersAddUp) {
  const CounterMerge merge;
  const auto add = [&merge](const std::string* value, int64_t delta) {
    std::string sum;
    const rocksdb::Slice existing = value == nullptr ? rocksdb::Slice() : rocksdb::Slice(*value);
    const std::string encoded = EncodeCounter(delta);
    EXPECT_TRUE(
        merge.Merge("count", value == nullptr ? nullptr : &existing, encoded, &sum, nullptr));
    return sum;
  };
  const std::string five = add(nullptr, 5);
  EXPECT_EQ(DecodeCounter(add(&five, -7)), -2);
  const int64_t large = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(DecodeCounter(EncodeCounter(large)), large);
}

}  // namespace
}  // namespace neffcache
