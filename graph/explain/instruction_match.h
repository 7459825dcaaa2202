#pragma once

#include <cstdint>
#include <vector>

#include "graph/explain/instruction_table.h"

namespace neffcache {

// Which instruction of one computation is which of another, by position on both sides.
struct InstructionMatching {
  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<uint32_t> after;   // By position before.
  std::vector<uint32_t> before;  // By position after.

  bool Has(uint32_t b, uint32_t a) const { return after[b] == a; }
};

// Finds for as many instructions as it can what they have become. In this order: what has not
// changed with all that it depends on; parameters by number; what stands in the same place below
// the root, and above what is matched already; what has the same fields. Then, where both sides of
// one place are left, what was replaced. Linear in instructions and edges, but for a bounded part.
InstructionMatching MatchInstructions(const InstructionTable& before,
                                      const InstructionTable& after);

}  // namespace neffcache
