#include "server/store/database.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "server/store/counter_merge.h"
#include "server/store/database_options.h"

namespace neffcache {
namespace {

constexpr uint64_t kRoomToResume = uint64_t{8} << 20;

rocksdb::Slice ToSlice(absl::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

absl::string_view ToView(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

absl::StatusCode CodeOf(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return absl::StatusCode::kResourceExhausted;
  if (status.IsCorruption()) return absl::StatusCode::kDataLoss;
  if (status.IsInvalidArgument() || status.IsNotSupported()) return absl::StatusCode::kInternal;
  return absl::StatusCode::kUnavailable;
}

// A column family that this program does not know makes RocksDB refuse with words that help nobody.
absl::Status CheckColumns(const std::string& directory, const rocksdb::DBOptions& options,
                          const std::vector<rocksdb::ColumnFamilyDescriptor>& known) {
  std::vector<std::string> present;
  if (!rocksdb::DB::ListColumnFamilies(options, directory, &present).ok()) {
    return absl::OkStatus();  // There is none yet; or opening says what is wrong.
  }
  for (const std::string& name : present) {
    if (std::none_of(known.begin(), known.end(),
                     [&name](const auto& column) { return column.name == name; })) {
      return absl::FailedPreconditionError(
          absl::StrCat("opening database ", directory, ": column family \"", name,
                       "\" is unknown; a newer neffcached wrote it, start that one"));
    }
  }
  return absl::OkStatus();
}

// Without CURRENT, which names the list of its files, RocksDB would begin anew and delete the rest.
absl::Status CheckCurrent(const std::string& directory) {
  if (std::filesystem::exists(directory + "/CURRENT")) return absl::OkStatus();
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(directory, error)) {
    const std::string extension = item.path().extension().string();
    if (extension != ".sst" && extension != ".log") continue;
    return absl::DataLossError(absl::StrCat("opening database ", directory,
                                            ": it is damaged: its file CURRENT is missing"));
  }
  return absl::OkStatus();
}

// Of what opening says; files that are missing have a code of their own.
bool IsDamage(const rocksdb::Status& opened) {
  return opened.IsCorruption() || opened.IsPathNotFound() ||
         absl::StrContains(opened.ToString(), "No such file");
}

}  // namespace

Batch::Batch(const Handles& columns)
    : columns_(columns), changes_(std::make_unique<rocksdb::WriteBatch>()) {}
Batch::Batch(Batch&&) noexcept = default;
Batch::~Batch() = default;

// WriteBatch fails only for a value of 4 GiB and more, which no caller has.
void Batch::Put(Column column, absl::string_view key, absl::string_view value) {
  changes_->Put(columns_[static_cast<size_t>(column)], ToSlice(key), ToSlice(value))
      .PermitUncheckedError();
}

void Batch::Delete(Column column, absl::string_view key) {
  changes_->Delete(columns_[static_cast<size_t>(column)], ToSlice(key)).PermitUncheckedError();
}

void Batch::Add(absl::string_view counter, int64_t delta) {
  changes_
      ->Merge(columns_[static_cast<size_t>(Column::kDefault)], ToSlice(counter),
              EncodeCounter(delta))
      .PermitUncheckedError();
}

Database::Database(std::string directory)
    : directory_(std::move(directory)), room_to_resume_(directory_, directory_, kRoomToResume) {}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(
    const std::string& directory, std::function<void(absl::string_view)> log) {
  const std::vector<rocksdb::ColumnFamilyDescriptor> columns = ColumnDescriptors();
  const rocksdb::DBOptions options = DatabaseOptions(std::move(log));
  RETURN_IF_ERROR(CheckCurrent(directory));
  RETURN_IF_ERROR(CheckColumns(directory, options, columns));
  auto database = std::unique_ptr<Database>(new Database(directory));
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const rocksdb::Status opened = rocksdb::DB::Open(options, directory, columns, &handles, &db);
  if (!opened.ok()) {
    // RocksDB has no code for its lock.
    if (absl::StrContains(opened.ToString(), "lock")) {
      return absl::FailedPreconditionError(
          absl::StrCat("opening database ", directory, ": it is in use (", opened.ToString(), ")"));
    }
    if (IsDamage(opened)) {
      return absl::DataLossError(
          absl::StrCat("opening database ", directory, ": it is damaged: ", opened.ToString()));
    }
    return database->Describe(opened, "opening");
  }
  database->db_.reset(db);
  std::copy(handles.begin(), handles.end(), database->columns_.begin());
  return database;
}

Database::~Database() {
  if (db_ == nullptr) return;
  // What was acknowledged is in the write-ahead log; an error here loses nothing.
  db_->Flush(rocksdb::FlushOptions(), {columns_.begin(), columns_.end()}).PermitUncheckedError();
  for (rocksdb::ColumnFamilyHandle* column : columns_) {
    db_->DestroyColumnFamilyHandle(column).PermitUncheckedError();
  }
  db_->Close().PermitUncheckedError();
}

absl::StatusOr<std::string> Database::PutAside(const std::string& directory, absl::Time now) {
  const std::string aside = absl::StrCat(directory, "/damaged-", absl::ToUnixSeconds(now));
  RETURN_IF_ERROR(CreateDirectories(aside));
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& item : std::filesystem::directory_iterator(directory, error)) {
    if (item.is_regular_file()) files.push_back(item.path());
  }
  for (const std::filesystem::path& file : files) {
    if (!error)
      std::filesystem::rename(file, std::filesystem::path(aside) / file.filename(), error);
  }
  if (!error) return aside;
  return absl::ErrnoToStatus(error.value(), absl::StrCat("moving database ", directory, " aside"));
}

rocksdb::ColumnFamilyHandle* Database::Handle(Column column) const {
  return columns_[static_cast<size_t>(column)];
}

absl::Status Database::Describe(const rocksdb::Status& status, absl::string_view doing) const {
  return absl::Status(CodeOf(status),
                      absl::StrCat(doing, " database ", directory_, ": ", status.ToString()));
}

absl::StatusOr<absl::optional<std::string>> Database::Get(Column column,
                                                          absl::string_view key) const {
  std::string value;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), Handle(column), ToSlice(key), &value);
  if (status.IsNotFound()) return absl::optional<std::string>();
  if (!status.ok()) return Describe(status, "reading");
  return absl::make_optional(std::move(value));
}

