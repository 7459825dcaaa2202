#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace neffcache {

// Which compiler starting a program runs, as far as files say: nothing is run, and it takes far
// less than a millisecond. Of the Python environment in which the program ends, reached through
// wrappers where need be (launch_chain.h).
struct Installation {
  // Another text after any change of what is run. Empty: files do not tell, because the program has
  // gone, or starts something that cannot be followed, or no such package is where it ends. Then
  // the compiler must be asked anew every time.
  std::string stamp;
  // The version in the package's metadata. Empty when files do not tell, or tell several.
  std::string version;
};

// The neuronx-cc that `program` starts: of the environment's package neuronx-cc, which a script
// that names its module runs.
Installation InspectNeuronxCc(const std::string& program);

// The distribution `name` (in pip's spelling: "jaxlib") as `python` sees it in its own environment,
// with every package whose name begins with `prefix`. `files` belong to the installation too.
Installation InspectPackage(const std::string& python, absl::string_view name,
                            absl::string_view prefix, absl::Span<const std::string> files);

// Identity, size and modification time of these files as text; a file that is missing counts as
// such.
std::string StampOf(absl::Span<const std::string> paths);

}  // namespace neffcache
