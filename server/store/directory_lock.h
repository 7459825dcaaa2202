#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "io/file.h"

namespace neffcache {

// A process's hold on a directory, by flock on `<directory>/lock`; the file says who holds it. Ends
// with the object, or with the process however that ends.
class DirectoryLock {
 public:
  // FAILED_PRECONDITION: somebody else holds it (this process too counts as somebody else; the
  // message says who). UNIMPLEMENTED: the file system has no working locks.
  static absl::StatusOr<DirectoryLock> Acquire(const std::string& directory);

 private:
  explicit DirectoryLock(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

}  // namespace neffcache
