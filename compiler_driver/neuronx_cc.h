#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler_driver/toolchain.h"
#include "compiler_driver/toolchain_table.h"

namespace neffcache {

inline constexpr absl::string_view kNeuronxCcName = "neuronx-cc";

// A directory with this file in it holds our shim, and not the compiler that it stands in for.
inline constexpr absl::string_view kShimMarker = ".neffcache-shim";

// The Neuron compiler: one `neuronx-cc compile` per graph, output a NEFF.
// NOT_FOUND when settings.neuronx_cc is not an executable file, or is empty and PATH has none
// besides our shim.
absl::StatusOr<std::unique_ptr<CompilerToolchain>> MakeNeuronxCc(const ToolchainSettings& settings);

// The first neuronx-cc on `path` that is not our shim: neither in a directory with the marker nor
// the program <program_directory>/../shim/neuronx-cc, by whatever link it is reached. NOT_FOUND
// when there is none.
absl::StatusOr<std::string> FindNeuronxCc(absl::string_view path,
                                          const std::string& program_directory);

// "2.14.227.0+2d4f85be" from the text that `neuronx-cc --version` prints. INVALID_ARGUMENT when
// there is no such line.
absl::StatusOr<std::string> ParseNeuronxCcVersion(absl::string_view text);

}  // namespace neffcache
