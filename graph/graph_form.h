#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "graph/fingerprint.h"

namespace neffcache {

// What unwrapped bytes are, and the module within them.
struct RecognizedGraph {
  GraphForm form = GraphForm::kOpaque;
  absl::string_view module;  // Of the HLO forms: the HloModuleProto, a part of the bytes.
  // Why the module cannot be taken out of its container, e.g. "HloProto field 7 is unknown". The
  // bytes are then to be taken as a whole. Empty: it can.
  std::string opaque_reason;
  bool cut_short = false;  // The reason is that the container is damaged or ends too early.
};

// By structure, not by name. Looks no further than it must: a recognized module may be damaged.
RecognizedGraph RecognizeGraph(absl::string_view bytes);

}  // namespace neffcache
