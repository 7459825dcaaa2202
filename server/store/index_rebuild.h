#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/artifacts.h"
#include "server/store/bundle_table.h"
#include "server/store/content_files.h"
#include "server/store/database.h"
#include "server/store/entries.h"
#include "server/store/entry_codec.h"
#include "server/store/kept_graphs.h"
#include "server/store/record_files.h"
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
    const ContentFiles& files;
    const RecordFiles& records;
    const Entries& entries;
    const KeptGraphs& graphs;
    Artifacts& artifacts;
    BundleTable& bundles;
    Turns<Key>& keys;
  };

  explicit IndexRebuild(Parts parts) : parts_(parts) {}

  absl::StatusOr<RebuildCounts> Run();

 private:
  // DATA_LOSS: the record or its artifact is damaged or missing.
  absl::Status TakeUp(absl::string_view record);
  absl::StatusOr<Artifacts::Turn> TakeUpArtifact(const EntryFile& file, Batch& batch);

  const Parts parts_;
  RebuildCounts counts_;
};

}  // namespace neffcache
