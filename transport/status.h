#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// The one place where our errors become gRPC's and back. Codes have equal numbers; messages are
// kept, up to 2 KiB of them.
grpc::Status ToGrpc(const absl::Status& status);

// `doing` begins the message, e.g. "looking up 3 keys at 127.0.0.1:7433".
absl::Status FromGrpc(const grpc::Status& status, absl::string_view doing);

}  // namespace neffcache
