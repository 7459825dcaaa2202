#pragma once

#include "absl/status/statusor.h"
#include "io/file.h"

namespace neffcache {

// SIGINT and SIGTERM as something to wait for, in place of a handler.
class StopSignals {
 public:
  enum class Event { kSignal, kOther };

  // Blocks the signals in the calling thread and those it will start: to be called before there are
  // others.
  static absl::StatusOr<StopSignals> Take();

  // Blocks until one of the signals has come (and consumes it), or `other` can be read.
  Event Await(int other) const;

 private:
  explicit StopSignals(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

}  // namespace neffcache
