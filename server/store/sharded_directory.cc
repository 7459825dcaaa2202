#include "server/store/sharded_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/layout.h"

namespace neffcache {

ShardedDirectory::ShardedDirectory(std::string path) : path_(std::move(path)) {}

std::string ShardedDirectory::PathOf(absl::string_view hex) const {
  return absl::StrCat(path_, "/", hex.substr(0, 2), "/", hex);
}

absl::Status ShardedDirectory::Prepare(absl::string_view hex) {
  const std::string shard(hex.substr(0, 2));
  {
    absl::MutexLock lock(&mu_);
    if (durable_.contains(shard)) return absl::OkStatus();
  }
  const std::string directory = absl::StrCat(path_, "/", shard);
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    return NeverNotFound(
        absl::ErrnoToStatus(errno, absl::StrCat("creating directory ", directory)));
  }
  // Also when it was there: another thread may have made it a moment ago.
  RETURN_IF_ERROR(NeverNotFound(SyncDirectory(path_)));
  absl::MutexLock lock(&mu_);
  durable_.insert(shard);
  return absl::OkStatus();
}

}  // namespace neffcache
