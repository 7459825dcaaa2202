#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "server/store/entry.h"

namespace neffcache {

// What is done about a failed attempt.
struct Verdict {
  bool retry = false;
  absl::Duration back_off;     // Before the retry.
  bool double_memory = false;  // For the retry.
  bool elsewhere = false;      // Another worker is preferred for the retry.
  absl::Duration remember;     // Without a retry: for how long callers get this failure. Zero: not.
};

// The attempts of one compile so far, the failed one included.
struct Attempts {
  uint32_t made = 0;
  uint32_t unclear = 0;  // Of them, ended with an unclear failure.
};

// Which failures are tried again, and which are remembered:
//
//   deterministic  never again; remembered
//   memory         again with doubled memory, at most `max_attempts` in all; not remembered
//   transient      again on another worker after a back-off, likewise; not remembered
//   unclear        once more on another worker; remembered for a short time
struct RetryPolicy {
  uint32_t max_attempts = 3;
  absl::Duration failure_ttl = absl::Hours(24);
  absl::Duration unclear_failure_ttl = absl::Minutes(10);
  absl::Duration first_back_off = absl::Seconds(1);  // Doubles with each attempt,
  absl::Duration max_back_off = absl::Minutes(1);    // up to this.

  Verdict Judge(FailureClass failure_class, const Attempts& attempts) const;
  // A worker that is lost fails its compiles transiently, but there is nothing to wait for: they
  // are free to start elsewhere at once.
  Verdict JudgeLostWorker(const Attempts& attempts) const;
};

}  // namespace neffcache
