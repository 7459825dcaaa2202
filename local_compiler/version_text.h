#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace neffcache {

// "2.14.227.0+2d4f85be" from the line "NeuronX Compiler version 2.14.227.0+2d4f85be" of what
// `neuronx-cc --version` prints; warnings may stand around it. Empty when there is no such line, or
// what it says looks like no version.
std::string ParseNeuronxCcVersion(absl::string_view text);

// "0.4.38" from the line "xla-cpu 0.4.38" of what `xla-cpu-compile --version` prints; warnings of
// Python libraries may stand around it. Empty when there is no such line.
std::string ParseXlaCpuVersion(absl::string_view text);

}  // namespace neffcache
