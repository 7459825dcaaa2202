#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace neffcache {

// Compiler flags in canonical spelling: what the key covers and what the worker passes to the
// compiler.
struct NormalizedOptions {
  // Documented flags first, "--flag=value" and switches sorted by name, one each; then every
  // unknown token, verbatim and in order. Pass the graph and the output before these: the last ones
  // may take several words.
  std::vector<std::string> arguments;

  // Why the compile must not be cached, e.g. "SaveTemps asks for extra outputs". Empty: it may be.
  std::string uncacheable_reason;

  bool cacheable() const { return uncacheable_reason.empty(); }
};

// Says whether a file of this name (relative: to the directory the compiler would run in) exists.
using FileExists = std::function<bool(const std::string& path)>;

// Normalizes `flags` (argv without program, sub-command, input) for the toolchain of this name.
//
// For the neuronx-cc family: "--k v" is "--k=v", aliases are folded (-O1, -lnc, NEMO), the last one
// wins, output, log and verbosity flags and the wrapper's own are dropped, and --framework=XLA,
// which workers always say. Defaults are never filled in. Other toolchains' flags are kept as they
// are. Idempotent: normalizing `arguments` gives them back.
//
// A token that is not understood and names a file makes the compile uncacheable, since the file's
// content is not in the key; only a caller that gives `file_exists` has that checked. Pure without.
//
// INVALID_ARGUMENT: a flag that needs a value has none.
absl::StatusOr<NormalizedOptions> NormalizeOptions(absl::string_view toolchain_name,
                                                   absl::Span<const std::string> flags,
                                                   const FileExists& file_exists = nullptr);

// Refuses what a client may not ask of a worker's compiler: flags that write files elsewhere, ask
// for files beside the artifact, or load code, and every token that holds a path out of the
// compiler's directory. INVALID_ARGUMENT naming the flag. `arguments` are normalized.
absl::Status CheckAllowedOptions(absl::string_view toolchain_name,
                                 absl::Span<const std::string> arguments);

}  // namespace neffcache
