#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "graph/key.h"
#include "server/store/database.h"
#include "server/store/entries.h"
#include "server/store/store.h"

namespace neffcache {

// Named sets of keys; see the Store's functions on bundles. A key may be in a bundle before it has
// an entry. Changes survive the process; after a crash of the machine the last may be missing.
//
// Thread-safe. The parts given to it must outlive it.
class BundleTable {
 public:
  BundleTable(Database& database, const Entries& entries, std::function<absl::Time()> clock);

  absl::Status Record(absl::string_view bundle, absl::Span<const Key> keys);
  absl::StatusOr<std::vector<BundleSummary>> List() const;
  absl::StatusOr<std::vector<BundleKey>> Get(absl::string_view bundle) const;
  absl::StatusOr<std::vector<std::string>> Of(const Key& key) const;

 private:
  absl::Status RecordSome(absl::string_view bundle, absl::Span<const Key> keys);
  absl::StatusOr<BundleSummary> Summarize(const std::string& name) const;

  Database& database_;
  const Entries& entries_;
  const std::function<absl::Time()> clock_;
};

}  // namespace neffcache
