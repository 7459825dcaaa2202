#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace neffcache {

// Remembers compilers' versions between processes, so that each of hundreds of ranks need not start
// a Python program to learn one.
//
// A note is a file DIRECTORY/versions/<digest of the program's path, device, inode, size and
// modification time, and of the installation's stamp>: a replaced compiler is another program. The
// program alone does not do: it may be a wrapper that starts another compiler tomorrow. Notes of
// other users are not believed. All trouble is ignored: a version is then looked for again.
// Immutable; thread- and process-safe.
class VersionMemory {
 public:
  // In order of preference.
  explicit VersionMemory(std::vector<std::string> directories);

  // `stamp` changes whenever what the program runs is replaced. Empty, when nothing is known that
  // would change: nothing is remembered.
  //
  // Empty when nothing is remembered.
  std::string Recall(const std::string& program, absl::string_view stamp) const;
  void Remember(const std::string& program, absl::string_view stamp,
                absl::string_view version) const;

 private:
  const std::vector<std::string> directories_;
};

}  // namespace neffcache
