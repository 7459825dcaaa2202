#include "local_compiler/program_search.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first, second;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool HasMarkerBeside(const fs::path& program) {
  return access((program.parent_path() / std::string(kShimMarker)).c_str(), F_OK) == 0;
}

}  // namespace

bool IsExecutableFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

bool IsOurShim(const std::string& program, const std::string& own_shim) {
  if (!own_shim.empty() && IsSameFile(program, own_shim)) return true;
  if (HasMarkerBeside(program)) return true;
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  return !error && HasMarkerBeside(real);
}

absl::StatusOr<std::string> FindProgram(absl::string_view name, const ProgramSearch& search) {
  for (absl::string_view directory : absl::StrSplit(search.path, ':', absl::SkipEmpty())) {
    if (directory.front() != '/' && search.relative_entries == RelativeEntries::kSkipped) continue;
    std::string program = absl::StrCat(directory, "/", name);
    if (IsExecutableFile(program) && !IsOurShim(program, search.own_shim)) return program;
  }
  return absl::NotFoundError(absl::StrCat("no ", name, " on the PATH besides neffcache's shim"));
}

absl::StatusOr<std::string> ProgramDirectory() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return absl::ErrnoToStatus(error.value(), "reading /proc/self/exe");
  return program.parent_path().string();
}

std::string ShimOfInstallation(const std::string& program_directory) {
  return fs::path(program_directory).parent_path() / "shim" / std::string(kNeuronxCcName);
}

}  // namespace neffcache
