#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace neffcache {

// `text` with every byte that is not part of valid UTF-8 replaced by '?'. Names in graphs and cut
// log lines can be anything, and one bad byte in a proto3 string makes the receiver drop the whole
// message.
std::string ValidUtf8(absl::string_view text);

}  // namespace neffcache