absl::Status Database::MultiGet(Column column, absl::Span<const absl::string_view> keys,
                                absl::FunctionRef<void(size_t, absl::string_view)> found) const {
  std::vector<rocksdb::Slice> slices;
  slices.reserve(keys.size());
  for (absl::string_view key : keys) slices.push_back(ToSlice(key));
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  db_->MultiGet(rocksdb::ReadOptions(), Handle(column), keys.size(), slices.data(), values.data(),
                statuses.data());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (statuses[i].IsNotFound()) continue;
    if (statuses[i].IsCorruption()) {
      ++damaged_;
      continue;
    }
    if (!statuses[i].ok()) return Describe(statuses[i], "reading");
    found(i, ToView(values[i]));
  }
  return absl::OkStatus();
}

absl::Status Database::Scan(
    Column column, absl::string_view prefix, absl::string_view start,
    absl::FunctionRef<bool(absl::string_view, absl::string_view)> visit) const {
  const std::unique_ptr<rocksdb::Iterator> rows(
      db_->NewIterator(rocksdb::ReadOptions(), Handle(column)));
  for (rows->Seek(ToSlice(start)); rows->Valid(); rows->Next()) {
    if (!absl::StartsWith(ToView(rows->key()), prefix)) break;
    if (!visit(ToView(rows->key()), ToView(rows->value()))) break;
  }
  if (!rows->status().ok()) return Describe(rows->status(), "reading");
  return absl::OkStatus();
}

absl::Status Database::Verify() const {
  const rocksdb::Status verified = db_->VerifyChecksum();
  return verified.ok() ? absl::OkStatus() : Describe(verified, "verifying");
}

absl::StatusOr<int64_t> Database::Counter(absl::string_view name) const {
  ASSIGN_OR_RETURN(const absl::optional<std::string> value, Get(Column::kDefault, name));
  return value.has_value() ? DecodeCounter(*value) : 0;
}

Batch Database::NewBatch() const {
  return Batch(columns_);
}

absl::Status Database::Write(Batch batch, Durability durability) {
  rocksdb::WriteOptions options;
  options.sync = durability == Durability::kSynced;
  rocksdb::Status status = db_->Write(options, batch.changes_.get());
  // A failed write, on a full disk for instance, leaves RocksDB read-only until somebody resumes
  // it, which it does by writing: not before there is room.
  if (!status.ok() && room_to_resume_.Check().ok() && db_->Resume().ok()) {
    status = db_->Write(options, batch.changes_.get());
  }
  if (!status.ok()) return Describe(status, "writing");
  return absl::OkStatus();
}

}  // namespace neffcache
