#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace neffcache {

// The environment of a compiler: an allow-list, because what the compiler reads from elsewhere may
// change its output without changing the key.
//
// Passed on: search paths, home, locale, user, time zone, Python and virtual environments. Besides
// these the names in `also_pass`, where a trailing '*' stands for any ending. `given` comes last
// and replaces. NEFFCACHE_DISABLE=1 is always set: a shim that the compiler may meet on its PATH
// must step aside.
//
// `inherited` is a null-terminated array such as `environ`. Returns "NAME=value" strings. Pure.
std::vector<std::string> CompilerEnvironment(
    const char* const* inherited, absl::Span<const std::string> also_pass,
    absl::Span<const std::pair<std::string, std::string>> given);

}  // namespace neffcache
