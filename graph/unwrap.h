#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// The bytes of a graph without the gzip or zstd wrapping they may come in. `bytes` itself, without
// a copy, when there is none; else a view of `*storage`, which must outlive the result.
//
// RESOURCE_EXHAUSTED when more than `limit` bytes come out, DATA_LOSS for a damaged wrapper.
absl::StatusOr<absl::string_view> Unwrap(absl::string_view bytes, uint64_t limit,
                                         std::string* storage);

}  // namespace neffcache
