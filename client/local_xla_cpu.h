#pragma once

#include "absl/status/statusor.h"
#include "client/local_toolchain.h"
#include "graph/key.h"

namespace neffcache {

inline constexpr char kXlaCpuToolchainName[] = "xla-cpu";

// The xla-cpu toolchain of this machine: xla-cpu-compile in the installation that `search.self` is
// part of, asked for its version, which takes the seconds that JAX takes to start.
//
// NOT_FOUND: there is none. UNAVAILABLE or DEADLINE_EXCEEDED: it could not be run, or did not say,
// for want of JAX perhaps.
absl::StatusOr<LocalToolchain> FindLocalXlaCpu(const LocalToolchainSearch& search);

}  // namespace neffcache
