#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "compiler_driver/toolchain.h"
#include "compiler_driver/toolchain_table.h"

namespace neffcache {

// The Neuron compiler: one `neuronx-cc compile` per graph, output a NEFF.
// NOT_FOUND when settings.neuronx_cc is not an executable file, or is empty and PATH has none
// besides our shim.
absl::StatusOr<std::unique_ptr<CompilerToolchain>> MakeNeuronxCc(const ToolchainSettings& settings);

}  // namespace neffcache
