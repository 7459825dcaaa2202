#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

class DamageTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    CommitArtifact(*store_, 1, bytes_);
    CommitArtifact(*store_, 2, bytes_);
    CommitArtifact(*store_, 3, "another artifact");
  }

  // The artifact is gone with its entries; the rest is not.
  void ExpectQuarantined() {
    EXPECT_THAT(store_->Find(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
    EXPECT_THAT(store_->Find(KeyOf(2)), HasCode(absl::StatusCode::kNotFound));
    EXPECT_THAT(store_->Find(KeyOf(3)), IsOk());
    EXPECT_THAT(store_->OpenContent(ContentKind::kArtifact, digest_),
                HasCode(absl::StatusCode::kDataLoss));
    EXPECT_FALSE(std::filesystem::exists(ArtifactPath(digest_)));
    EXPECT_FALSE(std::filesystem::exists(RecordPath(KeyOf(1))));
    EXPECT_TRUE(std::filesystem::exists(RecordPath(KeyOf(3))));
    const StoreCounts counts = *store_->Count();
    EXPECT_EQ(counts.entries_ready, 1u);
    EXPECT_EQ(counts.artifacts, 1u);
    EXPECT_EQ(counts.artifact_bytes, std::string("another artifact").size());
  }

  const std::string bytes_ = Noise(5000, 1);
  const Digest digest_ = Sha256Of(bytes_);
};

TEST_F(DamageTest, MissingFileMakesItsEntriesMisses) {
  std::filesystem::remove(ArtifactPath(digest_));
  EXPECT_THAT(store_->OpenContent(ContentKind::kArtifact, digest_),
              HasCode(absl::StatusCode::kDataLoss));
  ExpectQuarantined();
  EXPECT_EQ(store_->Count()->damaged, 1u);
}

TEST_F(DamageTest, ShortFileMakesItsEntriesMisses) {
  std::filesystem::resize_file(ArtifactPath(digest_), bytes_.size() - 1);
  EXPECT_THAT(store_->OpenContent(ContentKind::kArtifact, digest_),
              HasCode(absl::StatusCode::kDataLoss));
  ExpectQuarantined();
}

TEST_F(DamageTest, LongFileMakesItsEntriesMisses) {
  std::ofstream(ArtifactPath(digest_), std::ios::app) << "x";
  EXPECT_THAT(store_->OpenContent(ContentKind::kArtifact, digest_),
              HasCode(absl::StatusCode::kDataLoss));
  ExpectQuarantined();
}

TEST_F(DamageTest, WhatIsNoRegularFileIsDamageAndGivesWayToTheNextCommit) {
  const std::string path = ArtifactPath(digest_);
  const std::string elsewhere = path + ".elsewhere";
  const std::vector<std::function<void()>> damages = {
      [&] { std::filesystem::create_directories(path + "/inside"); },
      [&] { std::filesystem::create_symlink(elsewhere, path); },
      [&] { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); },
  };
  std::ofstream(elsewhere) << bytes_;  // Even when the right bytes are behind it.
  for (const auto& damage : damages) {
    std::filesystem::remove(path);
    damage();
    EXPECT_THAT(store_->OpenContent(ContentKind::kArtifact, digest_),
                HasCode(absl::StatusCode::kDataLoss));
    ExpectQuarantined();
    CommitArtifact(*store_, 1, bytes_);
    CommitArtifact(*store_, 2, bytes_);
    EXPECT_THAT(store_->OpenContent(ContentKind::kArtifact, digest_), IsOk());
  }
  EXPECT_EQ(store_->Count()->damaged, damages.size());
}

TEST_F(DamageTest, QuarantinedArtifactIsNeverServedAgain) {
  ASSERT_THAT(store_->Quarantine(digest_), IsOk());
  ExpectQuarantined();
  Reopen();
  ExpectQuarantined();
  EXPECT_EQ(store_->Count()->damaged, 0u);  // Counts what was found since Open.
}

TEST_F(DamageTest, InlineArtifactIsQuarantinedToo) {
  ASSERT_THAT(store_->Quarantine(Sha256Of("another artifact")), IsOk());
  EXPECT_THAT(store_->Find(KeyOf(3)), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->OpenContent(ContentKind::kArtifact, Sha256Of("another artifact")),
              HasCode(absl::StatusCode::kDataLoss));
}

