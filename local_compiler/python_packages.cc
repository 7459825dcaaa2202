#include "local_compiler/python_packages.h"

#include <filesystem>
#include <map>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "io/file.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMetadataLimit = uint64_t{1} << 20;

// The names in a directory; none when it cannot be read.
std::vector<fs::path> NamesIn(const fs::path& directory) {
  std::vector<fs::path> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path());
  }
  return names;
}

}  // namespace

std::vector<PythonPackage> PackagesBeside(const std::vector<std::string>& programs,
                                          absl::string_view prefix) {
  // By path, because one environment is often reached by several programs and links.
  std::map<std::string, PythonPackage> packages;
  for (const std::string& program : programs) {
    const fs::path environment = fs::path(program).parent_path().parent_path();
    for (const char* library : {"lib", "lib64"}) {
      for (const fs::path& python : NamesIn(environment / library)) {
        if (!absl::StartsWith(python.filename().string(), "python3")) continue;
        for (const char* kind : {"site-packages", "dist-packages"}) {
          for (const fs::path& package : NamesIn(python / kind)) {
            if (!absl::StartsWith(package.filename().string(), prefix)) continue;
            std::error_code error;
            const std::string path = fs::canonical(package, error).string();
            if (!error) packages[path] = {path, package.filename().string()};
          }
        }
      }
    }
  }
  std::vector<PythonPackage> found;
  found.reserve(packages.size());
  for (auto& [path, package] : packages) found.push_back(std::move(package));
  return found;
}

bool IsMetadataOf(const PythonPackage& package, absl::string_view name) {
  absl::string_view rest = package.name;
  return absl::ConsumePrefix(&rest, name) && absl::StartsWith(rest, "-") &&
         absl::EndsWith(rest, ".dist-info");
}

std::string VersionInMetadata(const PythonPackage& metadata) {
  const absl::StatusOr<std::string> text =
      ReadWholeFile(metadata.path + "/METADATA", kMetadataLimit);
  if (!text.ok()) return "";
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    line = absl::StripSuffix(line, "\r");
    if (line.empty()) break;  // The body: a description that may say anything.
    if (absl::ConsumePrefix(&line, "Version:")) {
      return std::string(absl::StripAsciiWhitespace(line));
    }
  }
  return "";
}

}  // namespace neffcache
