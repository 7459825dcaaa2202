#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "client/cli/session.h"
#include "graph/explain.h"

namespace neffcache::cli {

struct ExplainStoreOptions {
  std::string toolchain;
  size_t limit = ExplainOptions().max_differences;
  bool exact = false;
};

// A graph against what the daemon has: whether it is cached, and if not, how it differs from the
// entry that is most like it. The console fails when it is not cached.
absl::Status ExplainGraph(const std::string& path, const ExplainStoreOptions& options,
                          Session& session);

// Why a key was compiled, as the daemon recorded it. The console fails when the key is not ready.
absl::Status ExplainKey(const std::string& argument, Session& session);

// Which graphs of a bundle are the same but for scalar constants. The console fails when some are.
absl::Status ExplainBundle(const std::string& bundle, Session& session);

}  // namespace neffcache::cli
