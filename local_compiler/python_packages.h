#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace neffcache {

// What pip installed in the environments that programs belong to, read from its directories:
// nothing is run.

// A name in an environment's site-packages or dist-packages, with all links resolved.
struct PythonPackage {
  std::string path;
  std::string name;  // The last part of the path: "neuronxcc", "neuronx_cc-2.27.dist-info".
};

// The packages whose names begin with `prefix` beside `programs`: in DIR/lib/python3*/ of each
// program DIR/bin/X, as it is named (an environment's Python is a link that leads out of it). Each
// once, in the order of their paths.
std::vector<PythonPackage> PackagesBeside(const std::vector<std::string>& programs,
                                          absl::string_view prefix);

// True for the metadata directory of the distribution `name`, in pip's spelling: "neuronx_cc".
bool IsMetadataOf(const PythonPackage& package, absl::string_view name);

// The version in that metadata; empty when it says none.
std::string VersionInMetadata(const PythonPackage& metadata);

}  // namespace neffcache
