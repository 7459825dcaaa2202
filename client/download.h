#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "client/daemon.h"
#include "io/digest.h"
#include "neffcache/v1/cache.pb.h"

namespace neffcache {

// What to download, and what to call it in messages.
struct DownloadRequest {
  v1::FetchRequest::Kind kind = v1::FetchRequest::KIND_ARTIFACT;
  Digest digest;
  bool of_compile = false;  // A compile answer named it: see FetchRequest.
  bool recheck = false;  // What came before was damaged: the daemon is to look at its file again.
  std::string doing;     // "fetching artifact 3f2a…"
  Acquaintance acquaintance = Acquaintance::kNone;
};

// Whether to give up: asked for each piece, and before each try to go on after a break.
using ShouldStop = absl::FunctionRef<bool()>;
inline bool NeverStop() {
  return false;
}

// Gives the content's bytes, as the daemon sends them, piece by piece to `sink` (well-formed, see
// transport/framing.h). A stream that breaks or stalls is resumed at its offset until
// kFruitlessAttempts in a row bring nothing; a daemon that has gone away is tried again for the
// reconnect time-out. One that is no acquaintance and breaks before the first piece is given up at
// once. The bytes are not verified here.
//
// Errors: the daemon's (NOT_FOUND, DATA_LOSS, …), UNAVAILABLE or DEADLINE_EXCEEDED once it has
// given up, CANCELLED when `should_stop` said so or the daemon's calls were broken off, and
// whatever the sink returns, which ends the download at once.
absl::Status Download(Daemon& daemon, const DownloadRequest& request,
                      absl::FunctionRef<absl::Status(const grpc::ByteBuffer&)> sink,
                      ShouldStop should_stop = NeverStop);

inline constexpr int kFruitlessAttempts = 3;

}  // namespace neffcache
