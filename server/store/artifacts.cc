#include "server/store/artifacts.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/counters.h"
#include "server/store/entry_codec.h"
#include "server/store/near_index.h"
#include "server/store/row_keys.h"

namespace neffcache {
namespace {

// Forgotten entries that wait for TakeQuarantined(); more are compiled when somebody asks.
constexpr size_t kMostQuarantined = 10'000;

absl::Status Damaged(const Digest& digest, absl::string_view why) {
  return absl::DataLossError(absl::StrCat("opening artifact ", digest.Hex(), ": ", why));
}

}  // namespace

Artifacts::Artifacts(Database& database, ContentFiles& files, const RecordFiles& records,
                     ReadyTable& ready, std::function<absl::Time()> clock)
    : database_(database),
      files_(files),
      records_(records),
      ready_(ready),
      clock_(std::move(clock)) {}

absl::StatusOr<absl::optional<ArtifactRow>> Artifacts::FindRow(const Digest& digest) const {
  ASSIGN_OR_RETURN(const absl::optional<std::string> bytes,
                   database_.Get(Column::kArtifacts, digest.bytes()));
  if (!bytes.has_value()) return absl::optional<ArtifactRow>();
  ASSIGN_OR_RETURN(ArtifactRow row, DecodeArtifactRow(*bytes));
  return absl::make_optional(row);
}

absl::StatusOr<Artifacts::Turn> Artifacts::Place(StagedContent artifact, const Key& key,
                                                 Batch& batch) {
  const Digest digest = artifact.digest();
  Turn turn = turns_.Take(digest);
  batch.Put(Column::kReferences, ReferenceRow(digest, key), "");
  ASSIGN_OR_RETURN(const absl::optional<ArtifactRow> present, FindRow(digest));
  const bool known = present.has_value() && !present->damaged;
  if (known && OpenPlaced(digest, *present).ok()) return turn;

  ArtifactRow row;
  row.size = artifact.size();
  row.is_inline = ContentFiles::IsInline(artifact);
  row.stored = clock_();
  PutRows(digest, row, known, batch);
  if (row.is_inline) {
    batch.Put(Column::kInline, digest.bytes(), ContentFiles::InlineBytes(artifact));
  } else {
    RETURN_IF_ERROR(files_.Keep(std::move(artifact)));
  }
  return turn;
}

absl::StatusOr<Artifacts::Turn> Artifacts::Adopt(const Artifact& artifact, const Key& key,
                                                 Batch& batch) {
  Turn turn = turns_.Take(artifact.digest);
  batch.Put(Column::kReferences, ReferenceRow(artifact.digest, key), "");
  ASSIGN_OR_RETURN(const absl::optional<ArtifactRow> present, FindRow(artifact.digest));
  const bool known = present.has_value() && !present->damaged;
  if (known && OpenPlaced(artifact.digest, *present).ok()) return turn;
  ArtifactRow row;
  row.size = artifact.size;
  row.stored = clock_();
  PutRows(artifact.digest, row, known, batch);
  return turn;
}

void Artifacts::PutRows(const Digest& digest, const ArtifactRow& row, bool known,
                        Batch& batch) const {
  batch.Put(Column::kArtifacts, digest.bytes(), EncodeArtifactRow(row));
  if (known) return;
  batch.Add(kArtifactCounter, 1);
  batch.Add(kArtifactBytesCounter, static_cast<int64_t>(row.size));
}

absl::StatusOr<ContentReader> Artifacts::OpenPlaced(const Digest& digest,
                                                    const ArtifactRow& row) const {
  if (row.damaged) return Damaged(digest, "it was found damaged before");
  if (!row.is_inline) {
    absl::StatusOr<ContentReader> reader = files_.OpenArtifact(digest, row.size);
    if (absl::IsNotFound(reader.status())) return Damaged(digest, "its file is missing");
    return reader;
  }
  ASSIGN_OR_RETURN(absl::optional<std::string> bytes,
                   database_.Get(Column::kInline, digest.bytes()));
  if (!bytes.has_value()) return Damaged(digest, "its bytes are missing");
  if (bytes->size() != row.size) return Damaged(digest, "some of its bytes are missing");
  return ContentFiles::FromMemory(*std::move(bytes));
}

absl::StatusOr<ContentReader> Artifacts::OpenChecked(const Digest& digest) const {
  ASSIGN_OR_RETURN(const absl::optional<ArtifactRow> row, FindRow(digest));
  if (row.has_value()) return OpenPlaced(digest, *row);
  return absl::NotFoundError(absl::StrCat("opening artifact ", digest.Hex(), ": there is none"));
}

absl::StatusOr<ContentReader> Artifacts::Open(const Digest& digest) {
  absl::StatusOr<ContentReader> reader = OpenChecked(digest);
  if (!absl::IsDataLoss(reader.status())) return reader;
  // Once more in turn: a commit or a quarantine may have been at work between row and file.
  const Turn turn = turns_.Take(digest);
  reader = OpenChecked(digest);
  // A quarantine that fails is tried again by the next reader, who is refused as this one is.
  if (absl::IsDataLoss(reader.status())) QuarantineInTurn(digest).IgnoreError();
  return reader;
}

absl::Duration Artifacts::CompileTimeOf(const Digest& digest) const {
  std::vector<Key> keys;
  const absl::Status scanned = database_.Scan(Column::kReferences, digest.bytes(),
                                              [&](absl::string_view row, absl::string_view) {
                                                const absl::StatusOr<Key> key = KeyAtEnd(row);
                                                if (key.ok()) keys.push_back(*key);
                                                return keys.empty();
                                              });
  if (!scanned.ok()) return absl::ZeroDuration();
  const std::vector<Entry> entries = EntriesOf(keys);
  return entries.empty() ? absl::ZeroDuration() : entries.front().compile_time;
}

absl::Status Artifacts::Quarantine(const Digest& digest) {
  const Turn turn = turns_.Take(digest);
  return QuarantineInTurn(digest);
}

absl::StatusOr<std::vector<Key>> Artifacts::ReferencesOf(const Digest& digest) const {
  std::vector<Key> keys;
  absl::Status bad_row;
  RETURN_IF_ERROR(database_.Scan(Column::kReferences, digest.bytes(),
                                 [&](absl::string_view row, absl::string_view) {
                                   absl::StatusOr<Key> key = KeyAtEnd(row);
                                   if (key.ok()) keys.push_back(*key);
                                   bad_row.Update(key.status());
                                   return true;
                                 }));
  RETURN_IF_ERROR(bad_row);
  return keys;
}

std::vector<Entry> Artifacts::EntriesOf(const std::vector<Key>& keys) const {
  std::vector<Entry> entries;
  for (const Key& key : keys) {
    const auto row = database_.Get(Column::kEntries, key.bytes());
    if (!row.ok() || !row->has_value()) continue;
    absl::StatusOr<Entry> entry = DecodeEntry(**row);
    if (entry.ok()) entries.push_back(*std::move(entry));
  }
  return entries;
}

std::vector<Entry> Artifacts::TakeQuarantined() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(quarantined_, {});
}

