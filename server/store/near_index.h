#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "graph/key.h"
#include "graph/parts.h"
#include "server/store/database.h"
#include "server/store/entries.h"
#include "server/store/near_entry.h"
#include "server/store/turns.h"

namespace neffcache {

// Finds entries that are like a key, by the parts of their graphs, and keeps why keys were
// compiled; see the Store's functions of the same names. Nothing here is needed to serve: rows are
// written unsynced, and one that is missing, stale or damaged costs an explanation.
//
// Thread-safe. The parts given to it must outlive it.
class NearIndex {
 public:
  NearIndex(Database& database, const Entries& entries, Turns<Key>& keys,
            std::function<absl::Time()> clock);

  absl::Status Add(const Key& key, const absl::optional<GraphParts>& parts);
  absl::StatusOr<std::vector<NearEntry>> Nearest(const NearQuery& query) const;

  absl::Status RecordMiss(const Key& key, const Miss& miss);
  absl::StatusOr<Miss> FindMiss(const Key& key) const;
  std::vector<absl::optional<Miss>> FindMisses(absl::Span<const Key> keys) const;

  // Adds to `batch` that the key's rows go, with its entry. Needs no turn: rows that are added at
  // the same moment are left, and found stale.
  static void Remove(const Database& database, const Key& key, Batch& batch);

 private:
  static void RemoveParts(const Database& database, const Key& key, Batch& batch);
  std::vector<Key> Candidates(const NearQuery& query) const;
  void AddNewest(const std::string& prefix, size_t most, std::vector<Key>& keys) const;

  Database& database_;
  const Entries& entries_;
  Turns<Key>& keys_;
  const std::function<absl::Time()> clock_;
};

}  // namespace neffcache
