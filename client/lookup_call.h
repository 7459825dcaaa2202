#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/daemon.h"
#include "graph/key.h"
#include "neffcache/client.h"

namespace neffcache {

// One state for each key, in order, in as many calls as the protocol's limits make necessary.
absl::StatusOr<std::vector<KeyState>> LookupThrough(Daemon& daemon, absl::Span<const Key> keys,
                                                    absl::string_view bundle);

}  // namespace neffcache