absl::Status Artifacts::QuarantineInTurn(const Digest& digest) {
  ASSIGN_OR_RETURN(absl::optional<ArtifactRow> row, FindRow(digest));
  if (!row.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("quarantining artifact ", digest.Hex(), ": there is none"));
  }
  if (row->damaged) return absl::OkStatus();

  // Its entries cannot change meanwhile: a ready entry gives way to nothing but this, and a new one
  // with this artifact needs its turn.
  ASSIGN_OR_RETURN(const std::vector<Key> keys, ReferencesOf(digest));
  const std::vector<Entry> entries = EntriesOf(keys);
  Batch batch = database_.NewBatch();
  for (const Key& key : keys) {
    // First, for a new record must not be deleted once the entry is gone.
    RETURN_IF_ERROR(records_.Remove(key));
    batch.Delete(Column::kEntries, key.bytes());
    batch.Delete(Column::kReferences, ReferenceRow(digest, key));
    NearIndex::Remove(database_, key, batch);
    batch.Add(kReadyCounter, -1);
  }
  batch.Add(kArtifactCounter, -1);
  batch.Add(kArtifactBytesCounter, -static_cast<int64_t>(row->size));
  batch.Delete(Column::kInline, digest.bytes());
  row->damaged = true;
  batch.Put(Column::kArtifacts, digest.bytes(), EncodeArtifactRow(*row));
  const absl::Status written = database_.Write(std::move(batch), Durability::kSynced);
  // Also when that failed, for nobody knows how far it came: the database is asked again.
  ready_.Forget(keys);
  RETURN_IF_ERROR(written);
  ++damaged_;
  {
    absl::MutexLock lock(&mutex_);
    const size_t room = kMostQuarantined - std::min(kMostQuarantined, quarantined_.size());
    quarantined_.insert(quarantined_.end(), entries.begin(),
                        entries.begin() + static_cast<ptrdiff_t>(std::min(room, entries.size())));
  }
  return row->is_inline ? absl::OkStatus() : files_.RemoveArtifact(digest);
}

}  // namespace neffcache
