// Damage to the database's own files: nothing acknowledged is dropped in silence, and no key gets a
// second artifact.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rocksdb/db.h"
#include "server/store/database.h"
#include "server/store/database_options.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

constexpr int kEntries = 20;

class DatabaseDamageTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    // Inline artifacts and files in turn.
    for (int i = 0; i < kEntries; ++i) CommitArtifact(*store_, i, ArtifactOf(i));
  }

  static std::string ArtifactOf(int number) {
    return number % 2 == 0 ? absl::StrCat("artifact ", number) : Noise(5000, number);
  }

  // What kill -9 would have left, instead of what closing leaves.
  void Kill() {
    std::filesystem::copy(directory_ / "data", directory_ / "killed",
                          std::filesystem::copy_options::recursive);
    store_.reset();
    std::filesystem::remove_all(directory_ / "data");
    std::filesystem::rename(directory_ / "killed", directory_ / "data");
  }

  std::string FileOf(const std::string& extension) const {
    std::string largest;
    uint64_t size = 0;
    for (const std::string& path : FilesIn(directory_ / "data/db")) {
      if (!path.ends_with(extension) || std::filesystem::file_size(path) <= size) continue;
      largest = path;
      size = std::filesystem::file_size(path);
    }
    EXPECT_NE(largest, "");
    return largest;
  }
  static void FlipByte(const std::string& path, uint64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 1));
  }

  // A table begins with its first block of rows.
  void FlipFirstBlock(Column column) const {
    const std::string db = directory_ / "data/db";
    const auto columns = ColumnDescriptors();
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(
        rocksdb::DB::OpenForReadOnly(DatabaseOptions(nullptr), db, columns, &handles, &opened)
            .ok());
    const std::unique_ptr<rocksdb::DB> database(opened);
    std::vector<rocksdb::LiveFileMetaData> tables;
    database->GetLiveFilesMetaData(&tables);
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      ASSERT_TRUE(database->DestroyColumnFamilyHandle(handle).ok());
    }
    int flipped = 0;
    for (const rocksdb::LiveFileMetaData& table : tables) {
      if (table.column_family_name != columns[static_cast<size_t>(column)].name) continue;
      FlipByte(table.db_path + table.name, 4);
      ++flipped;
    }
    ASSERT_GT(flipped, 0);
  }
  std::string Advice() const {
    return "run neffcached --rebuild-index --data-dir " + directory_ / "data";
  }
  void ExpectRefusedUntilRebuilt() {
    const auto refused = Store::Open(Options());
    ASSERT_THAT(refused, HasCode(absl::StatusCode::kDataLoss));
    EXPECT_THAT(refused, Says(directory_ / "data/db: it is damaged"));
    EXPECT_THAT(refused, Says(Advice()));
    ExpectRebuilt();
  }
  void ExpectRebuilt() {
    StoreOptions options = Options();
    options.replace_damaged_database = true;
    std::string logged;
    options.database_log = [&logged](absl::string_view line) { absl::StrAppend(&logged, line); };
    auto rebuilt = Store::Open(options);
    ASSERT_THAT(rebuilt, IsOk());
    EXPECT_THAT(logged, ::testing::HasSubstr("its files are in"));
    EXPECT_EQ((*rebuilt)->RebuildIndex()->taken_up, static_cast<uint64_t>(kEntries));
    rebuilt->reset();
    Reopen();
    ExpectWhole();
  }
  void ExpectWhole() {
    for (int i = 0; i < kEntries; ++i) {
      ASSERT_THAT(store_->Find(KeyOf(i)), IsOk());
      EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, store_->Find(KeyOf(i))->ready()->digest),
                ArtifactOf(i));
    }
    EXPECT_EQ(store_->Count()->entries_ready, static_cast<uint64_t>(kEntries));
    EXPECT_EQ(store_->Count()->artifacts, static_cast<uint64_t>(kEntries));
  }
  int CountLost() {
    int lost = 0;
    for (int i = 0; i < kEntries; ++i) lost += !store_->Find(KeyOf(i)).ok();
    return lost;
  }
};

