#pragma once

#include <string>

#include "absl/time/time.h"
#include "client/cli/compile_batch.h"

namespace neffcache::cli {

// The progress of a batch in one line:
// "12/40 done, 3 hits, 1 failed, 8 running, 19 queued, 0.4/s, ETA 1m10s".
std::string BatchProgressText(const BatchCounts& counts, absl::Duration elapsed);

// What came of it: "40 keys: 3 hits, 36 compiled, 1 failed in 1m40s".
std::string BatchSummaryText(const BatchCounts& counts, absl::Duration elapsed);

}  // namespace neffcache::cli
