#include "compiler_driver/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPrefix = "neffcache-worker-";
constexpr int kAttempts = 100;

absl::StatusOr<std::string> MakeTemporaryDirectory(const std::string& prefix) {
  std::string path = absl::StrCat(prefix, "XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("making a directory ", path));
  }
  return path;
}

Fd OpenDirectory(const std::string& path) {
  return Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

// Compilers leave directories without write permission, too.
void RemoveTree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) {
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
  }
  fs::remove_all(path, error);
}

bool NamesDirectory(const std::string& path, int fd) {
  struct stat by_name, by_fd;
  return lstat(path.c_str(), &by_name) == 0 && fstat(fd, &by_fd) == 0 &&
         by_name.st_dev == by_fd.st_dev && by_name.st_ino == by_fd.st_ino;
}

// Only what is ours by owner and name, and whose lock nobody holds.
void RemoveLeftovers(const std::string& parent) {
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (!absl::StartsWith(at->path().filename().string(), kPrefix)) continue;
    const Fd directory = OpenDirectory(path);
    struct stat info;
    if (!directory.valid() || fstat(directory.get(), &info) != 0 || info.st_uid != geteuid()) {
      continue;
    }
    if (flock(directory.get(), LOCK_EX | LOCK_NB) == 0) RemoveTree(path);
  }
}

}  // namespace

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

ScratchDirectory& ScratchDirectory::operator=(ScratchDirectory&& other) noexcept {
  if (this != &other) {
    Remove();
    path_ = std::exchange(other.path_, "");
  }
  return *this;
}

void ScratchDirectory::Remove() {
  if (!path_.empty()) RemoveTree(path_);
}

absl::StatusOr<ScratchRoot> ScratchRoot::Open(const std::string& parent) {
  std::error_code error;
  const std::string absolute = fs::absolute(parent, error).string();
  RETURN_IF_ERROR(CreateDirectories(absolute));
  RemoveLeftovers(absolute);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ASSIGN_OR_RETURN(std::string path,
                     MakeTemporaryDirectory(absl::StrCat(absolute, "/", kPrefix)));
    ScratchDirectory directory(std::move(path));
    Fd lock = OpenDirectory(directory.path());
    if (!lock.valid()) continue;
    if (flock(lock.get(), LOCK_EX) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("locking ", directory.path()));
    }
    // Another worker may have taken it for a leftover before we had the lock.
    if (!NamesDirectory(directory.path(), lock.get())) continue;
    return ScratchRoot(std::move(directory), std::move(lock));
  }
  return absl::AbortedError(
      absl::StrCat("making a directory in ", absolute, ": others keep removing it"));
}

absl::StatusOr<ScratchDirectory> ScratchRoot::MakeDirectory(absl::string_view label) const {
  ASSIGN_OR_RETURN(std::string path,
                   MakeTemporaryDirectory(absl::StrCat(directory_.path(), "/", label, "-")));
  return ScratchDirectory(std::move(path));
}

absl::StatusOr<uint64_t> ScratchRoot::FreeBytes() const {
  struct statvfs info;
  if (statvfs(directory_.path().c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("asking for free space at ", directory_.path()));
  }
  return uint64_t{info.f_bavail} * info.f_frsize;
}

std::string SharedFileSystem(const std::string& path) {
  struct statfs info;
  if (statfs(path.c_str(), &info) != 0) return "";
  switch (static_cast<uint32_t>(info.f_type)) {
    case 0x6969:
      return "NFS";
    case 0x0bd00bd0:
      return "Lustre";
    case 0xff534d42:
    case 0xfe534d42:
      return "SMB";
    case 0x00c36400:
      return "Ceph";
    case 0x47504653:
      return "GPFS";
    default:
      return "";
  }
}

}  // namespace neffcache
