#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// Every function here retries EINTR and short transfers, and names the path in its error. Errors
// carry the code of absl::ErrnoToStatus: NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED (no
// space) and so on.

// Owns a file descriptor. Move-only.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { Close(); }
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();
  void Close();

 private:
  int fd_ = -1;
};

// What is made durable before a call returns.
enum class Durability { kBuffered, kSynced };

// Opens for reading; a directory is INVALID_ARGUMENT.
absl::StatusOr<Fd> OpenForRead(const std::string& path);

// Size in bytes of the regular file behind `fd`; INVALID_ARGUMENT for a pipe or a device, which has
// none. `name` is for messages.
absl::StatusOr<uint64_t> FileSize(int fd, absl::string_view name);

// Fills `out` from `offset`; returns fewer bytes only at the end of the file.
absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, std::span<char> out, absl::string_view name);

// Writes all of `bytes` at the descriptor's position.
absl::Status WriteAll(int fd, absl::string_view bytes, absl::string_view name);

// The whole file. RESOURCE_EXHAUSTED when it has more than `limit` bytes.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t limit);

// The same for a path that somebody else chose: what is no regular file is INVALID_ARGUMENT, and no
// device or pipe is read.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path, uint64_t limit);

// fsync of a directory: makes the names in it durable.
absl::Status SyncDirectory(const std::string& directory);

// Creates `directory` and its parents; not an error when present.
absl::Status CreateDirectories(const std::string& directory);

// A file that comes into being whole or not at all.
//
// It is written under a temporary name beside its final one (same file system) and renamed into
// place by Commit(). The destructor deletes what was not committed. Not thread-safe.
class AtomicFile {
 public:
  // The parent directory of `path` must exist. `mode` is subject to the umask.
  static absl::StatusOr<AtomicFile> Create(const std::string& path, mode_t mode = 0644);
  // The same, with the temporary file in `temporary_directory` (same file system as `path`).
  static absl::StatusOr<AtomicFile> CreateIn(const std::string& temporary_directory,
                                             const std::string& path, mode_t mode = 0644);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;

  absl::Status Write(absl::string_view bytes);
  int fd() const { return fd_.get(); }
  const std::string& temporary_path() const { return temporary_path_; }

  // Renames onto the final name, replacing what is there. With kSynced the content is on disk
  // before the rename and the name after it. On error the final name is untouched, unless all that
  // failed was making the name durable.
  absl::Status Commit(Durability durability);
  // The same under another final name.
  absl::Status CommitAs(const std::string& path, Durability durability);

 private:
  AtomicFile(Fd fd, std::string temporary_path, std::string path);

  Fd fd_;
  std::string temporary_path_;  // Empty once committed or moved from.
  std::string path_;
};

// The bytes of a file for random access: read into memory when small, mapped when large.
//
// The view is valid for the life of the object. A mapped file that somebody truncates meanwhile
// raises SIGBUS (as any mapping does), so files of up to kReadLimit bytes are copied.
class FileContents {
 public:
  static constexpr uint64_t kReadLimit = uint64_t{32} << 20;

  static absl::StatusOr<FileContents> Load(const std::string& path);
  ~FileContents();
  FileContents(FileContents&& other) noexcept;
  FileContents& operator=(FileContents&& other) noexcept;

  absl::string_view bytes() const;

 private:
  FileContents() = default;

  std::unique_ptr<char[]> copy_;
  void* mapping_ = nullptr;
  size_t size_ = 0;
};

}  // namespace neffcache
