#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/daemon.h"
#include "graph/key.h"
#include "neffcache/client.h"

namespace neffcache {

// To have the artifacts, small ones of which come with the answer, or only to know of them, which
// the daemon counts as no use.
enum class LookupFor { kUse, kState };

// One state for each key, in order, in as many calls as the protocol's limits make necessary.
absl::StatusOr<std::vector<KeyState>> LookupThrough(Daemon& daemon, absl::Span<const Key> keys,
                                                    absl::string_view bundle, LookupFor what_for);

}  // namespace neffcache