TEST_F(DatabaseDamageTest, AKilledDaemonsLogIsReplayed) {
  Kill();
  Reopen();
  ExpectWhole();
}

TEST_F(DatabaseDamageTest, ALogThatEndsWithinARecordOpensWithoutThatRecord) {
  Kill();
  const std::string log = FileOf(".log");
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 3);
  Reopen();
  EXPECT_LE(CountLost(), 1);
}

TEST_F(DatabaseDamageTest, AFlippedBitInTheLogIsRefusedWithWhatToDo) {
  Kill();
  const std::string log = FileOf(".log");
  FlipByte(log, std::filesystem::file_size(log) / 2);
  ExpectRefusedUntilRebuilt();
}

TEST_F(DatabaseDamageTest, AMissingCurrentIsRefusedWithWhatToDo) {
  Kill();
  std::filesystem::remove(directory_ / "data/db/CURRENT");
  ExpectRefusedUntilRebuilt();
}

TEST_F(DatabaseDamageTest, AMissingCurrentIsRefusedAfterACleanEndToo) {
  store_.reset();
  std::filesystem::remove(directory_ / "data/db/CURRENT");
  ExpectRefusedUntilRebuilt();
}

TEST_F(DatabaseDamageTest, ADamagedManifestIsRefusedWithWhatToDo) {
  Reopen();  // So that tables are in it.
  Kill();
  std::string manifest;
  for (const std::string& path : FilesIn(directory_ / "data/db")) {
    if (path.find("MANIFEST") != std::string::npos) manifest = path;
  }
  FlipByte(manifest, std::filesystem::file_size(manifest) / 2);
  ExpectRefusedUntilRebuilt();
}

TEST_F(DatabaseDamageTest, AMissingTableIsRefusedWithWhatToDo) {
  store_.reset();
  std::filesystem::remove(FileOf(".sst"));
  ExpectRefusedUntilRebuilt();
}

TEST_F(DatabaseDamageTest, AStartThatWasCutOffBeforeTheFirstWriteIsNoDamage) {
  store_.reset();
  for (const std::string& path : FilesIn(directory_ / "data/db")) {
    if (path.find("MANIFEST") == std::string::npos) std::filesystem::remove(path);
  }
  EXPECT_THAT(Store::Open(Options()), IsOk());
}

TEST_F(DatabaseDamageTest, AnEndInGoodOrderLeavesNothingToReplay) {
  store_.reset();
  for (const std::string& path : FilesIn(directory_ / "data/db")) {
    if (path.ends_with(".log")) std::filesystem::resize_file(path, 0);
  }
  Reopen();
  ExpectWhole();
}

// Nothing can tell a log that was cut off from one that ends there. The record files can.
TEST_F(DatabaseDamageTest, AKeyThatTheDatabaseLostKeepsItsFirstArtifact) {
  Kill();
  const std::string log = FileOf(".log");
  std::filesystem::resize_file(log, std::filesystem::file_size(log) / 3);
  Reopen();
  ASSERT_GT(CountLost(), 2);
  for (int i = 0; i < kEntries; ++i) {
    const Store::Committed committed = CommitArtifact(*store_, i, absl::StrCat("second ", i));
    EXPECT_FALSE(committed.accepted);
    EXPECT_EQ(committed.entry.ready()->digest, Sha256Of(ArtifactOf(i)));
  }
  ExpectWhole();
}

