#pragma once

#include "absl/status/statusor.h"
#include "client/daemon.h"
#include "client/identified_spec.h"
#include "neffcache/client.h"

namespace neffcache {

// One Compile stream from start to end in the calling thread: asks for the artifact of an
// identified spec, sends the graph when asked to, reports progress, and returns what came of it.
//
// FAILED_PRECONDITION: the compile is uncacheable. DEADLINE_EXCEEDED: `options.timeout` is over, or
// the daemon was silent for the stall time-out. An upload that cannot read the graph's file ends
// the call with that error.
absl::StatusOr<CompileOutcome> CompileThrough(Daemon& daemon, const IdentifiedSpec& spec,
                                              const WaitOptions& options);

}  // namespace neffcache
