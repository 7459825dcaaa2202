#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/store.h"

namespace neffcache {

// Takes the pieces of an artifact into the store's staging and checks them against the name under
// which it was announced. Dropped unfinished, it leaves nothing. Blocks on the disk.
class ArtifactUpload {
 public:
  // INVALID_ARGUMENT: larger than `limit_bytes`. RESOURCE_EXHAUSTED: the disk is full. `field` is
  // the pieces' field, for messages.
  static absl::StatusOr<ArtifactUpload> Start(Store& store, const Artifact& announced,
                                              uint64_t limit_bytes, absl::string_view field);

  // INVALID_ARGUMENT: an empty or oversize piece, or more bytes than announced.
  absl::Status Write(absl::string_view piece);
  // INVALID_ARGUMENT: size or digest differ from what was announced.
  absl::StatusOr<StagedContent> Finish() &&;

 private:
  ArtifactUpload(ContentWriter writer, const Artifact& announced, absl::string_view field)
      : writer_(std::move(writer)), announced_(announced), field_(field) {}

  ContentWriter writer_;
  Artifact announced_;
  std::string field_;
  uint64_t received_ = 0;
};

}  // namespace neffcache
