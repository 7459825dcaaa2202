#include "server/store/store_directory.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/layout_version.h"

namespace neffcache {
namespace {

constexpr absl::string_view kFormatRow = "format";
constexpr absl::string_view kStoreIdRow = "store_id";

absl::Status CheckFormat(const Database& database, const std::string& db_dir) {
  ASSIGN_OR_RETURN(const absl::optional<std::string> format,
                   database.Get(Column::kDefault, kFormatRow));
  if (!format.has_value()) return absl::OkStatus();  // New.
  uint32_t version;
  if (!absl::SimpleAtoi(*format, &version)) {
    return absl::DataLossError(
        absl::StrCat("opening database ", db_dir, ": its layout version is unreadable"));
  }
  return CheckLayoutVersion(version, db_dir);
}

// Where the file system has no locks, a database elsewhere brings its own.
absl::StatusOr<absl::optional<DirectoryLock>> Lock(const std::string& data_dir,
                                                   bool database_elsewhere) {
  absl::StatusOr<DirectoryLock> lock = DirectoryLock::Acquire(data_dir);
  if (absl::IsUnimplemented(lock.status()) && database_elsewhere) {
    return absl::optional<DirectoryLock>();
  }
  if (absl::IsUnimplemented(lock.status())) {
    return absl::FailedPreconditionError(lock.status().message());
  }
  if (!lock.ok()) return std::move(lock).status();
  return absl::make_optional(*std::move(lock));
}

absl::StatusOr<std::unique_ptr<Database>> OpenChecked(const std::string& directory,
                                                      const StoreOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Database> database,
                   Database::Open(directory, options.database_log));
  RETURN_IF_ERROR(CheckFormat(*database, directory));
  // A start reads few blocks; who asks for a rebuild wants to know of all.
  if (options.replace_damaged_database) RETURN_IF_ERROR(database->Verify());
  return database;
}

absl::StatusOr<std::unique_ptr<Database>> OpenDatabase(const std::string& directory,
                                                       const StoreOptions& options) {
  absl::StatusOr<std::unique_ptr<Database>> database = OpenChecked(directory, options);
  if (!absl::IsDataLoss(database.status())) return database;
  if (!options.replace_damaged_database) return database;
  ASSIGN_OR_RETURN(const std::string aside, Database::PutAside(directory, options.clock()));
  if (options.database_log) {
    options.database_log(absl::StrCat("database ", directory, " was damaged (",
                                      database.status().message(), "); its files are in ", aside));
  }
  return OpenChecked(directory, options);
}

}  // namespace

absl::Status StoreDirectory::Advise(const StoreOptions& options, const absl::Status& status) {
  if (!absl::IsDataLoss(status)) return status;
  return absl::DataLossError(absl::StrCat(
      status.message(), "; to make a new database from the record files, run neffcached ",
      "--rebuild-index --data-dir ", options.data_dir,
      options.db_dir.empty() ? "" : absl::StrCat(" --db-dir ", options.db_dir)));
}

absl::StatusOr<StoreDirectory> StoreDirectory::Open(const StoreOptions& options) {
  absl::StatusOr<StoreDirectory> opened = OpenAll(options);
  if (!opened.ok()) return Advise(options, opened.status());
  return opened;
}

absl::StatusOr<StoreDirectory> StoreDirectory::OpenAll(const StoreOptions& options) {
  const std::string& data_dir = options.data_dir;
  if (data_dir.empty()) return absl::InvalidArgumentError("opening a store: no data directory");
  StoreLayout layout(data_dir, options.db_dir);
  RETURN_IF_ERROR(CreateDirectories(data_dir));
  ASSIGN_OR_RETURN(absl::optional<DirectoryLock> lock, Lock(data_dir, !options.db_dir.empty()));
  ASSIGN_OR_RETURN(const std::string id_before, layout.ReadId());
  RETURN_IF_ERROR(CreateDirectories(layout.db_dir()));
  ASSIGN_OR_RETURN(std::unique_ptr<Database> database, OpenDatabase(layout.db_dir(), options));

  ASSIGN_OR_RETURN(const absl::optional<std::string> database_id,
                   database->Get(Column::kDefault, kStoreIdRow));
  if (database_id.has_value() && *database_id != id_before) {
    return absl::FailedPreconditionError(
        absl::StrCat("opening store ", data_dir, ": database ", layout.db_dir(),
                     " belongs to store ", *database_id, ", ",
                     id_before.empty() ? "and no store is here; is its file system mounted?"
                                       : absl::StrCat("here is store ", id_before)));
  }
  ASSIGN_OR_RETURN(const std::string id, layout.Prepare());
  if (!database_id.has_value()) {
    Batch batch = database->NewBatch();
    batch.Put(Column::kDefault, kFormatRow, absl::StrCat(kLayoutVersion));
    batch.Put(Column::kDefault, kStoreIdRow, id);
    RETURN_IF_ERROR(database->Write(std::move(batch), Durability::kSynced));
  }
  return StoreDirectory(std::move(layout), std::move(lock), std::move(database));
}

}  // namespace neffcache
