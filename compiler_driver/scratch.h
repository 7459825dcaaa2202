#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/file.h"

namespace neffcache {

// A directory that is removed with all its content when this object dies. Move-only.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  ~ScratchDirectory() { Remove(); }
  ScratchDirectory(ScratchDirectory&& other) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&& other) noexcept;

  const std::string& path() const { return path_; }

 private:
  void Remove();

  std::string path_;  // Empty once moved from.
};

// The directory under which one worker makes a private directory for each compile:
//
//   <parent>/neffcache-worker-XXXXXX/        held by flock() while its worker lives
//       compile-<n>-XXXXXX/
//
// Compilers that share a working directory overwrite each other's files, so none do. Nothing of it
// outlives the worker: the destructor removes all, and what a killed worker left is removed by the
// next one with the same parent, which finds it unlocked. Thread-safe.
class ScratchRoot {
 public:
  // Creates `parent` where it is missing, removes what dead workers left there, and makes this
  // worker's own directory (mode 0700).
  static absl::StatusOr<ScratchRoot> Open(const std::string& parent);
  ~ScratchRoot() = default;
  ScratchRoot(ScratchRoot&&) = default;

  const std::string& path() const { return directory_.path(); }

  // A new empty directory for one compile. `label` shows in its name.
  absl::StatusOr<ScratchDirectory> MakeDirectory(absl::string_view label) const;

  // Bytes that we may still write there.
  absl::StatusOr<uint64_t> FreeBytes() const;

 private:
  ScratchRoot(ScratchDirectory directory, Fd lock)
      : lock_(std::move(lock)), directory_(std::move(directory)) {}

  Fd lock_;  // First, so that it is released last: after the directory is gone.
  ScratchDirectory directory_;
};

// "NFS", "Lustre" ... when `path` is on a file system that other nodes share; empty when it is not.
// Compilers make thousands of small files, and some fail outright on such file systems.
std::string SharedFileSystem(const std::string& path);

}  // namespace neffcache
