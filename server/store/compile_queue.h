#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "graph/key.h"
#include "server/store/content.h"
#include "server/store/database.h"
#include "server/store/entry.h"
#include "server/store/kept_graphs.h"
#include "server/store/turns.h"

namespace neffcache {

// The compiles that are not finished; see the Store's functions of the same names.
//
// Thread-safe. The parts given to it must outlive it.
class CompileQueue {
 public:
  CompileQueue(Database& database, const KeptGraphs& graphs, Turns<Key>& keys,
               std::function<void(absl::string_view)> on_step);

  absl::Status Enqueue(const QueuedCompile& compile, absl::optional<StagedContent> graph);
  absl::Status Update(const QueuedCompile& compile);
  absl::Status Dequeue(const Key& key);
  // Deletes the rows that cannot be decoded: their clients ask again.
  absl::StatusOr<std::vector<QueuedCompile>> Load();
  // Rows found so since this was made.
  uint64_t damaged() const { return damaged_; }

 private:
  absl::Status Drop(const std::string& row);

  Database& database_;
  const KeptGraphs& graphs_;
  Turns<Key>& keys_;
  const std::function<void(absl::string_view)> on_step_;
  std::atomic<uint64_t> damaged_ = 0;
};

}  // namespace neffcache
