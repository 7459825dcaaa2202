#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// Sends the log of this process, gRPC's included, to stderr as lines of key=value pairs:
//   ts=2026-01-31T12:00:00.000Z level=info event=listening address=127.0.0.1:7433
// Call once, before threads start. `level` is one that CheckLogLevel takes.
void StartLogging(absl::string_view level);

// Logs a warning of the store's database. Thread-safe.
void LogOfDatabase(absl::string_view line);
// What DispatcherOptions::log receives, as event=queue.
void LogOfQueue(absl::string_view line);

// INVALID_ARGUMENT: there is no such level; the message lists them.
absl::Status CheckLogLevel(absl::string_view level);

}  // namespace neffcache
