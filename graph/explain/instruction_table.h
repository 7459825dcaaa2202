#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/explain/numbered_module.h"

namespace neffcache {

// What the instructions of one computation are matched by, under their canonical positions:
// operands stand before users. About 40 bytes an instruction and 4 an edge. The module must outlive
// it.
struct InstructionTable {
  // What trees take parameters for: where there are more or fewer, numbers and the names that go
  // with them have moved.
  enum class Parameters { kByNumber, kByShape };

  InstructionTable(NumberedModule& module, const ComputationRecord& computation,
                   Parameters parameters);

  struct Row {
    uint64_t own = 0;   // Of its own fields. Of parameters without their number.
    uint64_t tree = 0;  // And of all it depends on and calls.
    uint64_t opcode = 0;
    uint64_t shape = 0;
    uint32_t first_operand = 0;
    uint32_t operands = 0;
    bool is_parameter = false;
  };

  uint32_t size() const { return static_cast<uint32_t>(rows.size()); }
  absl::Span<const uint32_t> Operands(uint32_t position) const {
    return {operands.data() + rows[position].first_operand, rows[position].operands};
  }

  const ComputationRecord& computation;
  std::vector<Row> rows;
  std::vector<uint32_t> operands;    // Positions.
  std::vector<uint32_t> parameters;  // Positions, by parameter number.
  uint32_t root = 0;
};

}  // namespace neffcache
