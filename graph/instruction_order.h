#pragma once

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/hlo_index.h"
#include "io/digest.h"

namespace neffcache {

// Orders in which the instructions of one computation are numbered. All are permutations of the
// offsets [0, count); which one is chosen never makes two graphs equal, it can only make one graph
// have two descriptions.

// Operands and control predecessors before their users, otherwise as written. False when there is
// a cycle. Linear, without recursion.
bool TopologicalOrder(const HloIndex& index, const ComputationRecord& computation,
                      std::vector<uint32_t>* order);

// By structure: parameters by number, then what the root reaches, depth first, operands in order,
// then the other sinks. Where structure gives no order, structural digests do; `digests` is called
// then, at most once, and gives one for each offset. Needs an acyclic computation.
//
// Sorts the control predecessors in `index` on the way. Linear: telling equal sinks apart by what
// they share ends after a bounded effort, and the written order decides from there on.
std::vector<uint32_t> CanonicalOrder(HloIndex& index, const ComputationRecord& computation,
                                     absl::FunctionRef<std::vector<Digest>()> digests);

}  // namespace neffcache
