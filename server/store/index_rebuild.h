#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/database.h"
#include "server/store/entries.h"
#include "server/store/record_files.h"
#include "server/store/recorded_entries.h"
#include "server/store/store.h"
#include "server/store/turns.h"

namespace neffcache {

// Makes the rows of entries from their record files; see Store::RebuildIndex.
//
// Used by one thread, beside others that use the store. The parts given to it must outlive it.
class IndexRebuild {
 public:
  struct Parts {
    Database& database;
    const RecordFiles& records;
    const Entries& entries;
    RecordedEntries& recorded;
    Turns<Key>& keys;
  };

  explicit IndexRebuild(Parts parts) : parts_(parts) {}

  absl::StatusOr<RebuildCounts> Run();

 private:
  // DATA_LOSS: the record or its artifact is damaged or missing.
  absl::Status TakeUp(absl::string_view bytes);

  const Parts parts_;
  RebuildCounts counts_;
};

}  // namespace neffcache
