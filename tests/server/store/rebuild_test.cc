#include <filesystem>
#include <fstream>
#include <string>

#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

class RebuildTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    const Key key = KeyOf(1);
    ASSERT_THAT(store_->RecordInBundle("bert", {&key, 1}), IsOk());
    QueuedCompile compile = QueuedFor(1, "graph");
    ASSERT_THAT(store_->Enqueue(compile, StageCompressed(*store_, ContentKind::kGraph, "graph")),
                IsOk());
    Entry entry = ReadyEntry(1, large_);
    entry.graph = compile.graph;
    ASSERT_THAT(store_->CommitReady(entry, StageArtifact(*store_, large_), absl::nullopt), IsOk());
    CommitArtifact(*store_, 2, "inline");
    CommitArtifact(*store_, 3, "inline");
  }

  void LoseDatabase() {
    store_.reset();
    std::filesystem::remove_all(directory_ / "data/db");
    Reopen();
    ASSERT_THAT(store_->Find(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
  }

  const std::string large_ = Noise(3'000'000, 1);
};

TEST_F(RebuildTest, EntriesOfALostDatabaseComeBack) {
  LoseDatabase();
  const auto counts = store_->RebuildIndex();
  ASSERT_THAT(counts, IsOk());
  EXPECT_EQ(counts->taken_up, 3u);
  EXPECT_EQ(counts->known + counts->damaged, 0u);
  Reopen();
  EXPECT_EQ(*store_->Find(KeyOf(1))->ready(), (Artifact{Sha256Of(large_), large_.size()}));
  EXPECT_EQ(store_->Find(KeyOf(1))->fencing_token, 99u);
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, Sha256Of(large_)), large_);
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, Sha256Of("inline")), "inline");
  EXPECT_EQ(*store_->BundlesOf(KeyOf(1)), std::vector<std::string>{"bert"});
  EXPECT_THAT(store_->FindGraph(ReadyEntry(1, "").material.fingerprint), IsOk());
  EXPECT_EQ(store_->Count()->entries_ready, 3u);
  EXPECT_EQ(store_->Count()->artifacts, 2u);
  EXPECT_EQ(store_->Count()->artifact_bytes, large_.size() + 6);
}

TEST_F(RebuildTest, RebuildOfAWholeDatabaseChangesNothing) {
  const auto counts = store_->RebuildIndex();
  ASSERT_THAT(counts, IsOk());
  EXPECT_EQ(counts->known, 3u);
  EXPECT_EQ(counts->taken_up, 0u);
  EXPECT_EQ(store_->Count()->entries_ready, 3u);
}

TEST_F(RebuildTest, DamagedArtifactsAndRecordsAreLeftOut) {
  std::fstream file(ArtifactPath(Sha256Of(large_)), std::ios::in | std::ios::out);
  file.seekp(2'500'000);
  file.put(static_cast<char>(large_[2'500'000] ^ 1));
  file.close();
  std::filesystem::resize_file(RecordPath(KeyOf(2)), 20);
  LoseDatabase();
  const auto counts = store_->RebuildIndex();
  ASSERT_THAT(counts, IsOk());
  EXPECT_EQ(counts->taken_up, 1u);
  EXPECT_EQ(counts->damaged, 2u);
  EXPECT_THAT(store_->Find(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->Find(KeyOf(2)), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->Find(KeyOf(3)), IsOk());
}

TEST_F(RebuildTest, QuarantinedEntriesDoNotComeBack) {
  ASSERT_THAT(store_->Quarantine(Sha256Of("inline")), IsOk());
  LoseDatabase();
  const auto counts = store_->RebuildIndex();
  ASSERT_THAT(counts, IsOk());
  EXPECT_EQ(counts->taken_up, 1u);
  EXPECT_THAT(store_->Find(KeyOf(2)), HasCode(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace neffcache
