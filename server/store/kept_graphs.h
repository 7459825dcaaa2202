#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "graph/fingerprint.h"
#include "io/digest.h"
#include "server/store/content.h"
#include "server/store/content_files.h"
#include "server/store/database.h"
#include "server/store/entry.h"
#include "server/store/turns.h"

namespace neffcache {

// The graphs that compiles start from, found by fingerprint. Of several graphs with one fingerprint
// the last is found: they are the same computation.
//
// Thread-safe. The parts given to it must outlive it.
class KeptGraphs {
 public:
  KeptGraphs(Database& database, ContentFiles& files);

  // Puts the graph where it is kept and adds its row to `batch`. Without content, the graph must be
  // kept already: FAILED_PRECONDITION. INVALID_ARGUMENT: the content is not that graph.
  absl::Status Place(const Fingerprint& fingerprint, const GraphRecord& graph,
                     absl::optional<StagedContent> content, Batch& batch) const;

  // NOT_FOUND.
  absl::StatusOr<GraphRecord> Find(const Fingerprint& fingerprint) const;

  // See the Store's functions CheckGraph and ForgetGraph.
  absl::Status Check(const GraphRecord& graph) const;
  absl::Status Forget(const Digest& digest);
  // Graphs that were forgotten since this was made.
  uint64_t damaged() const { return damaged_; }

 private:
  Database& database_;
  ContentFiles& files_;
  // Whoever places or forgets the file of a graph.
  mutable Turns<Digest> digests_;
  std::atomic<uint64_t> damaged_ = 0;
};

}  // namespace neffcache
