#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "client/daemon.h"
#include "graph/key.h"

namespace neffcache {

// What the daemon's workers offer, each once.
absl::StatusOr<std::vector<Toolchain>> ListToolchainsThrough(Daemon& daemon);

}  // namespace neffcache
