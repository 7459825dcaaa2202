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

// Positions of instructions by offset, while they are being given out.
inline constexpr uint32_t kUnnumbered = UINT32_MAX;

// By structure: parameters by number, then what the root reaches, depth first, operands in order,
// then the other sinks. Where structure gives no order, digests of the instructions that have no
// position yet do; `digests` is called for them then, once at most, with the positions so far.
// Needs an acyclic computation.
//
// Sorts the control predecessors in `index` on the way. Linear: telling equal sinks apart by what
// they share ends after a bounded effort, and the written order decides from there on.
using DigestsOf = absl::FunctionRef<std::vector<Digest>(absl::Span<const uint32_t> positions)>;
std::vector<uint32_t> CanonicalOrder(HloIndex& index, const ComputationRecord& computation,
                                     absl::Span<const uint32_t> topological, DigestsOf digests);

}  // namespace neffcache
