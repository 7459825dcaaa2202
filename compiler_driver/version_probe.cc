#include "compiler_driver/version_probe.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "compiler_driver/child_process.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kProbeLimit = absl::Minutes(2);

}  // namespace

absl::StatusOr<std::string> AskVersion(const std::string& program,
                                       const std::vector<std::string>& environment,
                                       const std::string& directory, const std::stop_token& stop) {
  ChildSpec spec;
  spec.argv = {program, "--version"};
  spec.environment = environment;
  spec.working_directory = directory;
  spec.limits.wall_clock = kProbeLimit;
  const ChildResult result = RunChild(spec, stop, nullptr);
  switch (result.end) {
    case ChildEnd::kExited:
      if (result.exit_code == 0) return result.log;
      return absl::UnavailableError(
          absl::StrCat("asking ", program, " for its version: it exited with ", result.exit_code,
                       ": ", result.log.substr(0, 400)));
    case ChildEnd::kNotStarted:
      return absl::UnavailableError(result.start_error.message());
    case ChildEnd::kTimedOut:
      return absl::UnavailableError(absl::StrCat("asking ", program,
                                                 " for its version: no answer within ",
                                                 absl::FormatDuration(kProbeLimit)));
    default:
      return absl::UnavailableError(absl::StrCat(
          "asking ", program, " for its version: it was ended by signal ", result.signal));
  }
}

std::string StampOf(absl::Span<const std::string> paths) {
  std::string stamp;
  for (const std::string& path : paths) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
      absl::StrAppend(&stamp, path, " missing\n");
      continue;
    }
    absl::StrAppend(&stamp, path, " ", info.st_dev, ":", info.st_ino, " ", info.st_size, " ",
                    info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, "\n");
  }
  return stamp;
}

std::vector<std::string> PythonPackages(const std::string& program, absl::string_view prefix) {
  std::vector<std::string> packages;
  const auto begins_with = [](const fs::path& path, absl::string_view start) {
    return absl::StartsWith(path.filename().string(), start);
  };
  const fs::path library = fs::path(program).parent_path().parent_path() / "lib";
  std::error_code no_library;
  for (fs::directory_iterator python(library, no_library), end; !no_library && python != end;
       python.increment(no_library)) {
    if (!begins_with(python->path(), "python3")) continue;
    std::error_code no_packages;
    for (fs::directory_iterator package(python->path() / "site-packages", no_packages);
         !no_packages && package != end; package.increment(no_packages)) {
      if (begins_with(package->path(), prefix)) packages.push_back(package->path().string());
    }
  }
  // The order of a directory is no property of what is installed.
  std::sort(packages.begin(), packages.end());
  return packages;
}

bool IsExecutableFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace neffcache
