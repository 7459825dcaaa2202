#include "server/store/kept_graphs.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "io/zstd.h"
#include "server/store/row_codec.h"
#include "server/store/row_keys.h"

namespace neffcache {
namespace {}  // namespace

KeptGraphs::KeptGraphs(Database& database, ContentFiles& files)
    : database_(database), files_(files) {}

absl::Status KeptGraphs::Place(const Fingerprint& fingerprint, const GraphRecord& graph,
                               absl::optional<StagedContent> content, Batch& batch) const {
  const auto describe = [&graph](absl::string_view why) {
    return absl::StrCat("keeping graph ", graph.digest.Hex(), ": ", why);
  };
  const auto turn = digests_.Take(graph.digest);
  if (content.has_value()) {
    if (content->kind() != ContentKind::kGraph || content->digest() != graph.digest ||
        content->size() != graph.size) {
      return absl::InvalidArgumentError(describe("other content came for it"));
    }
    RETURN_IF_ERROR(files_.Keep(*std::move(content)));
  } else {
    const absl::Status kept = files_.OpenCompressed(graph.digest).status();
    if (absl::IsNotFound(kept)) return absl::FailedPreconditionError(describe("it is not kept"));
    RETURN_IF_ERROR(kept);
  }
  batch.Put(Column::kGraphs, GraphRow(fingerprint), EncodeGraphRecord(graph));
  return absl::OkStatus();
}

absl::StatusOr<GraphRecord> KeptGraphs::Find(const Fingerprint& fingerprint) const {
  ASSIGN_OR_RETURN(const absl::optional<std::string> row,
                   database_.Get(Column::kGraphs, GraphRow(fingerprint)));
  if (!row.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("finding a graph with ", ToString(fingerprint), ": none is kept"));
  }
  ASSIGN_OR_RETURN(GraphRecord graph, DecodeGraphRecord(*row));
  // NOT_FOUND too when only the row is left: the caller then asks a client for the graph.
  RETURN_IF_ERROR(files_.OpenCompressed(graph.digest).status());
  return graph;
}

absl::Status KeptGraphs::Check(const GraphRecord& graph) const {
  const auto damaged = [&graph](absl::string_view why) {
    return absl::DataLossError(absl::StrCat("checking graph ", graph.digest.Hex(), ": ", why));
  };
  ASSIGN_OR_RETURN(const ContentReader reader, files_.OpenCompressed(graph.digest));
  // More than the graph's own bytes would not be that graph.
  ZstdDecompressor decompressor(graph.size);
  Sha256 hash;
  const auto digest = [&hash](absl::string_view bytes) {
    hash.Update(bytes);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(reader.ForEachPiece([&](absl::string_view piece) {
    const absl::Status unfolded = decompressor.Write(piece, digest);
    return unfolded.ok() ? unfolded : damaged(unfolded.message());
  }));
  if (const absl::Status ended = decompressor.Finish(); !ended.ok()) {
    return damaged(ended.message());
  }
  if (hash.Finish() == graph.digest) return absl::OkStatus();
  return damaged("its bytes do not have its digest");
}

absl::Status KeptGraphs::Forget(const Digest& digest) {
  const auto turn = digests_.Take(digest);
  Batch batch = database_.NewBatch();
  absl::optional<GraphRecord> graph;
  RETURN_IF_ERROR(
      database_.Scan(Column::kGraphs, "", [&](absl::string_view row, absl::string_view value) {
        absl::StatusOr<GraphRecord> record = DecodeGraphRecord(value);
        if (!record.ok() || record->digest != digest) return true;
        batch.Delete(Column::kGraphs, row);
        graph = *std::move(record);
        return true;
      }));
  // Sent anew since the caller found it damaged.
  if (graph.has_value() && Check(*graph).ok()) return absl::OkStatus();
  // Buffered: a row that comes back without its file is not found.
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kBuffered));
  if (graph.has_value()) ++damaged_;
  return files_.RemoveCompressed(digest);
}

}  // namespace neffcache
