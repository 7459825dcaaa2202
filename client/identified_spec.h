#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "graph/fingerprint.h"
#include "graph/key.h"
#include "neffcache/client.h"

namespace neffcache {

// A spec whose graph was read once: what the calls to a daemon are made of. A plain value.
struct IdentifiedSpec {
  CompileSpec spec;
  KeyMaterial material;
  Key key;
  GraphIdentity graph;
  std::string uncacheable_reason;  // Of the graph or of the options; empty: cacheable.
};

// As the public Identify(): no daemon; errors name the graph's file.
absl::StatusOr<IdentifiedSpec> IdentifySpec(const CompileSpec& spec);

// What identifies a graph on this host: files that it names are read here. Whatever reads a graph
// must use these, or graphs with kernels are not the same to all.
IdentifyOptions OptionsOfHost(GraphOrder order);

// Fingerprints a graph file, reading the files that it names. Errors name the file.
absl::StatusOr<GraphIdentity> IdentifyGraphFile(const std::string& path, GraphOrder order);

}  // namespace neffcache
