#pragma once

#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace neffcache {

// How long people say that something may take: "90s", "2h" or a number of seconds. Nothing when the
// text is neither or is negative.
absl::optional<absl::Duration> ParseWaitTime(const std::string& text);

// The same for people to read, in whole seconds: "45s", "2m10s", "9m", "1h5m".
std::string WaitTimeText(absl::Duration duration);

}  // namespace neffcache
