#include "server/store/ready_table.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

ReadyState StateOf(uint64_t size) {
  return {{Sha256Of(absl::StrCat("artifact ", size)), size},
          absl::FromUnixSeconds(1'700'000'000),
          absl::Seconds(30)};
}

class ReadyTableTest : public StoreTest {
 protected:
  // What a lookup of many keys does.
  std::vector<absl::optional<ReadyState>> ReadAndAsk(const std::vector<Key>& keys) {
    EXPECT_THAT(store_->Find(keys), IsOk());
    return store_->FindReadyInMemory(keys);
  }

  ReadyTable table_;
};

TEST_F(ReadyTableTest, FindsWhatItWasToldAndNothingElse) {
  table_.Remember(table_.BeforeReading(), KeyOf(1), StateOf(1));
  EXPECT_EQ(table_.Find(KeyOf(1)), StateOf(1));
  EXPECT_EQ(table_.Find(KeyOf(2)), absl::nullopt);
}

TEST_F(ReadyTableTest, ForgottenKeyIsNotFound) {
  table_.Remember(table_.BeforeReading(), KeyOf(1), StateOf(1));
  table_.Remember(table_.BeforeReading(), KeyOf(2), StateOf(2));
  table_.Forget(std::vector<Key>{KeyOf(1)});
  EXPECT_EQ(table_.Find(KeyOf(1)), absl::nullopt);
  EXPECT_EQ(table_.Find(KeyOf(2)), StateOf(2));
}

TEST_F(ReadyTableTest, EntryReadBeforeItWasForgottenIsNotRemembered) {
  const ReadyTable::Mark before = table_.BeforeReading();
  table_.Forget(std::vector<Key>{KeyOf(1)});
  table_.Remember(before, KeyOf(1), StateOf(1));
  EXPECT_EQ(table_.Find(KeyOf(1)), absl::nullopt);
  table_.Remember(table_.BeforeReading(), KeyOf(1), StateOf(1));
  EXPECT_EQ(table_.Find(KeyOf(1)), StateOf(1));
}

TEST_F(ReadyTableTest, KeepsABoundedNumberAndThoseThatAreAskedFor) {
  constexpr int kMany = 3 * ReadyTable::kMostKeys;
  for (int i = 0; i < kMany; ++i) {
    table_.Remember(table_.BeforeReading(), KeyOf(i), StateOf(1));
    if (i % 512 == 0) {
      EXPECT_NE(table_.Find(KeyOf(0)), absl::nullopt) << i;
    }
  }
  size_t kept = 0;
  for (int i = 0; i < kMany; ++i) kept += table_.Find(KeyOf(i)).has_value() ? 1 : 0;
  EXPECT_LE(kept, ReadyTable::kMostKeys);
  EXPECT_GT(kept, 0u);
}

TEST_F(ReadyTableTest, StoreRemembersReadyEntriesOfABatchOnly) {
  const Entry entry = CommitArtifact(*store_, 1, "artifact").entry;
  ASSERT_THAT(store_->CommitFailed(FailedEntry(2, now_ + absl::Hours(1)), absl::nullopt), IsOk());
  const auto states = ReadAndAsk({KeyOf(1), KeyOf(2), KeyOf(3)});
  EXPECT_EQ(states[0], (ReadyState{*entry.ready(), entry.created, entry.compile_time}));
  EXPECT_EQ(states[1], absl::nullopt);
  EXPECT_EQ(states[2], absl::nullopt);
}

TEST_F(ReadyTableTest, QuarantineTakesAllEntriesOfTheArtifactAwayAndACommitBringsOneBack) {
  CommitArtifact(*store_, 1, "artifact");
  CommitArtifact(*store_, 2, "artifact");
  CommitArtifact(*store_, 3, "another");
  const std::vector<Key> keys = {KeyOf(1), KeyOf(2), KeyOf(3)};
  ASSERT_NE(ReadAndAsk(keys)[0], absl::nullopt);
  ASSERT_THAT(store_->Quarantine(Sha256Of("artifact")), IsOk());
  auto states = store_->FindReadyInMemory(keys);
  EXPECT_EQ(states[0], absl::nullopt);
  EXPECT_EQ(states[1], absl::nullopt);
  EXPECT_NE(states[2], absl::nullopt);
  EXPECT_EQ(ReadAndAsk(keys)[0], absl::nullopt);

  CommitArtifact(*store_, 1, "compiled again");
  states = ReadAndAsk(keys);
  ASSERT_NE(states[0], absl::nullopt);
  EXPECT_EQ(states[0]->artifact.digest, Sha256Of("compiled again"));
  EXPECT_EQ(states[1], absl::nullopt);
}

}  // namespace
}  // namespace neffcache
