#include "server/rpc/graph_upload.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "server/rpc/from_wire.h"
#include "transport/limits.h"

namespace neffcache {

absl::StatusOr<GraphUpload> GraphUpload::Start(Store& store, uint64_t limit_bytes) {
  ASSIGN_OR_RETURN(ContentWriter writer, store.Stage(ContentKind::kGraph));
  writer.SetLimit(limit_bytes);
  // zstd adds less than 1 % to what it cannot compress; a stream of empty blocks has no such bound.
  return GraphUpload(std::move(writer), limit_bytes + limit_bytes / 100 + kPieceSize);
}

absl::Status GraphUpload::Write(absl::string_view piece) {
  RETURN_IF_ERROR(CheckPiece(piece, "graph.data"));
  if (piece.size() > compressed_left_) {
    return absl::ResourceExhaustedError("graph.data: the compressed graph exceeds the limit");
  }
  compressed_left_ -= piece.size();
  return UploadError(writer_.Write(piece), "graph.data");
}

absl::StatusOr<StagedContent> GraphUpload::Finish(const v1::GraphEnd& end) && {
  ASSIGN_OR_RETURN(const Digest digest, DigestFromWire(end.digest(), "graph_end.digest"));
  absl::StatusOr<StagedContent> graph = std::move(writer_).Finish();
  if (!graph.ok()) return UploadError(graph.status(), "graph.data");
  if (graph->size() != end.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph_end.size: ", end.size(), ", but ", graph->size(), " bytes came"));
  }
  if (graph->digest() != digest) {
    return absl::InvalidArgumentError(absl::StrCat("graph_end.digest: ", digest.Hex(),
                                                   ", but the bytes that came have ",
                                                   graph->digest().Hex()));
  }
  return graph;
}

}  // namespace neffcache
