#pragma once

#include <grpcpp/channel.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/daemon.h"
#include "client/identified_spec.h"
#include "neffcache/client.h"

namespace neffcache {

// How one Compile stream ended.
struct CompileStreamEnd {
  absl::StatusOr<CompileOutcome> outcome;
  // When the daemon first said anything; the future without end: it never did.
  absl::Time accepted = absl::InfiniteFuture();
  // The compile was queued or running: what comes of it was waited for.
  bool waited = false;
};

// One Compile stream from start to end in the calling thread: asks for the artifact of an
// identified spec, sends the graph when asked to, reports progress, and returns what came of it.
//
// DEADLINE_EXCEEDED: `limit` (of `options.timeout`, what is left) is over, or the daemon was silent
// for the stall time-out. UNAVAILABLE: the stream broke. An upload that cannot read the graph's
// file ends the call with that error.
CompileStreamEnd RunCompileStream(Daemon& daemon, const std::shared_ptr<grpc::Channel>& channel,
                                  const IdentifiedSpec& spec, const WaitOptions& options,
                                  absl::Duration limit);

}  // namespace neffcache
