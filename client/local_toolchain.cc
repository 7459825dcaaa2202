#include "client/local_toolchain.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/program_output.h"
#include "client/version_memory.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

// Pip normalizes the distribution's name to this in file names.
constexpr absl::string_view kPackagePrefix = "neuronx_cc-";
constexpr absl::string_view kModule = "neuronxcc";
constexpr uint64_t kMetadataLimit = uint64_t{1} << 20;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsExecutableFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first, second;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool IsOurs(const std::string& program, const LocalToolchainSearch& search) {
  if (!search.self.empty() && IsSameFile(program, search.self)) return true;
  return access((fs::path(program).parent_path() / kShimMarker).c_str(), F_OK) == 0;
}

// Empty when the path has none that is not ours.
std::string FindOnPath(const std::string& name, const LocalToolchainSearch& search) {
  for (absl::string_view directory : absl::StrSplit(search.path, ':', absl::SkipEmpty())) {
    std::string program = absl::StrCat(directory, "/", name);
    if (IsExecutableFile(program) && !IsOurs(program, search)) return program;
  }
  return "";
}

// Directories DIR/lib/python3*/{site,dist}-packages that belong to a program in DIR/bin.
std::vector<fs::path> PackageDirectories(const fs::path& bin) {
  std::vector<fs::path> directories;
  std::error_code error;
  for (fs::directory_iterator it(bin.parent_path() / "lib", error), end; !error && it != end;
       it.increment(error)) {
    if (!absl::StartsWith(it->path().filename().string(), "python3")) continue;
    directories.push_back(it->path() / "site-packages");
    directories.push_back(it->path() / "dist-packages");
  }
  return directories;
}

std::string VersionOfMetadata(const std::string& path) {
  absl::StatusOr<std::string> metadata = ReadWholeFile(path, kMetadataLimit);
  if (!metadata.ok()) return "";
  for (absl::string_view line : absl::StrSplit(*metadata, '\n')) {
    line = absl::StripSuffix(line, "\r");
    if (line.empty()) break;  // The body: a description that may say anything.
    if (absl::ConsumePrefix(&line, "Version:")) {
      return std::string(absl::StripAsciiWhitespace(line));
    }
  }
  return "";
}

// Identifies one state of a file or directory: pip puts new ones in place of what it replaces.
std::string StampOf(const fs::path& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return absl::StrCat(path.string(), " missing\n");
  return absl::StrCat(path.string(), " ", info.st_dev, ":", info.st_ino, " ", info.st_size, " ",
                      info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, "\n");
}

// The compiler's packages that are installed beside a program.
struct InstalledPackages {
  std::string version;  // Empty when there is none, or when several make it a guess.
  std::string stamp;    // Another one after an installation; empty when there is none.
};

InstalledPackages PackagesBeside(const std::string& program) {
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  if (error) return {};
  std::vector<fs::path> metadata;
  std::vector<std::string> stamps;
  for (const fs::path& directory : PackageDirectories(real.parent_path())) {
    std::error_code absent;
    for (fs::directory_iterator it(directory, absent), end; !absent && it != end;
         it.increment(absent)) {
      const std::string name = it->path().filename().string();
      if (name == kModule) stamps.push_back(StampOf(it->path()));
      if (!absl::StartsWith(name, kPackagePrefix) || !absl::EndsWith(name, ".dist-info")) continue;
      metadata.push_back(it->path() / "METADATA");
      stamps.push_back(absl::StrCat(StampOf(it->path()), StampOf(metadata.back())));
    }
  }
  // The module alone has no version that an installation would change.
  if (metadata.empty()) return {};
  // The order of a directory is no property of what is installed.
  std::sort(stamps.begin(), stamps.end());
  InstalledPackages packages{"", absl::StrJoin(stamps, "")};
  if (metadata.size() == 1) packages.version = VersionOfMetadata(metadata.front().string());
  return packages;
}

}  // namespace

LocalToolchainSearch LocalToolchainSearch::FromEnvironment() {
  LocalToolchainSearch search;
  search.real_compiler = Environment("NEFFCACHE_REAL_CC");
  search.path = Environment("PATH");
  search.self = "/proc/self/exe";
  std::string directory = Environment("NEFFCACHE_DIR");
  search.memory_directories.push_back(directory.empty() ? "/var/tmp/neffcache" : directory);
  const std::string cache_home = Environment("XDG_CACHE_HOME");
  if (!cache_home.empty()) search.memory_directories.push_back(cache_home + "/neffcache");
  return search;
}

absl::StatusOr<std::string> FindLocalCompiler(const LocalToolchainSearch& search) {
  const std::string& wanted = search.real_compiler;
  if (absl::StrContains(wanted, '/')) {
    if (!IsExecutableFile(wanted)) {
      return absl::NotFoundError(absl::StrCat("finding the compiler: NEFFCACHE_REAL_CC names ",
                                              wanted, ", which is not an executable file"));
    }
    if (IsOurs(wanted, search)) {
      return absl::InvalidArgumentError(
          absl::StrCat("finding the compiler: NEFFCACHE_REAL_CC names ", wanted,
                       ", which is neffcache's shim itself"));
    }
    return wanted;
  }
  const std::string name = wanted.empty() ? kLocalToolchainName : wanted;
  std::string program = FindOnPath(name, search);
  if (program.empty()) {
    return absl::NotFoundError(
        absl::StrCat("finding the compiler: no ", name, " on the PATH besides neffcache's shim"));
  }
  return program;
}

std::string ParseCompilerVersion(absl::string_view output) {
  constexpr absl::string_view kIntroduction = "NeuronX Compiler version ";
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    const size_t at = line.find(kIntroduction);
    if (at == absl::string_view::npos) continue;
    line = absl::StripAsciiWhitespace(line.substr(at + kIntroduction.size()));
    return std::string(line.substr(0, line.find_first_of(" \t")));
  }
  return "";
}

absl::StatusOr<std::string> LocalCompilerVersion(const std::string& program,
                                                 const LocalToolchainSearch& search) {
  const InstalledPackages packages = PackagesBeside(program);
  if (!packages.version.empty()) return packages.version;
  const VersionMemory memory(search.memory_directories);
  std::string version = memory.Recall(program, packages.stamp);
  if (!version.empty()) return version;
  // Should the program turn out to be a wrapper that finds our shim, the shim steps aside.
  ASSIGN_OR_RETURN(
      const std::string output,
      ProgramOutput({program, "--version"}, {"NEFFCACHE_DISABLE=1"}, search.ask_timeout));
  version = ParseCompilerVersion(output);
  if (version.empty()) {
    return absl::UnavailableError(absl::StrCat("asking ", program,
                                               " for its version: its answer has no line "
                                               "\"NeuronX Compiler version …\""));
  }
  memory.Remember(program, packages.stamp, version);
  return version;
}

absl::StatusOr<LocalToolchain> FindLocalToolchain(const LocalToolchainSearch& search) {
  ASSIGN_OR_RETURN(std::string program, FindLocalCompiler(search));
  ASSIGN_OR_RETURN(std::string version, LocalCompilerVersion(program, search));
  return LocalToolchain{std::move(program), Toolchain{kLocalToolchainName, std::move(version)}};
}

}  // namespace neffcache
