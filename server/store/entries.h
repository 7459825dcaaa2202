#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "graph/key.h"
#include "server/store/database.h"
#include "server/store/entry.h"
#include "server/store/ready_table.h"

namespace neffcache {

// Reads entries; see the Store's functions of the same names. A failure that is no longer
// remembered is nowhere seen.
//
// Thread-safe. Database and table must outlive it.
class Entries {
 public:
  // Ready entries that a batch finds are remembered in `ready`.
  Entries(const Database& database, ReadyTable& ready, std::function<absl::Time()> clock);

  // DATA_LOSS: the row cannot be decoded.
  absl::StatusOr<absl::optional<Entry>> Find(const Key& key) const;
  absl::StatusOr<std::vector<absl::optional<Entry>>> Find(absl::Span<const Key> keys) const;
  std::vector<absl::optional<ReadyState>> FindReadyInMemory(absl::Span<const Key> keys) const;
  absl::StatusOr<Key> ResolvePrefix(absl::string_view prefix) const;
  absl::Status ForEach(absl::FunctionRef<bool(const Entry&)> visit) const;
  absl::StatusOr<uint64_t> CountFailed() const;
  // At most `limit` rows of kFailures that are no longer remembered.
  absl::StatusOr<std::vector<std::string>> ExpiredFailures(size_t limit) const;

  // The entry of this key whether or not it expired.
  absl::StatusOr<absl::optional<Entry>> FindStored(const Key& key) const;
  bool IsRemembered(const Entry& entry) const;

 private:
  const Database& database_;
  ReadyTable& ready_;
  const std::function<absl::Time()> clock_;
};

}  // namespace neffcache
