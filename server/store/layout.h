#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace neffcache {

// Where a store keeps what, below its data directory (docs/formats/store.md). A plain value.
class StoreLayout {
 public:
  StoreLayout(std::string data_dir, std::string db_dir);

  const std::string& data_dir() const { return data_dir_; }
  const std::string& db_dir() const { return db_dir_; }
  std::string temporary() const;
  std::string artifacts() const;
  std::string records() const;

  // Makes all directories, durably, unless that was done before, and empties tmp/: what is in there
  // belongs to nobody. Returns the store's id, new for a new store. FAILED_PRECONDITION: a newer
  // program made it, or the directory has something else in it.
  absl::StatusOr<std::string> Prepare() const;
  // The id of the store in the data directory, empty when there is none yet.
  absl::StatusOr<std::string> ReadId() const;

 private:
  std::string data_dir_;
  std::string db_dir_;
};

// The error of a file operation that found no file where the store's own directories should be:
// never NOT_FOUND, which would say that nothing is known of what was asked for.
absl::Status NeverNotFound(absl::Status status);

}  // namespace neffcache
