#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "graph/key.h"

namespace neffcache {

// Where the real compiler of this machine is looked for. A plain value, so that tests need not
// change the environment.
struct LocalToolchainSearch {
  // $NEFFCACHE_REAL_CC: the compiler's path, or a name to look for on the path. Empty:
  // "neuronx-cc".
  std::string real_compiler;
  // $PATH.
  std::string path;
  // The running program, never taken for the compiler. Empty: nothing is excluded.
  std::string self;
  // Where found versions are remembered, in order of preference; ones that cannot be used are
  // passed over. Empty: nowhere.
  std::vector<std::string> memory_directories;
  // For a compiler that must be asked for its version: it imports a large Python package.
  absl::Duration ask_timeout = absl::Seconds(60);

  // From the environment: the path, /proc/self/exe, and $NEFFCACHE_DIR (default /var/tmp/neffcache)
  // followed by $XDG_CACHE_HOME/neffcache where that is set.
  static LocalToolchainSearch FromEnvironment();
};

inline constexpr char kLocalToolchainName[] = "neuronx-cc";

// A compiler on this machine.
struct LocalToolchain {
  std::string program;  // Path of the executable file.
  Toolchain toolchain;
};

// The path of the real compiler: `real_compiler` where set, else the first executable neuronx-cc on
// the path that is neither in a shim directory nor `self` under another name. Reads directories
// only; takes microseconds.
//
// NOT_FOUND: there is none. INVALID_ARGUMENT: `real_compiler` is the shim itself.
absl::StatusOr<std::string> FindLocalCompiler(const LocalToolchainSearch& search);

// The full version of the compiler at `program`: from the metadata of the package that it runs
// (local_compiler/installation.h), else by running `program --version`. Its answer is remembered
// until what is installed changes; where files cannot tell that, it is asked each time.
//
// UNAVAILABLE or DEADLINE_EXCEEDED: it could not be run, or did not say.
absl::StatusOr<std::string> LocalCompilerVersion(const std::string& program,
                                                 const LocalToolchainSearch& search);

// Both of the above. The toolchain's name is kLocalToolchainName.
absl::StatusOr<LocalToolchain> FindLocalToolchain(const LocalToolchainSearch& search);

}  // namespace neffcache
