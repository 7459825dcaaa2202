#include "graph/options.h"

namespace neffcache {

absl::StatusOr<NormalizedOptions> NormalizeOptions(absl::string_view,
                                                   absl::Span<const std::string> flags) {
  return NormalizedOptions{{flags.begin(), flags.end()}, ""};
}

absl::Status CheckAllowedOptions(absl::string_view, absl::Span<const std::string>) {
  return absl::OkStatus();
}

}  // namespace neffcache
