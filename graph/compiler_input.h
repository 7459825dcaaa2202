#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// The bytes that a compiler is to be given for a graph: unwrapped and out of its pack, and the bare
// HloModuleProto out of an HloProto or HloSnapshot. All of these have one fingerprint, so one
// compile has to do for all, and compilers read bare modules only. A view of `bytes` or of
// `*storage`, which must both outlive it.
//
// Errors as IdentifyGraph's.
absl::StatusOr<absl::string_view> CompilerInput(absl::string_view bytes, uint64_t unwrap_limit,
                                                std::string* storage);

}  // namespace neffcache
