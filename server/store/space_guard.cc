#include "server/store/space_guard.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "server/store/layout.h"

namespace neffcache {
namespace {

absl::Status CheckOne(const std::string& directory, uint64_t min_free_bytes) {
  struct statvfs info;
  if (statvfs(directory.c_str(), &info) != 0) {
    return NeverNotFound(
        absl::ErrnoToStatus(errno, absl::StrCat("looking for space in ", directory)));
  }
  const uint64_t free = uint64_t{info.f_bavail} * info.f_frsize;
  if (free >= min_free_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("storing in ", directory, ": ", free,
                                                   " bytes are free, ", min_free_bytes,
                                                   " must be; make room on that file system"));
}

}  // namespace

SpaceGuard::SpaceGuard(std::string data_dir, std::string db_dir, uint64_t min_free_bytes)
    : data_dir_(std::move(data_dir)), db_dir_(std::move(db_dir)), min_free_bytes_(min_free_bytes) {}

absl::Status SpaceGuard::Check() const {
  RETURN_IF_ERROR(CheckOne(data_dir_, min_free_bytes_));
  return CheckOne(db_dir_, min_free_bytes_);
}

}  // namespace neffcache
