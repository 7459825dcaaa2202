#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/session.h"
#include "client/cli/toolchain_choice.h"
#include "client/identified_spec.h"
#include "graph/key.h"

namespace neffcache::cli {

// What a GRAPH|KEY argument means.
struct Target {
  std::string argument;  // As it was given.
  bool is_graph = false;
  Key key;
};

// Tells graphs and keys apart and gives each its key. An existing file is a graph, whatever its
// name; else 8 to 64 hex digits are a key or the unique prefix of one.
class TargetResolver {
 public:
  TargetResolver(Session& session, ToolchainChoice& toolchain)
      : session_(session), toolchain_(toolchain) {}

  // FAILED_PRECONDITION: an uncacheable graph.
  absl::StatusOr<Target> Resolve(const std::string& argument);

 private:
  Session& session_;
  ToolchainChoice& toolchain_;
};

// The identity of a GRAPH argument with the flags behind "--", cacheable or not.
absl::StatusOr<IdentifiedSpec> IdentifyGraphArgument(Session& session, ToolchainChoice& toolchain,
                                                     const std::string& path, bool exact_order);
// FAILED_PRECONDITION, naming the graph and why, for one that is never cached.
absl::Status CheckCacheable(const IdentifiedSpec& identified);

// True for 8 to 64 hex digits.
bool LooksLikeKey(absl::string_view argument);

// Of a GRAPH|KEY argument: an existing file is a graph, whatever its name.
bool IsKeyArgument(const std::string& argument);

// The key of a KEY argument; a usage error when it does not look like one.
absl::StatusOr<Key> ResolveKeyArgument(Session& session, const std::string& argument);

}  // namespace neffcache::cli