TEST_F(DatabaseDamageTest, AKeyThatTheDatabaseLostIsRecalledBeforeItIsCompiled) {
  store_.reset();
  std::filesystem::remove_all(directory_ / "data/db");
  Reopen();
  ASSERT_EQ(CountLost(), kEntries);
  const QueuedCompile queued = QueuedFor(0, "graph");
  ASSERT_THAT(store_->Enqueue(queued, StageCompressed(*store_, ContentKind::kGraph, "graph")),
              IsOk());
  for (int i = 0; i < kEntries; ++i) {
    EXPECT_EQ(store_->Recall(KeyOf(i))->ready()->digest, Sha256Of(ArtifactOf(i)));
  }
  EXPECT_TRUE(store_->LoadQueue()->empty());
  ExpectWhole();
  EXPECT_THAT(store_->Recall(KeyOf(kEntries)), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(DatabaseDamageTest, ARecordWhoseArtifactIsDamagedGivesWay) {
  store_.reset();
  std::filesystem::remove_all(directory_ / "data/db");
  FlipByte(ArtifactPath(Sha256Of(ArtifactOf(1))), 2500);
  std::filesystem::resize_file(RecordPath(KeyOf(2)), 20);
  Reopen();
  for (const int i : {1, 2}) {
    EXPECT_THAT(store_->Recall(KeyOf(i)), HasCode(absl::StatusCode::kNotFound));
    EXPECT_TRUE(CommitArtifact(*store_, i, absl::StrCat("second ", i)).accepted);
    EXPECT_EQ(store_->Find(KeyOf(i))->ready()->digest, Sha256Of(absl::StrCat("second ", i)));
  }
}

TEST_F(DatabaseDamageTest, ADamagedBlockOfEntriesCostsAFindItsRowsOnlyAndARecallBringsThemBack) {
  store_.reset();
  FlipFirstBlock(Column::kEntries);
  store_ = Store::Open(Options()).value();
  std::vector<Key> keys;
  for (int i = 0; i < kEntries; ++i) keys.push_back(KeyOf(i));
  const auto found = store_->Find(keys);
  ASSERT_THAT(found, IsOk());
  uint64_t lost = 0;
  for (const auto& entry : *found) lost += !entry.has_value();
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(store_->Count()->damaged, lost);
  for (const Key& key : keys) EXPECT_THAT(store_->Recall(key), IsOk());
  const auto again = store_->Find(keys);
  ASSERT_THAT(again, IsOk());
  for (const auto& entry : *again) EXPECT_TRUE(entry.has_value());
}

// RocksDB opens such a database and finds the damage when somebody reads the block.
class DatabaseBlockDamageTest : public DatabaseDamageTest,
                                public ::testing::WithParamInterface<Column> {
 protected:
  // A row in each column, each in a table.
  void SetUp() override {
    DatabaseDamageTest::SetUp();
    const QueuedCompile queued = QueuedFor(100, "graph");
    ASSERT_THAT(store_->Enqueue(queued, StageCompressed(*store_, ContentKind::kGraph, "graph")),
                IsOk());
    ASSERT_THAT(store_->CommitFailed(FailedEntry(101, now_ + absl::Hours(1)), absl::nullopt),
                IsOk());
    const Key key = KeyOf(0);
    ASSERT_THAT(store_->RecordInBundle("bundle", {&key, 1}), IsOk());
    ASSERT_THAT(store_->RecordNative("2.27", "MODULE_1+2", key), IsOk());
    store_->NoteUse(key);
    ASSERT_THAT(store_->IndexParts(key, absl::nullopt), IsOk());
    Miss miss;
    miss.explanation = "flag --optlevel 1 → 2";
    ASSERT_THAT(store_->RecordMiss(key, miss), IsOk());
    store_.reset();
    FlipFirstBlock(GetParam());
  }
};

TEST_P(DatabaseBlockDamageTest, IsSaidAtAStartThatMeetsItAndReplacedByARebuild) {
  {
    const auto opened = Store::Open(Options());
    const absl::Status started = opened.ok() ? (*opened)->LoadQueue().status() : opened.status();
    const bool met = GetParam() == Column::kDefault || GetParam() == Column::kQueue;
    EXPECT_EQ(started.code(), met ? absl::StatusCode::kDataLoss : absl::StatusCode::kOk) << started;
    if (met) {
      EXPECT_THAT(started, Says(Advice()));
    }
  }
  ExpectRebuilt();
}

INSTANTIATE_TEST_SUITE_P(Columns, DatabaseBlockDamageTest, ::testing::ValuesIn([] {
                           std::vector<Column> columns;
                           for (size_t i = 0; i < static_cast<size_t>(Column::kCount); ++i) {
                             columns.push_back(static_cast<Column>(i));
                           }
                           return columns;
                         }()),
                         [](const auto& test) {
                           return ColumnDescriptors()[static_cast<size_t>(test.param)].name;
                         });

}  // namespace
}  // namespace neffcache
