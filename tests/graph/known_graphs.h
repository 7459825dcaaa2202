#pragma once

// Real graphs for tests, where somebody has put them: the directory in NEFFCACHE_GRAPHS, or
// ../shared/graphs beside the repository.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "io/file.h"

namespace neffcache {

inline std::filesystem::path GraphsDirectory() {
  if (const char* set = std::getenv("NEFFCACHE_GRAPHS")) return set;
  return std::filesystem::path(NEFFCACHE_SOURCE_DIR) / ".." / "shared" / "graphs";
}

inline bool HaveGraphs() {
  return std::filesystem::is_directory(GraphsDirectory());
}

// The regular files of a directory under GraphsDirectory(), sorted.
inline std::vector<std::filesystem::path> GraphFiles(const std::string& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(GraphsDirectory() / directory)) {
    if (entry.is_regular_file() && entry.path().extension() != ".md") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string ReadGraph(const std::filesystem::path& path) {
  return ReadWholeFile(path.string(), uint64_t{1} << 30).value();
}

}  // namespace neffcache
