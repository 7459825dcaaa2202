#pragma once

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "neffcache/client.h"

namespace neffcache::shim {

// Decides when a wait is worth a line, and what it says. Nothing is said of a quick one; after that
// a trainer's log shows why nothing happens, without being filled with it. A daemon that goes away
// is worth a line each time, which says what broke: it may be there and draining.
//
// Pure: the caller tells the time. Not thread-safe.
class WaitNotice {
 public:
  // `now` is when the wait begins.
  WaitNotice(std::string daemon, absl::Time now)
      : daemon_(std::move(daemon)), begin_(now), next_(now + kQuick) {}

  // The line to show now, without an end; empty: none.
  std::string On(const CompileProgress& progress, absl::Time now);

 private:
  std::string Because(absl::string_view detail) const;

  static constexpr absl::Duration kQuick = absl::Seconds(10);
  static constexpr absl::Duration kEvery = absl::Minutes(1);

  const std::string daemon_;
  const absl::Time begin_;
  absl::Time next_;
  bool away_ = false;
};

}  // namespace neffcache::shim
