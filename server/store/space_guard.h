#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace neffcache {

// Refuses new content before a disk is quite full, so that records can still be written and RocksDB
// never meets a full disk (its recovery from one has known defects). Thread-safe.
class SpaceGuard {
 public:
  SpaceGuard(std::string data_dir, std::string db_dir, uint64_t min_free_bytes);

  // RESOURCE_EXHAUSTED when either directory's file system has less than the minimum free.
  absl::Status Check() const;

 private:
  const std::string data_dir_;
  const std::string db_dir_;
  const uint64_t min_free_bytes_;
};

}  // namespace neffcache
