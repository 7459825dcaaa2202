#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace neffcache {

// `bytes` with every byte that is not part of valid UTF-8 replaced by '?', and NUL too: protobuf
// refuses strings that are not UTF-8, and compilers print what they like. Pure.
std::string ToUtf8(absl::string_view bytes);

// The last (first) `limit` bytes of `text` at most, never cutting a character in two. Pure.
absl::string_view Utf8Tail(absl::string_view text, size_t limit);
absl::string_view Utf8Head(absl::string_view text, size_t limit);

}  // namespace neffcache