TEST_F(DamageTest, QuarantineTwiceCountsOnce) {
  ASSERT_THAT(store_->Quarantine(digest_), IsOk());
  ASSERT_THAT(store_->Quarantine(digest_), IsOk());
  EXPECT_EQ(store_->Count()->damaged, 1u);
  EXPECT_EQ(store_->Count()->artifacts, 1u);
}

TEST_F(DamageTest, UnknownArtifactCannotBeQuarantined) {
  EXPECT_THAT(store_->Quarantine(Sha256Of("never stored")), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(DamageTest, NextCompileReplacesWhatWasQuarantined) {
  ASSERT_THAT(store_->Quarantine(digest_), IsOk());
  EXPECT_TRUE(CommitArtifact(*store_, 1, "another build").accepted);
  EXPECT_EQ(store_->Find(KeyOf(1))->ready()->digest, Sha256Of("another build"));
}

TEST_F(DamageTest, CommitOfTheSameArtifactBringsGoodBytes) {
  for (const std::string& bytes : {bytes_, std::string("another artifact")}) {
    ASSERT_THAT(store_->Quarantine(Sha256Of(bytes)), IsOk());
    EXPECT_TRUE(CommitArtifact(*store_, 1 + static_cast<int>(bytes.size()), bytes).accepted);
    EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, Sha256Of(bytes)), bytes);
  }
  EXPECT_EQ(store_->Count()->artifacts, 2u);
  EXPECT_EQ(store_->Count()->artifact_bytes,
            bytes_.size() + std::string("another artifact").size());
}

TEST_F(DamageTest, CommitOverADamagedFileBringsGoodBytes) {
  std::filesystem::resize_file(ArtifactPath(digest_), 10);
  EXPECT_TRUE(CommitArtifact(*store_, 4, bytes_).accepted);
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, digest_), bytes_);
  EXPECT_THAT(store_->Find(KeyOf(1)), IsOk());
}

TEST_F(DamageTest, OnlyADamagedGraphIsForgotten) {
  const std::string graph = Noise(3'000'000, 7);
  const QueuedCompile compile = QueuedFor(1, graph);
  const auto fingerprint = compile.material.fingerprint;
  ASSERT_THAT(store_->Enqueue(compile, StageCompressed(*store_, ContentKind::kGraph, graph)),
              IsOk());
  EXPECT_THAT(store_->CheckGraph(compile.graph), IsOk());
  EXPECT_THAT(store_->ForgetGraph(compile.graph.digest), IsOk());
  EXPECT_THAT(store_->FindGraph(fingerprint), IsOk());

  const std::string path = ArtifactPath(compile.graph.digest) + ".zst";
  std::filesystem::resize_file(path, 2'000'000);
  EXPECT_THAT(store_->CheckGraph(compile.graph), HasCode(absl::StatusCode::kDataLoss));
  EXPECT_THAT(store_->ForgetGraph(compile.graph.digest), IsOk());
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(store_->FindGraph(fingerprint), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->CheckGraph(compile.graph), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->ForgetGraph(compile.graph.digest), IsOk());
}

TEST_F(DamageTest, UnmountedStoreIsUnavailableAndLosesNothing) {
  std::filesystem::rename(directory_ / "data/artifacts", directory_ / "away");
  std::filesystem::rename(directory_ / "data/layout", directory_ / "layout");
  EXPECT_THAT(store_->OpenContent(ContentKind::kArtifact, digest_),
              HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(store_->OpenContent(ContentKind::kGraph, digest_),
              HasCode(absl::StatusCode::kUnavailable));
  const Entry entry = ReadyEntry(4, Noise(5000, 4));
  EXPECT_THAT(store_->CommitReady(entry, StageArtifact(*store_, Noise(5000, 4)), absl::nullopt),
              HasCode(absl::StatusCode::kUnavailable));
  std::filesystem::rename(directory_ / "away", directory_ / "data/artifacts");
  std::filesystem::rename(directory_ / "layout", directory_ / "data/layout");
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, digest_), bytes_);
}

}  // namespace
}  // namespace neffcache
