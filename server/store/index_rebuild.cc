#include "server/store/index_rebuild.h"

#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/counters.h"

namespace neffcache {
namespace {

constexpr size_t kReadSize = size_t{1} << 20;

absl::Status Damaged(const Digest& digest) {
  return absl::DataLossError(
      absl::StrCat("taking up artifact ", digest.Hex(), ": its bytes do not have its digest"));
}

absl::Status CheckDigest(const ContentReader& reader, const Digest& digest) {
  Sha256 hash;
  std::vector<char> piece(kReadSize);
  for (uint64_t offset = 0; offset < reader.stored_size(); offset += piece.size()) {
    ASSIGN_OR_RETURN(const size_t size, reader.ReadAt(offset, piece));
    hash.Update({piece.data(), size});
  }
  return hash.Finish() == digest ? absl::OkStatus() : Damaged(digest);
}

}  // namespace

absl::StatusOr<Artifacts::Turn> IndexRebuild::TakeUpArtifact(const EntryFile& file, Batch& batch) {
  const Artifact& artifact = *file.entry.ready();
  const Key& key = file.entry.key;
  if (!file.inline_artifact.has_value()) {
    // Looked at in full: a database that is lost may have been lost with more.
    absl::StatusOr<ContentReader> reader =
        parts_.files.OpenArtifact(artifact.digest, artifact.size);
    if (absl::IsNotFound(reader.status())) return Damaged(artifact.digest);
    RETURN_IF_ERROR(reader.status());
    RETURN_IF_ERROR(CheckDigest(*reader, artifact.digest));
    return parts_.artifacts.Adopt(artifact, key, batch);
  }
  ASSIGN_OR_RETURN(ContentWriter writer, parts_.files.Stage(ContentKind::kArtifact));
  RETURN_IF_ERROR(writer.Write(*file.inline_artifact));
  ASSIGN_OR_RETURN(StagedContent staged, std::move(writer).Finish());
  if (staged.digest() != artifact.digest) return Damaged(artifact.digest);
  return parts_.artifacts.Place(std::move(staged), key, batch);
}

absl::Status IndexRebuild::TakeUp(absl::string_view record) {
  ASSIGN_OR_RETURN(const EntryFile file, DecodeEntryFile(record));
  const Entry& entry = file.entry;
  if (entry.ready() == nullptr) return absl::DataLossError("taking up a record: it is not ready");
  const auto turn = parts_.keys.Take(entry.key);
  ASSIGN_OR_RETURN(const absl::optional<Entry> current, parts_.entries.Find(entry.key));
  if (current.has_value()) {
    ++counts_.known;
    return absl::OkStatus();
  }
  Batch batch = parts_.database.NewBatch();
  ASSIGN_OR_RETURN(const std::string row, EncodeEntry(entry));
  batch.Put(Column::kEntries, entry.key.bytes(), row);
  batch.Add(kReadyCounter, 1);
  ASSIGN_OR_RETURN(const Artifacts::Turn artifact_turn, TakeUpArtifact(file, batch));
  if (!entry.graph.digest.empty()) {
    // A graph that is gone costs its recompilation for another toolchain, not the entry.
    parts_.graphs.Place(entry.material.fingerprint, entry.graph, absl::nullopt, batch)
        .IgnoreError();
  }
  RETURN_IF_ERROR(parts_.database.Write(std::move(batch), Durability::kBuffered));
  for (const std::string& bundle : file.bundles) {
    RETURN_IF_ERROR(parts_.bundles.Record(bundle, {&entry.key, 1}));
  }
  ++counts_.taken_up;
  return absl::OkStatus();
}

absl::StatusOr<RebuildCounts> IndexRebuild::Run() {
  RETURN_IF_ERROR(
      parts_.records.ForEach([this](const std::string&, absl::string_view record) -> absl::Status {
        absl::Status status = TakeUp(record);
        if (!absl::IsDataLoss(status)) return status;
        ++counts_.damaged;
        return absl::OkStatus();
      }));
  // Makes all of the above durable.
  RETURN_IF_ERROR(parts_.database.Write(parts_.database.NewBatch(), Durability::kSynced));
  return counts_;
}

}  // namespace neffcache
