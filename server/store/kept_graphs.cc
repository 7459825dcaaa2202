#include "server/store/kept_graphs.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "server/store/row_codec.h"
#include "server/store/row_keys.h"

namespace neffcache {

KeptGraphs::KeptGraphs(const Database& database, ContentFiles& files)
    : database_(database), files_(files) {}

absl::Status KeptGraphs::Place(const Fingerprint& fingerprint, const GraphRecord& graph,
                               absl::optional<StagedContent> content, Batch& batch) const {
  const auto describe = [&graph](absl::string_view why) {
    return absl::StrCat("keeping graph ", graph.digest.Hex(), ": ", why);
  };
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

}  // namespace neffcache
