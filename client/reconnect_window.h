#pragma once

#include <cstdint>
#include <random>

#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace neffcache {

// For how long, and how often, a wait whose stream broke is tried again.
//
// The window opens at a break and closes `length` later. A stream that held for as long as that
// ends it: the next break opens a new one. A daemon that comes and goes faster counts as away, so
// that a graph that brings it down does not keep its trainer waiting. Tries follow each other with
// doubling delays, shortened by chance: a thousand clients lose their daemon at the same moment.
//
// Pure: the caller tells the time. Used by one thread.
class ReconnectWindow {
 public:
  ReconnectWindow(absl::Duration length, uint32_t seed) : length_(length), random_(seed) {}

  // A try ended at `now`, after the daemon had answered it for `held`; zero: not at all. Returns
  // how long to wait before the next, or nothing when the window is closed.
  absl::optional<absl::Duration> AfterBreak(absl::Time now, absl::Duration held);

  // When the window opened; the past without end before the first break.
  absl::Time opened() const { return opened_; }

 private:
  const absl::Duration length_;
  std::minstd_rand random_;
  absl::Time opened_ = absl::InfinitePast();
  int tries_ = 0;
};

}  // namespace neffcache
