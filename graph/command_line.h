#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace neffcache {

// A neuronx-cc command line, taken apart (facts of the callers: libneuronxla, nkipy, vLLM-Neuron,
// TorchNeuron).
//
// "--target" may precede the sub-command, the input may stand anywhere, "--k v" and "--k=v" both
// occur, and
// "--pipeline" takes several words.
struct CommandLine {
  std::string subcommand;           // "compile", "list-operators"; empty when there is none.
  std::vector<std::string> inputs;  // Positional arguments after the sub-command: the graph files.
  std::string output;               // Value of --output or -o; empty when absent.
  std::string logfile;              // Value of --logfile; empty when absent.
  std::vector<std::string>
      flags;  // Everything else, in order and as spelled: input of NormalizeOptions.

  // True for one graph in, one artifact out: `compile`, exactly one input, an output. Anything else
  // is handed to the real compiler untouched.
  bool IsPlainCompile() const;
};

// Never fails: what it does not understand ends up in `flags`, and what is not a plain compile is
// not ours. `arguments` is argv without argv[0].
CommandLine ParseCommandLine(absl::Span<const std::string> arguments);

}  // namespace neffcache
