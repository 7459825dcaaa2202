#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/identified_spec.h"

namespace neffcache::cli {

// Identifies many graphs on the machine's cores; `common` gives all but the path. One result for
// each path, in order. Every `period` the calling thread runs `on_tick` with how many are done.
std::vector<absl::StatusOr<IdentifiedSpec>> IdentifyAll(const std::vector<std::string>& paths,
                                                        const CompileSpec& common,
                                                        absl::Duration period,
                                                        absl::FunctionRef<void(size_t)> on_tick);

}  // namespace neffcache::cli
