#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace neffcache {

// The kernel files of one compile. They came with the graph and lie below the directory that the
// compiler runs in, where it looks when there is nothing at the absolute path that the graph names.
//
// Should this host have a file at such a path, the compiler takes that one. It must then be the
// same, before the compile and after it: otherwise the artifact is not that of the key. A plain
// value; blocks on the disk.
class KernelFiles {
 public:
  // Writes the files of the pack in the file `graph` below `directory`; nothing to do for a graph
  // that is no pack. The graph's file stays as it is.
  //
  // FAILED_PRECONDITION: this host has something else at a path that the graph names.
  // ALREADY_EXISTS: the directory has a file of that name. DATA_LOSS: a malformed pack.
  static absl::StatusOr<KernelFiles> LayOut(const std::string& graph, const std::string& directory);

  // FAILED_PRECONDITION unless the paths that the graph names are as LayOut found them.
  absl::Status CheckUnchanged() const;

 private:
  // Path, and what tells one state of the file behind it from another; empty: no file.
  std::vector<std::pair<std::string, std::string>> named_;
};

}  // namespace neffcache
