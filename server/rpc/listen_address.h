#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// "HOST:PORT" or "[V6]:PORT", taken apart.
struct ListenAddress {
  std::string host;   // Without brackets.
  uint16_t port = 0;  // 0: any free one.

  // INVALID_ARGUMENT when it has another form.
  static absl::StatusOr<ListenAddress> Parse(absl::string_view text);

  std::string ToString() const;
  // Where a process of this machine reaches it: the loopback address when the host is a wildcard.
  std::string Local() const;

  // Whether the host means this machine only, whatever it resolves to. Resolves names.
  bool IsLoopback() const;
  // OK when a socket can be bound there now, else the reason: "listening on 127.0.0.1:7433: Address
  // already in use". gRPC itself does not say.
  absl::Status TryBind() const;
};

}  // namespace neffcache
