#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/fingerprint.h"
#include "io/digest.h"

namespace neffcache {

// A computation of a graph. Two with equal content do the same, whatever they are called.
struct ComputationPart {
  Digest content;  // Instructions and all that they call.
  uint64_t instructions = 0;
  std::string name;  // For people; printable, at most 100 bytes.

  friend bool operator==(const ComputationPart&, const ComputationPart&) = default;
};

// Digests of a graph's parts, by which near misses are found, and named without the graphs
// themselves. A plain value, about 100 bytes a computation. None of these is part of a key; their
// encoding is in docs/formats/keys.md.
struct GraphParts {
  Digest signature;   // How the graph is called: entry program shape, aliases, donors, shardings.
  Digest attributes;  // The module's other fields; a schedule is in none of the parts.
  Digest skeleton;    // All of the graph but the values of scalar constants.
  std::vector<ComputationPart> computations;  // In the order of the description: callees first.

  friend bool operator==(const GraphParts&, const GraphParts&) = default;
};

// The parts of a graph, whatever IdentifyOptions::order: always by structure. Pure, linear, bounded
// as IdentifyGraph is; takes about three times as long.
//
// Errors: IdentifyGraph's, and FAILED_PRECONDITION where the form is not canonicalized HLO, with
// the reason.
absl::StatusOr<GraphParts> PartsOfGraph(absl::string_view bytes,
                                        const IdentifyOptions& options = {});

// The parts with the `most` largest computations alone, still in their order: a bounded value,
// equal for equal parts.
GraphParts LargestParts(GraphParts parts, size_t most);

// What differs, in one printable line of at most 300 bytes, when the graphs themselves are not at
// hand: "parameters or results; 2 of 14 computations: region_3.12, main.77 (212 → 213
// instructions)". "nothing but the order or the schedule" for equal parts.
std::string DescribePartDifference(const GraphParts& before, const GraphParts& after);

}  // namespace neffcache
