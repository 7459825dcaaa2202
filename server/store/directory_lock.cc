#include "server/store/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

// "pid 4711 on host node-3", as the holder wrote it.
std::string HolderOf(int fd, const std::string& path) {
  std::array<char, 512> text;
  const absl::StatusOr<size_t> size = ReadAt(fd, 0, text, path);
  if (!size.ok() || *size == 0) return "an unnamed process";
  return std::string(absl::StripSuffix(absl::string_view(text.data(), *size), "\n"));
}

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::Acquire(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/lock");
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("opening ", path));
  int locked;
  do {
    locked = flock(fd.get(), LOCK_EX | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0 && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(
        absl::StrCat("opening store ", directory, ": it is in use by ", HolderOf(fd.get(), path),
                     "; stop that daemon or use another --data-dir"));
  }
  if (locked != 0) {
    return absl::UnimplementedError(absl::StrCat(
        "locking ", path, ": ", absl::ErrnoToStatus(errno, "flock").message(),
        "; mount the file system with locks (Lustre: -o flock) or put --db-dir on a local disk"));
  }
  if (ftruncate(fd.get(), 0) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("writing ", path));
  }
  const std::string holder = absl::StrCat("pid ", getpid(), " on host ", HostName(), "\n");
  RETURN_IF_ERROR(WriteAll(fd.get(), holder, path));
  return DirectoryLock(std::move(fd));
}

}  // namespace neffcache
