#include "server/store/database.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/db.h"
#include "server/store/database_log.h"
#include "server/store/database_options.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

class DatabaseTest : public ::testing::Test {
 protected:
  void Open() {
    database_.reset();
    auto database = Database::Open(directory_.path(), nullptr);
    ASSERT_THAT(database, IsOk());
    database_ = *std::move(database);
  }

  std::vector<std::string> Rows(absl::string_view prefix, absl::string_view start) {
    std::vector<std::string> rows;
    EXPECT_THAT(database_->Scan(Column::kNative, prefix, start,
                                [&rows](absl::string_view key, absl::string_view) {
                                  rows.emplace_back(key);
                                  return true;
                                }),
                IsOk());
    return rows;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Database> database_;
};

TEST_F(DatabaseTest, BatchChangesAllOfItsColumns) {
  Open();
  Batch batch = database_->NewBatch();
  batch.Put(Column::kEntries, "key", "value");
  batch.Put(Column::kQueue, "key", "queued");
  batch.Delete(Column::kQueue, "key");
  batch.Add("count", 5);
  batch.Add("count", -2);
  EXPECT_FALSE(database_->Get(Column::kEntries, "key")->has_value());
  ASSERT_THAT(database_->Write(std::move(batch), Durability::kSynced), IsOk());
  Open();
  EXPECT_EQ(**database_->Get(Column::kEntries, "key"), "value");
  EXPECT_FALSE(database_->Get(Column::kQueue, "key")->has_value());
  EXPECT_FALSE(database_->Get(Column::kArtifacts, "key")->has_value());
  EXPECT_EQ(*database_->Counter("count"), 3);
  EXPECT_EQ(*database_->Counter("never added to"), 0);
}

TEST_F(DatabaseTest, ScanStaysWithinItsPrefix) {
  Open();
  Batch batch = database_->NewBatch();
  for (const char* key : {"a", "b", "ba", "bb", "bc", "c"}) batch.Put(Column::kNative, key, "");
  ASSERT_THAT(database_->Write(std::move(batch), Durability::kBuffered), IsOk());
  EXPECT_EQ(Rows("b", "b"), (std::vector<std::string>{"b", "ba", "bb", "bc"}));
  EXPECT_EQ(Rows("b", "bb"), (std::vector<std::string>{"bb", "bc"}));
  EXPECT_EQ(Rows("", "").size(), 6u);
  EXPECT_TRUE(Rows("bd", "bd").empty());
}

TEST_F(DatabaseTest, DatabaseOfANewerProgramIsRefused) {
  Open();
  database_.reset();
  rocksdb::DB* opened = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> columns;
  ASSERT_TRUE(rocksdb::DB::Open(DatabaseOptions(nullptr), directory_.path(), ColumnDescriptors(),
                                &columns, &opened)
                  .ok());
  std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::ColumnFamilyHandle* future = nullptr;
  ASSERT_TRUE(db->CreateColumnFamily({}, "of the future", &future).ok());
  columns.push_back(future);
  for (rocksdb::ColumnFamilyHandle* column : columns) db->DestroyColumnFamilyHandle(column);
  db.reset();
  const auto refused = Database::Open(directory_.path(), nullptr);
  EXPECT_THAT(refused, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(refused, Says("of the future"));
}

TEST_F(DatabaseTest, OpenDatabaseIsRefused) {
  Open();
  EXPECT_THAT(Database::Open(directory_.path(), nullptr),
              HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST(DatabaseLogTest, LinesArePassedOnAndLongOnesCut) {
  std::vector<std::string> lines;
  DatabaseLog log([&lines](absl::string_view line) { lines.emplace_back(line); });
  rocksdb::Warn(&log, "%s is %d", "answer", 42);
  rocksdb::Info(&log, "not a warning");
  rocksdb::Warn(&log, "%s", std::string(10'000, 'x').c_str());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], testing::HasSubstr("answer is 42"));
  EXPECT_EQ(lines[1].size(), 2047u);
}

}  // namespace
}  // namespace neffcache
