#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler_driver/toolchain.h"
#include "compiler_driver/toolchain_table.h"

namespace neffcache {

inline constexpr absl::string_view kXlaCpuName = "xla-cpu";

// JAX's XLA compiler for the host CPU, behind libexec/neffcache/xla-cpu-compile:
//
//   xla-cpu-compile --version                        one line, "xla-cpu <version>"
//   xla-cpu-compile [OPTION...] GRAPH --output FILE  0: done; 1: bad graph, a line that begins with
//                                                    "error:"; 2: bad option; 3: the environment
//
// NOT_FOUND when the program is not installed.
absl::StatusOr<std::unique_ptr<CompilerToolchain>> MakeXlaCpu(const ToolchainSettings& settings);

}  // namespace neffcache
