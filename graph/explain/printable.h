#pragma once

// Words from graphs that nobody has vouched for, as parts of one line for people.

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace neffcache {

// Valid UTF-8 without control characters: what is neither is written as \xNN. At most `limit`
// bytes, of which the last are "…" when it was cut.
std::string Printable(absl::string_view text, size_t limit);

// "name" without the running numbers at its end: "add.12" and "add.7" are "add".
absl::string_view WithoutRunningNumber(absl::string_view name);

// What stands between before and after.
inline constexpr absl::string_view kBecomes = " \u2192 ";

}  // namespace neffcache
