#pragma once

#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/cli/compile_batch.h"

namespace neffcache::cli {

// When a batch will be done, from how fast it went so far. A new estimate is made each time that
// something ends; in between the time left runs down.
//
// Pure: the caller tells the time. Used by one thread.
class BatchEta {
 public:
  // What is left at `elapsed` since the begin. Nothing: not known, or later than was thought.
  absl::optional<absl::Duration> Left(const BatchCounts& counts, absl::Duration elapsed);

 private:
  size_t ended_ = 0;
  absl::Duration end_;  // Since the begin.
};

// The progress of a batch in one line:
// "12/40 done, 3 hits, 1 failed, 8 running, 19 queued, 1m40s, ETA 3m10s".
std::string BatchProgressText(const BatchCounts& counts, absl::Duration elapsed,
                              absl::optional<absl::Duration> left);

// What came of it: "40 keys: 3 hits, 36 compiled, 1 failed in 1m40s".
std::string BatchSummaryText(const BatchCounts& counts, absl::Duration elapsed);

}  // namespace neffcache::cli
