#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "server/store/database.h"
#include "server/store/directory_lock.h"
#include "server/store/layout.h"
#include "server/store/store.h"

namespace neffcache {

// A store's directories, held by this process, and the database in them, known to belong together:
// a database whose data directory is another one, or is not mounted, would take all artifacts for
// missing.
class StoreDirectory {
 public:
  // Creates what is absent. FAILED_PRECONDITION: somebody else holds them, a newer program wrote
  // them, or they do not belong together. DATA_LOSS: the database is damaged; see Advise().
  static absl::StatusOr<StoreDirectory> Open(const StoreOptions& options);

  // Says after DATA_LOSS of the database which command helps; any other status as it is.
  static absl::Status Advise(const StoreOptions& options, const absl::Status& status);

  const StoreLayout& layout() const { return layout_; }
  Database& database() const { return *database_; }

 private:
  static absl::StatusOr<StoreDirectory> OpenAll(const StoreOptions& options);

  StoreDirectory(StoreLayout layout, absl::optional<DirectoryLock> lock,
                 std::unique_ptr<Database> database)
      : layout_(std::move(layout)), lock_(std::move(lock)), database_(std::move(database)) {}

  StoreLayout layout_;
  absl::optional<DirectoryLock> lock_;  // Before the database, which is closed first.
  std::unique_ptr<Database> database_;
};

}  // namespace neffcache
