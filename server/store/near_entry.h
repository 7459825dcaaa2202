#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "graph/key.h"
#include "graph/parts.h"
#include "server/store/entry.h"

namespace neffcache {

// A key for which entries are wanted that are like it.
struct NearQuery {
  Key key;  // Itself is never near.
  KeyMaterial material;
  std::string graph_name;     // The module's name; empty when unknown.
  uint64_t instructions = 0;  // 0 when unknown.
  absl::optional<GraphParts> parts;
};

struct NearEntry {
  Entry entry;
  absl::optional<GraphParts> parts;  // Of the largest computations.
};

// Why a key had to be compiled.
struct Miss {
  std::string explanation;  // One line.
  Key nearest;              // Empty when no entry is like it.
  absl::Time explained = absl::UnixEpoch();

  friend bool operator==(const Miss&, const Miss&) = default;
};

// How much the graph and the material of an entry are like the query's; 0: not at all. The same
// graph with other options or another toolchain is nearest, then graphs that differ in constants,
// then those that share most of their instructions, a signature or a name.
int Likeness(const NearQuery& query, const NearEntry& near);

// A module's name without the number that tracers put at its end: "SyncTensorsGraph.123".
absl::string_view NameStem(absl::string_view graph_name);

}  // namespace neffcache
