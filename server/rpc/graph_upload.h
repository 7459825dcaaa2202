#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "neffcache/v1/cache.pb.h"
#include "server/store/store.h"

namespace neffcache {

// Takes the graph of a Compile stream into the store's staging, piece by piece, and checks it
// against what the client says it sent. Dropped unfinished, it leaves nothing. Blocks on the disk.
class GraphUpload {
 public:
  // RESOURCE_EXHAUSTED: the disk is full.
  static absl::StatusOr<GraphUpload> Start(Store& store, uint64_t limit_bytes);

  // INVALID_ARGUMENT: an empty or oversize piece, or not a zstd stream. RESOURCE_EXHAUSTED.
  absl::Status Write(absl::string_view piece);
  // INVALID_ARGUMENT: size or digest differ.
  absl::StatusOr<StagedContent> Finish(const v1::GraphEnd& end) &&;

 private:
  GraphUpload(ContentWriter writer, uint64_t compressed_limit)
      : writer_(std::move(writer)), compressed_left_(compressed_limit) {}

  ContentWriter writer_;
  uint64_t compressed_left_;
};

}  // namespace neffcache
