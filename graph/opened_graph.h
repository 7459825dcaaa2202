#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/fingerprint.h"

namespace neffcache {

// A graph out of whatever it came in: gzip, zstd, a pack of graph and kernel files. Neither copied
// nor moved, for `bytes` may be a view of `storage`.
struct OpenedGraph {
  OpenedGraph() = default;
  OpenedGraph(const OpenedGraph&) = delete;
  OpenedGraph& operator=(const OpenedGraph&) = delete;

  std::string storage;
  absl::string_view bytes;

  // Those it was opened with. For a graph out of a pack `file_digest` answers from the pack alone,
  // and is never empty: no other file is asked for.
  IdentifyOptions options;
  size_t packed_files = 0;
};

// Fills `opened`; `bytes` must outlive it. RESOURCE_EXHAUSTED: more than `options.unwrap_limit`
// bytes come out. DATA_LOSS: a damaged wrapper or a malformed pack. INVALID_ARGUMENT: an empty
// graph.
absl::Status OpenGraph(absl::string_view bytes, const IdentifyOptions& options,
                       OpenedGraph* opened);

}  // namespace neffcache
