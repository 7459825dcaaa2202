#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace neffcache {

// A directory of many files with hexadecimal names, spread over 256 directories by their first two
// digits, which are made when they are needed. Thread-safe.
class ShardedDirectory {
 public:
  explicit ShardedDirectory(std::string path);

  const std::string& path() const { return path_; }
  // "<path>/ab/abcd..."
  std::string PathOf(absl::string_view hex) const;
  // Makes the directory of that name, durably. UNAVAILABLE: <path> itself is gone.
  absl::Status Prepare(absl::string_view hex);

 private:
  const std::string path_;
  absl::Mutex mu_;
  // Known to be on the disk, not just in somebody's memory.
  absl::flat_hash_set<std::string> durable_ ABSL_GUARDED_BY(mu_);
};

}  // namespace neffcache
