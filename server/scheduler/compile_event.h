#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/store/entry.h"

namespace neffcache {

// What a waiting client is told, in the words of cache.proto's CompileEvent.

struct NeedGraphEvent {};

struct QueuedEvent {
  // False: it is not in the store's queue yet, because the graph is still on its way from a client.
  // Only said to break a long silence; it does not count as "queued" for those who wait for that.
  bool kept = true;
  uint32_t position = 0;
  absl::Duration expected_wait;  // Zero when unknown.
  std::string reason;            // Empty when it is just its turn.
};

struct RunningEvent {
  absl::Duration elapsed;
  absl::Duration expected;  // Zero when unknown.
  uint64_t memory_bytes = 0;
  std::string last_log_line;
  std::string worker;
  uint32_t attempt = 1;
};

// Terminal.
struct ReadyEvent {
  Entry entry;
  bool compiled = false;  // False for a hit.
};

// Terminal.
struct FailedEvent {
  Entry entry;  // Its state is a Failure.
};

// Terminal: the request itself cannot be served (queue or disk full, store damaged, daemon
// stopping).
struct RefusedEvent {
  absl::Status status;
};

using CompileEvent =
    std::variant<NeedGraphEvent, QueuedEvent, RunningEvent, ReadyEvent, FailedEvent, RefusedEvent>;

inline bool IsTerminal(const CompileEvent& event) {
  return event.index() >= 3;
}

}  // namespace neffcache
