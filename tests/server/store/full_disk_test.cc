#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

// A store on a file system of 24 MiB.
class FullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(mount_point_);
    if (mount("tmpfs", mount_point_.c_str(), "tmpfs", 0, "size=24m") != 0) {
      GTEST_SKIP() << "no small file system: " << std::strerror(errno);
    }
    mounted_ = true;
    options_.data_dir = mount_point_ + "/data";
    options_.inline_limit = 1000;
    options_.min_free_bytes = 0;
    Reopen();
  }

  void TearDown() override {
    store_.reset();
    if (mounted_) umount2(mount_point_.c_str(), MNT_DETACH);
  }

  void Reopen() {
    store_.reset();
    auto store = Store::Open(options_);
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
  }

  // Leaves no byte free.
  void FillDisk() {
    std::ofstream filler(mount_point_ + "/filler", std::ios::binary);
    const std::string block(4096, 'f');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void EmptyDisk() { std::filesystem::remove(mount_point_ + "/filler"); }

  absl::StatusOr<StagedContent> TryStage(const std::string& bytes) {
    absl::StatusOr<ContentWriter> writer = store_->Stage(ContentKind::kArtifact);
    if (!writer.ok()) return writer.status();
    const absl::Status written = writer->Write(bytes);
    if (!written.ok()) return written;
    return std::move(*writer).Finish();
  }

  TemporaryDirectory directory_;
  const std::string mount_point_ = directory_ / "disk";
  StoreOptions options_;
  bool mounted_ = false;
  std::unique_ptr<Store> store_;
};

TEST_F(FullDiskTest, ArtifactThatDoesNotFitIsResourceExhaustedAndLeavesNothing) {
  EXPECT_THAT(TryStage(std::string(32 << 20, 'x')), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_TRUE(std::filesystem::is_empty(mount_point_ + "/data/tmp"));
  EXPECT_TRUE(CommitArtifact(*store_, 1, Noise(5000, 1)).accepted);
}

TEST_F(FullDiskTest, WritesFailReadsGoOnAndWritingResumesByItself) {
  const std::string artifact = Noise(5000, 1);
  CommitArtifact(*store_, 1, artifact);
  CommitArtifact(*store_, 2, "inline");
  StagedContent staged = StageArtifact(*store_, "late inline");
  FillDisk();

  EXPECT_THAT(store_->CommitReady(ReadyEntry(3, "late inline"), std::move(staged), absl::nullopt),
              HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(TryStage(Noise(5000, 4)), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(store_->Find(KeyOf(3)), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->Find(KeyOf(1)), IsOk());
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, Sha256Of(artifact)), artifact);
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, Sha256Of("inline")), "inline");

  EmptyDisk();
  EXPECT_TRUE(CommitArtifact(*store_, 3, "late inline").accepted);
  Reopen();
  EXPECT_THAT(store_->Find(KeyOf(1)), IsOk());
  EXPECT_THAT(store_->Find(KeyOf(3)), IsOk());
}

TEST_F(FullDiskTest, DatabaseThatMetAFullDiskWritesAgainWhenThereIsRoom) {
  CommitArtifact(*store_, 1, "artifact");
  FillDisk();
  // Only the database writes for these, and its log has a page or two of room left at most.
  absl::Status status;
  for (int number = 0; number < 1000 && status.ok(); ++number) {
    status = store_->CommitFailed(FailedEntry(10 + number, absl::InfiniteFuture()), absl::nullopt);
  }
  EXPECT_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(store_->Find(KeyOf(1)), IsOk());
  EmptyDisk();
  EXPECT_THAT(store_->CommitFailed(FailedEntry(2000, absl::InfiniteFuture()), absl::nullopt),
              IsOk());
  Reopen();
  EXPECT_THAT(store_->Find(KeyOf(1)), IsOk());
  EXPECT_THAT(store_->Find(KeyOf(2000)), IsOk());
}

TEST_F(FullDiskTest, NewContentIsRefusedBeforeTheDiskIsFull) {
  options_.min_free_bytes = 8 << 20;
  Reopen();
  CommitArtifact(*store_, 1, Noise(5000, 1));
  std::ofstream(mount_point_ + "/filler", std::ios::binary) << std::string(10 << 20, 'f');
  ASSERT_THAT(store_->Stage(ContentKind::kArtifact), IsOk());
  // Refused on the way too, not only at its start.
  absl::StatusOr<ContentWriter> writer = store_->Stage(ContentKind::kArtifact);
  ASSERT_THAT(writer, IsOk());
  EXPECT_THAT(writer->Write(std::string(7 << 20, 'x')), IsOk());
  EXPECT_THAT(writer->Write(std::string(2 << 20, 'x')),
              HasCode(absl::StatusCode::kResourceExhausted));
  std::ofstream(mount_point_ + "/more", std::ios::binary) << std::string(4 << 20, 'f');
  EXPECT_THAT(store_->Stage(ContentKind::kGraph), HasCode(absl::StatusCode::kResourceExhausted));
  // Records are still written.
  EXPECT_THAT(store_->Quarantine(Sha256Of(Noise(5000, 1))), IsOk());
}

}  // namespace
}  // namespace neffcache
