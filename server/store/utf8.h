#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace neffcache {

// Protobuf strings are UTF-8: one with other bytes can be written and never read again.

bool IsUtf8(absl::string_view text);

// `text` with a question mark for each byte that is not part of UTF-8: for a compiler's output.
std::string ToUtf8(absl::string_view text);

}  // namespace neffcache
