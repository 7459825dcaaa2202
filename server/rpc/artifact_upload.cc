#include "server/rpc/artifact_upload.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "server/rpc/from_wire.h"

namespace neffcache {

absl::StatusOr<ArtifactUpload> ArtifactUpload::Start(Store& store, const Artifact& announced,
                                                     uint64_t limit_bytes,
                                                     absl::string_view field) {
  if (announced.size == 0) return absl::InvalidArgumentError("start.artifact.size: 0");
  if (announced.size > limit_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("start.artifact.size: ", announced.size, ", the limit is ", limit_bytes));
  }
  ASSIGN_OR_RETURN(ContentWriter writer, store.Stage(ContentKind::kArtifact));
  return ArtifactUpload(std::move(writer), announced, field);
}

absl::Status ArtifactUpload::Write(absl::string_view piece) {
  RETURN_IF_ERROR(CheckPiece(piece, field_));
  received_ += piece.size();
  if (received_ > announced_.size) {
    return absl::InvalidArgumentError(
        absl::StrCat(field_, ": more than the announced ", announced_.size, " bytes"));
  }
  return writer_.Write(piece);
}

absl::StatusOr<StagedContent> ArtifactUpload::Finish() && {
  if (received_ != announced_.size) {
    return absl::InvalidArgumentError(
        absl::StrCat(field_, ": ", received_, " bytes came, ", announced_.size, " were announced"));
  }
  ASSIGN_OR_RETURN(StagedContent content, std::move(writer_).Finish());
  if (content.digest() != announced_.digest) {
    return absl::InvalidArgumentError(
        absl::StrCat("start.artifact.digest: ", announced_.digest.Hex(),
                     ", but the bytes that came have ", content.digest().Hex()));
  }
  return content;
}

}  // namespace neffcache
