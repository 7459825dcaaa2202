#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace neffcache::cli {

// The one of `words` that `typed` was most likely meant to be: the fewest letters to put in, leave
// out or change. Empty when none is near.
std::string NearestWord(absl::string_view typed, const std::vector<std::string>& words);

}  // namespace neffcache::cli
