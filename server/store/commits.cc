#include "server/store/commits.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/counters.h"
#include "server/store/entry_codec.h"
#include "server/store/near_index.h"
#include "server/store/row_keys.h"

namespace neffcache {
namespace {

constexpr size_t kPurgeWithCommit = 16;

absl::Status Refuse(const Entry& entry, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("committing ", entry.key.Hex(), ": ", why));
}

absl::Status CheckLog(const Entry& entry, const absl::optional<StagedContent>& log) {
  if (!log.has_value() || log->kind() == ContentKind::kLog) return absl::OkStatus();
  return Refuse(entry, "its log is other content");
}

absl::Status CheckReady(const Entry& entry, const StagedContent& artifact) {
  if (entry.ready() == nullptr) return Refuse(entry, "it has no artifact");
  if (artifact.kind() != ContentKind::kArtifact) return Refuse(entry, "its artifact is none");
  if (artifact.digest() == entry.ready()->digest && artifact.size() == entry.ready()->size) {
    return absl::OkStatus();
  }
  return Refuse(entry, absl::StrCat("artifact ", entry.ready()->digest.Hex(), " of ",
                                    entry.ready()->size, " bytes was announced, ",
                                    artifact.digest().Hex(), " of ", artifact.size(), " came"));
}

}  // namespace

Commits::Commits(Parts parts) : parts_(std::move(parts)) {}

absl::StatusOr<absl::optional<Entry>> Commits::Current(const Key& key) const {
  absl::StatusOr<absl::optional<Entry>> entry = parts_.entries.FindStored(key);
  if (absl::IsDataLoss(entry.status())) return absl::optional<Entry>();
  return entry;
}

absl::Status Commits::KeepLog(Entry& entry, absl::optional<StagedContent> log) {
  if (!log.has_value()) return absl::OkStatus();
  entry.log = log->digest();
  RETURN_IF_ERROR(parts_.files.Keep(*std::move(log)));
  parts_.on_step("log placed");
  return absl::OkStatus();
}

absl::Status Commits::WriteRecord(const Entry& entry, absl::string_view inline_artifact) {
  ASSIGN_OR_RETURN(const std::vector<std::string> bundles, parts_.bundles.Of(entry.key));
  ASSIGN_OR_RETURN(const std::string record, EncodeEntryFile(entry, bundles, inline_artifact));
  return parts_.records.Write(entry.key, record);
}

absl::Status Commits::LeaveQueue(const Key& key, bool ready) {
  const absl::StatusOr<absl::optional<std::string>> queued =
      parts_.database.Get(Column::kQueue, key.bytes());
  // A row that is damaged goes, too.
  if (!queued.ok() && !absl::IsDataLoss(queued.status())) return queued.status();
  if (queued.ok() && !queued->has_value()) return absl::OkStatus();
  Batch batch = parts_.database.NewBatch();
  batch.Delete(Column::kQueue, key.bytes());
  if (!ready) NearIndex::Remove(parts_.database, key, batch);
  return parts_.database.Write(std::move(batch), Durability::kSynced);
}

void Commits::DeleteFailureRow(const absl::optional<Entry>& entry, Batch& batch) {
  if (!entry.has_value() || entry->failed() == nullptr) return;
  batch.Delete(Column::kFailures, FailureRow(entry->failed()->remembered_until, entry->key));
}

absl::StatusOr<absl::optional<Entry>> Commits::CommitReady(Entry& entry, StagedContent artifact,
                                                           absl::optional<StagedContent> log) {
  RETURN_IF_ERROR(CheckReady(entry, artifact));
  RETURN_IF_ERROR(CheckLog(entry, log));
  if (entry.created == absl::UnixEpoch()) entry.created = parts_.clock();
  RETURN_IF_ERROR(EncodeEntry(entry).status());  // Before anything is written.

  const auto turn = parts_.keys.Take(entry.key);
  ASSIGN_OR_RETURN(absl::optional<Entry> current, Current(entry.key));
  if (current.has_value() && current->ready() != nullptr) {
    RETURN_IF_ERROR(LeaveQueue(entry.key, /*ready=*/true));
    return current;
  }
  // The database may have lost the entry; the artifact that was handed out stays the key's.
  ASSIGN_OR_RETURN(absl::optional<Entry> recorded, RecallInTurn(entry.key, current));
  if (recorded.has_value()) return recorded;
  RETURN_IF_ERROR(KeepLog(entry, std::move(log)));
  ASSIGN_OR_RETURN(const std::string row, EncodeEntry(entry));
  Batch batch = parts_.database.NewBatch();
  DeleteFailureRow(current, batch);
  batch.Put(Column::kEntries, entry.key.bytes(), row);
  batch.Delete(Column::kQueue, entry.key.bytes());
  batch.Add(kReadyCounter, 1);
  const std::string inline_bytes(ContentFiles::InlineBytes(artifact));
  ASSIGN_OR_RETURN(const Artifacts::Turn artifact_turn,
                   parts_.artifacts.Place(std::move(artifact), entry.key, batch));
  parts_.on_step("artifact placed");
  RETURN_IF_ERROR(WriteRecord(entry, inline_bytes));
  parts_.on_step("record written");
  RETURN_IF_ERROR(parts_.database.Write(std::move(batch), Durability::kSynced));
  parts_.on_step("committed");
  return absl::optional<Entry>();
}

