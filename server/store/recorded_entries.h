#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "graph/key.h"
#include "io/file.h"
#include "server/store/artifacts.h"
#include "server/store/bundle_table.h"
#include "server/store/content_files.h"
#include "server/store/database.h"
#include "server/store/entry.h"
#include "server/store/entry_codec.h"
#include "server/store/kept_graphs.h"
#include "server/store/record_files.h"

namespace neffcache {

// Takes entries up from their record files: those that the database has lost, or never got because
// of a crash. A record file is written only when its artifact is stored, and deleted before its
// artifact is given up; so the artifact of a record is the one that the key has had all along.
//
// Thread-safe. The parts given to it must outlive it.
class RecordedEntries {
 public:
  struct Parts {
    Database& database;
    const ContentFiles& files;
    const RecordFiles& records;
    const KeptGraphs& graphs;
    Artifacts& artifacts;
    BundleTable& bundles;
  };

  explicit RecordedEntries(Parts parts) : parts_(parts) {}

  // Writes the rows of the record's entry, together with `batch`, after a check of all bytes of its
  // artifact. The key's turn must be held, and the key have no ready entry. DATA_LOSS: the record
  // or its artifact is damaged or missing.
  absl::Status TakeUp(const EntryFile& record, Batch batch, Durability durability);

  // The same for the key's own record; nothing when there is none that is whole.
  absl::StatusOr<absl::optional<Entry>> Recall(const Key& key, Batch batch);

 private:
  absl::StatusOr<Artifacts::Turn> TakeUpArtifact(const EntryFile& record, Batch& batch);

  const Parts parts_;
};

}  // namespace neffcache
