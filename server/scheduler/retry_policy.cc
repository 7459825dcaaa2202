#include "server/scheduler/retry_policy.h"

#include <algorithm>

namespace neffcache {

Verdict RetryPolicy::Judge(FailureClass failure_class, const Attempts& attempts) const {
  const bool attempts_left = attempts.made < max_attempts;
  Verdict verdict;
  switch (failure_class) {
    case FailureClass::kDeterministic:
      verdict.remember = failure_ttl;
      break;
    case FailureClass::kMemory:
      verdict.retry = attempts_left;
      verdict.double_memory = true;
      break;
    case FailureClass::kTransient:
      verdict.retry = attempts_left;
      verdict.elsewhere = true;
      // The shift is bounded: 2^16 times the first back-off is beyond any sensible maximum.
      verdict.back_off = std::min(
          max_back_off, first_back_off * (1 << std::min(16u, std::max(1u, attempts.made) - 1)));
      break;
    case FailureClass::kUnclear:
      verdict.retry = attempts_left && attempts.unclear < 2;
      verdict.elsewhere = true;
      verdict.remember = unclear_failure_ttl;
      break;
  }
  return verdict;
}

Verdict RetryPolicy::JudgeLostWorker(const Attempts& attempts) const {
  Verdict verdict = Judge(FailureClass::kTransient, attempts);
  verdict.back_off = absl::ZeroDuration();
  return verdict;
}

}  // namespace neffcache
