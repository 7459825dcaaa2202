#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "graph/key.h"
#include "io/digest.h"
#include "server/store/content.h"
#include "server/store/content_files.h"
#include "server/store/database.h"
#include "server/store/entry.h"
#include "server/store/ready_table.h"
#include "server/store/record_files.h"
#include "server/store/row_codec.h"
#include "server/store/turns.h"

namespace neffcache {

// Where artifacts are and which entries point to them; damaged ones are quarantined here.
//
// Thread-safe. The parts given to it must outlive it.
class Artifacts {
 public:
  using Turn = Turns<Digest>::Turn;

  Artifacts(Database& database, ContentFiles& files, const RecordFiles& records, ReadyTable& ready,
            std::function<absl::Time()> clock);

  // Puts the artifact where it is kept and adds the rows of it and of its reference by `key` to
  // `batch`. An artifact that is there, whole as far as one sees, is not written again. The turn
  // must be held until the batch is written.
  absl::StatusOr<Turn> Place(StagedContent artifact, const Key& key, Batch& batch);

  // The same for a file that is there, which the caller has checked.
  absl::StatusOr<Turn> Adopt(const Artifact& artifact, const Key& key, Batch& batch);

  // See Store::OpenContent.
  absl::StatusOr<ContentReader> Open(const Digest& digest);
  // See Store::CompileTimeOf.
  absl::Duration CompileTimeOf(const Digest& digest) const;
  // See Store::Quarantine.
  absl::Status Quarantine(const Digest& digest);
  // See Store::TakeQuarantined.
  std::vector<Entry> TakeQuarantined() ABSL_LOCKS_EXCLUDED(mutex_);
  // Found since this was made.
  uint64_t damaged() const { return damaged_; }

 private:
  // Adds an artifact's rows; `known` is counted already.
  void PutRows(const Digest& digest, const ArtifactRow& row, bool known, Batch& batch) const;
  absl::StatusOr<absl::optional<ArtifactRow>> FindRow(const Digest& digest) const;
  absl::StatusOr<ContentReader> OpenPlaced(const Digest& digest, const ArtifactRow& row) const;
  absl::StatusOr<ContentReader> OpenChecked(const Digest& digest) const;
  // With the artifact's turn held.
  absl::Status QuarantineInTurn(const Digest& digest);
  absl::StatusOr<std::vector<Key>> ReferencesOf(const Digest& digest) const;
  // Those that can be read.
  std::vector<Entry> EntriesOf(const std::vector<Key>& keys) const;

  Database& database_;
  ContentFiles& files_;
  const RecordFiles& records_;
  ReadyTable& ready_;
  const std::function<absl::Time()> clock_;
  Turns<Digest> turns_;
  std::atomic<uint64_t> damaged_ = 0;
  absl::Mutex mutex_;
  std::vector<Entry> quarantined_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace neffcache
