#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

using OpenTest = StoreTest;

void WriteFile(const std::string& path, absl::string_view text) {
  std::ofstream(path, std::ios::trunc) << text;
}

TEST_F(OpenTest, NewStoreIsEmpty) {
  EXPECT_THAT(store_->Find(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
  EXPECT_TRUE(store_->LoadQueue()->empty());
  EXPECT_TRUE(store_->ListBundles()->empty());
  const StoreCounts counts = *store_->Count();
  EXPECT_EQ(counts.entries_ready + counts.entries_failed + counts.artifacts, 0u);
}

TEST_F(OpenTest, ReopeningKeepsEverything) {
  const std::string small = "a small artifact";
  const std::string large = Noise(5000, 1);
  ASSERT_TRUE(CommitArtifact(*store_, 1, small).accepted);
  ASSERT_TRUE(CommitArtifact(*store_, 2, large).accepted);
  const Entry failed = FailedEntry(3, now_ + absl::Hours(1));
  ASSERT_THAT(store_->CommitFailed(failed, StageCompressed(*store_, ContentKind::kLog, "a log")),
              IsOk());
  ASSERT_THAT(store_->Enqueue(QueuedFor(4, "graph"),
                              StageCompressed(*store_, ContentKind::kGraph, "graph")),
              IsOk());
  const Key in_bundle = KeyOf(1);
  ASSERT_THAT(store_->RecordInBundle("bert", {&in_bundle, 1}), IsOk());
  ASSERT_THAT(store_->RecordNative("2.27", "MODULE_1+2", KeyOf(1)), IsOk());
  store_->NoteUse(KeyOf(1));
  Reopen();

  EXPECT_EQ(*store_->Find(KeyOf(1))->ready(), (Artifact{Sha256Of(small), small.size()}));
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, Sha256Of(small)), small);
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, Sha256Of(large)), large);
  EXPECT_EQ(store_->Find(KeyOf(3))->failed()->message, failed.failed()->message);
  EXPECT_EQ(ContentOf(*store_, ContentKind::kLog, store_->Find(KeyOf(3))->log), "a log");
  ASSERT_EQ(store_->LoadQueue()->size(), 1u);
  EXPECT_EQ(store_->LoadQueue()->front().key, KeyOf(4));
  EXPECT_EQ(ContentOf(*store_, ContentKind::kGraph, Sha256Of("graph")), "graph");
  EXPECT_EQ(store_->GetBundle("bert")->front().key, KeyOf(1));
  EXPECT_EQ(*store_->FindNative("2.27", "MODULE_1+2"), KeyOf(1));
  EXPECT_EQ(store_->UseOf(KeyOf(1))->hits, 1u);
  const StoreCounts counts = *store_->Count();
  EXPECT_EQ(counts.entries_ready, 2u);
  EXPECT_EQ(counts.entries_failed, 1u);
  EXPECT_EQ(counts.artifacts, 2u);
  EXPECT_EQ(counts.artifact_bytes, small.size() + large.size());
}

TEST_F(OpenTest, SecondOpenIsRefusedAndNamesTheHolder) {
  const absl::StatusOr<std::unique_ptr<Store>> second = Store::Open(Options());
  EXPECT_THAT(second, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(second, Says(absl::StrCat("pid ", getpid(), " on host ")));
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof(host) - 1), 0);
  EXPECT_THAT(second, Says(host));
}

TEST_F(OpenTest, RefusedOpenDoesNotDisturbTheHolder) {
  StagedContent staged = StageArtifact(*store_, Noise(5000, 1));
  ASSERT_FALSE(Store::Open(Options()).ok());
  EXPECT_THAT(store_->CommitReady(ReadyEntry(1, Noise(5000, 1)), std::move(staged), absl::nullopt),
              IsOk());
}

TEST_F(OpenTest, SharedDatabaseDirectoryIsRefusedToo) {
  StoreOptions options = Options();
  options.data_dir = directory_ / "other";
  options.db_dir = directory_ / "data/db";
  EXPECT_THAT(Store::Open(options), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(OpenTest, DatabaseMayLieElsewhere) {
  StoreOptions options = Options();
  options.data_dir = directory_ / "shared";
  options.db_dir = directory_ / "local/db";
  {
    const auto store = Store::Open(options);
    ASSERT_THAT(store, IsOk());
    ASSERT_TRUE(CommitArtifact(**store, 1, "artifact").accepted);
  }
  EXPECT_TRUE(std::filesystem::exists(directory_ / "local/db/CURRENT"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "shared/db"));
  const auto store = Store::Open(options);
  ASSERT_THAT(store, IsOk());
  EXPECT_THAT((*store)->Find(KeyOf(1)), IsOk());
}

TEST_F(OpenTest, DatabaseOfAnotherStoreIsRefused) {
  store_.reset();
  StoreOptions options = Options();
  options.data_dir = directory_ / "not mounted";
  options.db_dir = directory_ / "data/db";
  // As if the data directory's file system were not mounted: the artifacts must not count as lost.
  const auto store = Store::Open(options);
  EXPECT_THAT(store, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(store, Says("mounted"));
  Reopen();
}

TEST_F(OpenTest, NewerLayoutIsRefused) {
  store_.reset();
  const std::string marker = directory_ / "data/layout";
  const std::string id = ReadWholeFile(marker, 1000)->substr(18);
  WriteFile(marker, absl::StrCat("neffcache-store 2 ", id));
  const auto store = Store::Open(Options());
  EXPECT_THAT(store, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(store, Says("version 2"));
  WriteFile(marker, absl::StrCat("neffcache-store 1 ", id));
  Reopen();
}

TEST_F(OpenTest, ForeignMarkerIsRefused) {
  store_.reset();
  WriteFile(directory_ / "data/layout", "somebody else's file\n");
  EXPECT_THAT(Store::Open(Options()), HasCode(absl::StatusCode::kDataLoss));
}

TEST_F(OpenTest, LeftoversOfStagingAreSweptAtOpen) {
  WriteFile(directory_ / "data/tmp/.neffcache-0123", "half an artifact");
  Reopen();
  EXPECT_TRUE(FilesIn(directory_ / "data/tmp").empty());
}

TEST_F(OpenTest, UnwritableDirectoryIsAClearError) {
  StoreOptions options = Options();
  WriteFile(directory_ / "file", "");
  options.data_dir = directory_ / "file/data";
  const auto under_file = Store::Open(options);
  EXPECT_FALSE(under_file.ok());
  EXPECT_THAT(under_file, Says("file/data"));
  options.data_dir = "/proc/neffcache";  // Nobody may create files there, not even root.
  EXPECT_FALSE(Store::Open(options).ok());
  options.data_dir = "";
  EXPECT_THAT(Store::Open(options), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_F(OpenTest, WriteProtectedDirectoryIsPermissionDenied) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::create_directory(directory_ / "locked");
  ASSERT_EQ(chmod((directory_ / "locked").c_str(), 0500), 0);
  StoreOptions options = Options();
  options.data_dir = directory_ / "locked";
  EXPECT_THAT(Store::Open(options), HasCode(absl::StatusCode::kPermissionDenied));
}

}  // namespace
}  // namespace neffcache
