#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "graph/key.h"
#include "server/store/artifacts.h"
#include "server/store/bundle_table.h"
#include "server/store/content.h"
#include "server/store/content_files.h"
#include "server/store/database.h"
#include "server/store/entries.h"
#include "server/store/entry.h"
#include "server/store/record_files.h"
#include "server/store/recorded_entries.h"
#include "server/store/turns.h"

namespace neffcache {

// Changes entries, one at a time for each key; see the Store's functions of the same names. The
// order of a commit's steps, and what a crash between two of them leaves, is in
// docs/formats/store.md.
//
// Thread-safe. The parts given to it must outlive it.
class Commits {
 public:
  struct Parts {
    Database& database;
    ContentFiles& files;
    RecordFiles& records;
    const Entries& entries;
    const BundleTable& bundles;
    Artifacts& artifacts;
    RecordedEntries& recorded;
    Turns<Key>& keys;
    std::function<absl::Time()> clock;
    std::function<void(absl::string_view)> on_step;
  };

  explicit Commits(Parts parts);

  // The entry that the key holds when that is not the one given, else empty.
  absl::StatusOr<absl::optional<Entry>> CommitReady(Entry& entry, StagedContent artifact,
                                                    absl::optional<StagedContent> log);
  absl::StatusOr<absl::optional<Entry>> Recall(const Key& key);
  absl::Status CommitFailed(Entry entry, absl::optional<StagedContent> log);
  absl::Status ForgetFailure(const Key& key);
  // Deletes some failures that are no longer remembered, so that they do not pile up.
  absl::Status PurgeExpired(size_t limit);

 private:
  // What the key holds, expired or not; nothing when that cannot be decoded, for then it is as good
  // as lost and gives way.
  absl::StatusOr<absl::optional<Entry>> Current(const Key& key) const;
  // With the key's turn held: its record's entry, whose rows are written; nothing without a record.
  absl::StatusOr<absl::optional<Entry>> RecallInTurn(const Key& key,
                                                     const absl::optional<Entry>& current);
  absl::Status KeepLog(Entry& entry, absl::optional<StagedContent> log);
  absl::Status WriteRecord(const Entry& entry, absl::string_view inline_artifact);
  // `ready`: the key has an artifact.
  absl::Status LeaveQueue(const Key& key, bool ready);
  static void DeleteFailureRow(const absl::optional<Entry>& entry, Batch& batch);

  const Parts parts_;
};

}  // namespace neffcache
