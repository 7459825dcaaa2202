#include "server/worker_environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "local_compiler/program_search.h"
#include "local_compiler/usable_memory.h"

namespace neffcache {

namespace fs = std::filesystem;

std::vector<std::string> DefaultToolchains(absl::string_view path,
                                           const std::string& program_directory) {
  const absl::StatusOr<std::string> compiler =
      FindProgram(kNeuronxCcName,
                  {.path = std::string(path), .own_shim = ShimOfInstallation(program_directory)});
  if (compiler.ok()) return {std::string(kNeuronxCcName)};
  return {"xla-cpu"};
}

uint64_t MemoryPerWorker(uint32_t workers) {
  return workers == 0 ? 0 : UsableMemory() / 10 * 9 / workers;
}

absl::StatusOr<std::string> PrepareScratch(const std::string& base, const std::string& data_dir) {
  std::string parent = base;
  if (parent.empty()) {
    const char* temporary = std::getenv("TMPDIR");
    parent = temporary != nullptr && *temporary != '\0' ? temporary : "/var/tmp";
  }
  RETURN_IF_ERROR(CreateDirectories(parent));
  std::error_code error;
  const fs::path store = fs::weakly_canonical(data_dir, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("looking at ", data_dir));
  const std::string scratch = absl::StrCat(parent, "/neffcached-", getuid(), "-",
                                           Sha256Of(store.string()).Hex().substr(0, 16));

  if (mkdir(scratch.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("creating ", scratch));
  }
  // The name can be guessed and its parent is shared: what is there must be ours, and no link.
  struct stat info;
  if (lstat(scratch.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("looking at ", scratch));
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != getuid() || (info.st_mode & 0077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(scratch, " is not a private directory of this user; remove it"));
  }
  for (const fs::directory_entry& left : fs::directory_iterator(scratch, error)) {
    std::error_code in_use;  // What a dying worker still writes to goes next time.
    fs::remove_all(left.path(), in_use);
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("reading ", scratch));
  return scratch;
}

}  // namespace neffcache
