#pragma once

// Words from graphs that nobody has vouched for, as parts of one line for people.

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace neffcache {

// Valid UTF-8 without control characters: what is neither is written as \xNN. At most `limit`
// bytes, of which the last are "…" when it was cut.
std::string Printable(absl::string_view text, size_t limit);

// What stands between before and after.
inline constexpr absl::string_view kBecomes = " \u2192 ";

}  // namespace neffcache
