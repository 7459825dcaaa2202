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
  bool recheck = false;  // What came before was damaged: the daemon is to look at its file again.
  std::string doing;     // "fetching artifact 3f2a…"
};

// Gives the content's bytes, as the daemon sends them, piece by piece to `sink` (well-formed, see
// transport/framing.h). A stream that breaks or stalls is resumed at its offset, until
// kFruitlessAttempts in a row bring nothing. The bytes are not verified here.
//
// Errors: the daemon's (NOT_FOUND, DATA_LOSS, …), UNAVAILABLE or DEADLINE_EXCEEDED once it has
// given up, and whatever the sink returns, which ends the download at once.
absl::Status Download(Daemon& daemon, const DownloadRequest& request,
                      absl::FunctionRef<absl::Status(const grpc::ByteBuffer&)> sink);

inline constexpr int kFruitlessAttempts = 3;

}  // namespace neffcache
