#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler_driver/toolchain.h"

namespace neffcache {

// Where compilers are looked for.
struct ToolchainSettings {
  std::string neuronx_cc;                // The compiler's path; empty: looked for on PATH.
  std::string xla_cpu;                   // The program's path; empty: beside our own installation.
  std::string path;                      // Value of PATH.
  std::string program_directory;         // Where our own executable is.
  std::vector<std::string> environment;  // Of the compilers, see CompilerEnvironment.
};

// Names of all toolchains, in the order in which "auto" offers them.
std::vector<std::string> ToolchainNames();

// The toolchain of this name. INVALID_ARGUMENT listing the known ones when there is no such;
// NOT_FOUND when its compiler is not installed here.
absl::StatusOr<std::unique_ptr<CompilerToolchain>> MakeToolchain(absl::string_view name,
                                                                 const ToolchainSettings& settings);

}  // namespace neffcache
