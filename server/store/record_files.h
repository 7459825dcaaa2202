#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/key.h"
#include "server/store/layout.h"
#include "server/store/sharded_directory.h"

namespace neffcache {

// The files below records/: one for each ready entry, from which the database can be rebuilt.
// Thread-safe.
class RecordFiles {
 public:
  explicit RecordFiles(const StoreLayout& layout);

  // Durably, replacing what is there.
  absl::Status Write(const Key& key, absl::string_view record);
  // NOT_FOUND.
  absl::StatusOr<std::string> Read(const Key& key) const;
  // Not an error when it is not there.
  absl::Status Remove(const Key& key) const;
  // Visits each file, in no order, until `visit` returns an error.
  absl::Status ForEach(
      absl::FunctionRef<absl::Status(const std::string& path, absl::string_view record)> visit)
      const;

 private:
  const std::string temporary_directory_;
  ShardedDirectory directory_;
};

}  // namespace neffcache
