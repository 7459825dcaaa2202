#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace neffcache {

// Protobuf strings are UTF-8: one with other bytes can be written and never read again. Compilers
// print what they like. Pure functions.

bool IsUtf8(absl::string_view text);

// `bytes` with a question mark for each byte that is not part of UTF-8, and for each NUL, which is
// valid but ends the text for whoever prints it.
std::string ToUtf8(absl::string_view bytes);

// The last (first) `limit` bytes of `text` at most, never cutting a character in two.
absl::string_view Utf8Tail(absl::string_view text, size_t limit);
absl::string_view Utf8Head(absl::string_view text, size_t limit);

}  // namespace neffcache
