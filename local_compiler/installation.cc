#include "local_compiler/installation.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "local_compiler/launch_chain.h"
#include "local_compiler/python_packages.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kModule = "neuronxcc";
constexpr absl::string_view kDistribution = "neuronx_cc";
constexpr absl::string_view kPackagePrefix = "neuronx";
constexpr uint64_t kScriptLimit = uint64_t{64} << 10;

// A program of the environment that is not the package's may start anything.
bool NamesModule(const std::string& script) {
  const absl::StatusOr<std::string> text = ReadWholeFile(script, kScriptLimit);
  return text.ok() && absl::StrContains(*text, kModule);
}

// `programs` are in the bin/ of the environments that count.
Installation Inspect(const std::vector<std::string>& programs, absl::string_view distribution,
                     absl::string_view prefix, std::vector<std::string> files) {
  std::vector<std::string> versions;
  for (const PythonPackage& package : PackagesBeside(programs, prefix)) {
    files.push_back(package.path);
    if (!absl::EndsWith(package.name, ".dist-info")) continue;
    // For an installation over the old one, in the same directories.
    files.insert(files.end(), {package.path + "/METADATA", package.path + "/RECORD"});
    if (IsMetadataOf(package, distribution)) versions.push_back(VersionInMetadata(package));
  }
  if (versions.empty()) return {};
  return {StampOf(files), versions.size() == 1 ? versions.front() : ""};
}

}  // namespace

Installation InspectNeuronxCc(const std::string& program) {
  const LaunchChain chain = FollowLaunch(program);
  if (chain.script.empty() || !NamesModule(chain.script)) return {};
  // A system's Python finds packages of the user, or of /usr/local, that its scripts are beside.
  std::error_code error;
  const std::string script = fs::canonical(chain.script, error).string();
  if (error) return {};
  return Inspect({chain.python, script}, kDistribution, kPackagePrefix, chain.files);
}

Installation InspectPackage(const std::string& python, absl::string_view name,
                            absl::string_view prefix, absl::Span<const std::string> files) {
  std::vector<std::string> all(files.begin(), files.end());
  all.push_back(python);
  return Inspect({python}, name, prefix, std::move(all));
}

std::string StampOf(absl::Span<const std::string> paths) {
  std::string stamp;
  for (const std::string& path : paths) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
      absl::StrAppend(&stamp, path, " missing\n");
      continue;
    }
    // The time of the last change as well: copies like to keep the one of the last modification.
    absl::StrAppend(&stamp, path, " ", info.st_dev, ":", info.st_ino, " ", info.st_size, " ",
                    info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ", info.st_ctim.tv_sec, ".",
                    info.st_ctim.tv_nsec, "\n");
  }
  return stamp;
}

}  // namespace neffcache
