#include "server/store/recorded_entries.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/digest.h"
#include "io/status_macros.h"
#include "server/store/counters.h"

namespace neffcache {
namespace {

absl::Status Damaged(const Digest& digest) {
  return absl::DataLossError(
      absl::StrCat("taking up artifact ", digest.Hex(), ": its bytes do not have its digest"));
}

absl::Status CheckDigest(const ContentReader& reader, const Digest& digest) {
  Sha256 hash;
  RETURN_IF_ERROR(reader.ForEachPiece([&hash](absl::string_view piece) {
    hash.Update(piece);
    return absl::OkStatus();
  }));
  return hash.Finish() == digest ? absl::OkStatus() : Damaged(digest);
}

}  // namespace

absl::StatusOr<Artifacts::Turn> RecordedEntries::TakeUpArtifact(const EntryFile& record,
                                                                Batch& batch) {
  const Artifact& artifact = *record.entry.ready();
  const Key& key = record.entry.key;
  if (!record.inline_artifact.has_value()) {
    // Looked at in full: a database that is lost may have been lost with more.
    absl::StatusOr<ContentReader> reader =
        parts_.files.OpenArtifact(artifact.digest, artifact.size);
    if (absl::IsNotFound(reader.status())) return Damaged(artifact.digest);
    RETURN_IF_ERROR(reader.status());
    RETURN_IF_ERROR(CheckDigest(*reader, artifact.digest));
    return parts_.artifacts.Adopt(artifact, key, batch);
  }
  ASSIGN_OR_RETURN(ContentWriter writer, parts_.files.Stage(ContentKind::kArtifact));
  RETURN_IF_ERROR(writer.Write(*record.inline_artifact));
  ASSIGN_OR_RETURN(StagedContent staged, std::move(writer).Finish());
  if (staged.digest() != artifact.digest) return Damaged(artifact.digest);
  return parts_.artifacts.Place(std::move(staged), key, batch);
}

absl::Status RecordedEntries::TakeUp(const EntryFile& record, Batch batch, Durability durability) {
  const Entry& entry = record.entry;
  if (entry.ready() == nullptr) return absl::DataLossError("taking up a record: it is not ready");
  ASSIGN_OR_RETURN(const std::string row, EncodeEntry(entry));
  batch.Put(Column::kEntries, entry.key.bytes(), row);
  batch.Delete(Column::kQueue, entry.key.bytes());
  batch.Add(kReadyCounter, 1);
  {
    ASSIGN_OR_RETURN(const Artifacts::Turn artifact_turn, TakeUpArtifact(record, batch));
    if (!entry.graph.digest.empty()) {
      // A graph that is gone costs its recompilation for another toolchain, not the entry.
      parts_.graphs.Place(entry.material.fingerprint, entry.graph, absl::nullopt, batch)
          .IgnoreError();
    }
    RETURN_IF_ERROR(parts_.database.Write(std::move(batch), durability));
  }
  for (const std::string& bundle : record.bundles) {
    RETURN_IF_ERROR(parts_.bundles.Record(bundle, {&entry.key, 1}));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::optional<Entry>> RecordedEntries::Recall(const Key& key, Batch batch) {
  absl::StatusOr<std::string> file = parts_.records.Read(key);
  if (absl::IsNotFound(file.status())) return absl::optional<Entry>();
  RETURN_IF_ERROR(file.status());
  const absl::StatusOr<EntryFile> record = DecodeEntryFile(*file);
  if (!record.ok() || record->entry.key != key) return absl::optional<Entry>();
  const absl::Status taken = TakeUp(*record, std::move(batch), Durability::kSynced);
  if (absl::IsDataLoss(taken)) return absl::optional<Entry>();
  RETURN_IF_ERROR(taken);
  return absl::make_optional(record->entry);
}

}  // namespace neffcache
