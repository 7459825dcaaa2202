#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/hlo_schema.h"

namespace neffcache {

// "bf16"; empty for a type that is not known.
absl::string_view PrimitiveTypeName(int64_t type);

// The name of an enumerator of field `number` of `message`, as XLA prints it; empty where none is
// known.
absl::string_view EnumName(HloMessage message, uint32_t number, int64_t value);

}  // namespace neffcache
