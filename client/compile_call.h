#pragma once

#include "absl/status/statusor.h"
#include "client/daemon.h"
#include "client/identified_spec.h"
#include "neffcache/client.h"

namespace neffcache {

// As Client::GetOrCompile(), for a spec that is identified.
//
// FAILED_PRECONDITION: the compile is uncacheable. CANCELLED: the daemon's calls were broken off.
absl::StatusOr<CompileOutcome> CompileThrough(Daemon& daemon, const IdentifiedSpec& spec,
                                              const WaitOptions& options,
                                              Acquaintance acquaintance = Acquaintance::kNone);

}  // namespace neffcache