absl::StatusOr<absl::optional<Entry>> Commits::RecallInTurn(const Key& key,
                                                            const absl::optional<Entry>& current) {
  Batch batch = parts_.database.NewBatch();
  DeleteFailureRow(current, batch);
  return parts_.recorded.Recall(key, std::move(batch));
}

absl::StatusOr<absl::optional<Entry>> Commits::Recall(const Key& key) {
  const auto turn = parts_.keys.Take(key);
  ASSIGN_OR_RETURN(absl::optional<Entry> current, Current(key));
  if (current.has_value() && current->ready() != nullptr) return current;
  return RecallInTurn(key, current);
}

absl::Status Commits::CommitFailed(Entry entry, absl::optional<StagedContent> log) {
  if (entry.failed() == nullptr) return Refuse(entry, "it has no failure");
  RETURN_IF_ERROR(CheckLog(entry, log));
  if (entry.created == absl::UnixEpoch()) entry.created = parts_.clock();
  RETURN_IF_ERROR(EncodeEntry(entry).status());  // Before anything is written.
  {
    const auto turn = parts_.keys.Take(entry.key);
    ASSIGN_OR_RETURN(const absl::optional<Entry> current, Current(entry.key));
    const bool ready = current.has_value() && current->ready() != nullptr;
    if (ready || !parts_.entries.IsRemembered(entry)) return LeaveQueue(entry.key, ready);
    RETURN_IF_ERROR(KeepLog(entry, std::move(log)));
    ASSIGN_OR_RETURN(const std::string row, EncodeEntry(entry));
    Batch batch = parts_.database.NewBatch();
    DeleteFailureRow(current, batch);
    batch.Put(Column::kEntries, entry.key.bytes(), row);
    batch.Put(Column::kFailures, FailureRow(entry.failed()->remembered_until, entry.key), "");
    batch.Delete(Column::kQueue, entry.key.bytes());
    RETURN_IF_ERROR(parts_.database.Write(std::move(batch), Durability::kSynced));
    parts_.on_step("committed");
  }
  // Only housekeeping: what does not go now goes with a later commit.
  PurgeExpired(kPurgeWithCommit).IgnoreError();
  return absl::OkStatus();
}

absl::Status Commits::ForgetFailure(const Key& key) {
  const auto turn = parts_.keys.Take(key);
  ASSIGN_OR_RETURN(const absl::optional<Entry> current, Current(key));
  if (!current.has_value() || current->failed() == nullptr ||
      !parts_.entries.IsRemembered(*current)) {
    return absl::NotFoundError(
        absl::StrCat("forgetting the failure of ", key.Hex(), ": none is remembered"));
  }
  Batch batch = parts_.database.NewBatch();
  DeleteFailureRow(current, batch);
  batch.Delete(Column::kEntries, key.bytes());
  NearIndex::Remove(parts_.database, key, batch);
  return parts_.database.Write(std::move(batch), Durability::kSynced);
}

absl::Status Commits::PurgeExpired(size_t limit) {
  ASSIGN_OR_RETURN(const std::vector<std::string> rows, parts_.entries.ExpiredFailures(limit));
  for (const std::string& row : rows) {
    ASSIGN_OR_RETURN(const Key key, KeyAtEnd(row));
    const auto turn = parts_.keys.Take(key);
    ASSIGN_OR_RETURN(const absl::optional<Entry> current, Current(key));
    Batch batch = parts_.database.NewBatch();
    batch.Delete(Column::kFailures, row);
    if (current.has_value() && !parts_.entries.IsRemembered(*current)) {
      batch.Delete(Column::kEntries, key.bytes());
      NearIndex::Remove(parts_.database, key, batch);
    }
    RETURN_IF_ERROR(parts_.database.Write(std::move(batch), Durability::kBuffered));
  }
  return absl::OkStatus();
}

}  // namespace neffcache
