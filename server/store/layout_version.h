#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace neffcache {

// Version of the layout that this program writes; it reads no other yet.
inline constexpr uint32_t kLayoutVersion = 1;

// FAILED_PRECONDITION unless this program can read the store in `directory`.
absl::Status CheckLayoutVersion(uint32_t version, const std::string& directory);

}  // namespace neffcache
