#pragma once

#include "absl/status/statusor.h"
#include "client/daemon.h"
#include "client/identified_spec.h"
#include "neffcache/client.h"

namespace neffcache {

// Whether the caller has spoken with this daemon before. One that never answered is not waited for:
// compiling here is faster than waiting for a daemon that is not there.
enum class Acquaintance { kNone, kDaemonWasThere };

// As Client::GetOrCompile(), for a spec that is identified.
//
// FAILED_PRECONDITION: the compile is uncacheable. CANCELLED: the daemon's calls were broken off.
absl::StatusOr<CompileOutcome> CompileThrough(Daemon& daemon, const IdentifiedSpec& spec,
                                              const WaitOptions& options,
                                              Acquaintance acquaintance = Acquaintance::kNone);

}  // namespace neffcache
