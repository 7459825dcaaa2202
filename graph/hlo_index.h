#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace neffcache {

// What is remembered of an instruction between the reading that finds it and the one that writes
// it; about 80 bytes with its edges.
struct InstructionRecord {
  absl::string_view bytes;
  uint64_t first_edge = 0;    // Operands, then control predecessors, in HloIndex::edges.
  uint64_t first_callee = 0;  // In HloIndex::callees.
  int64_t parameter_number = 0;
  uint32_t id = 0;  // The low half; the upper one may be the computation's.
  uint32_t operands = 0;
  uint32_t controls = 0;
  uint32_t callee_count = 0;
  bool is_parameter = false;
  bool has_payload = false;       // Its backend_config may stand in the module's payload table.
  bool is_native_kernel = false;  // An NKI kernel, whose configuration names a file.
  bool is_neuron_custom = false;  // Another Neuron call that may name files.
};

struct ComputationRecord {
  absl::string_view bytes;
  int64_t id = 0;
  uint32_t index = 0;  // Its own, in HloIndex::computations.
  uint32_t first = 0;  // Its instructions in HloIndex::instructions: [first, first + count).
  uint32_t count = 0;
  uint32_t root = 0;     // As an offset from `first`.
  bool in_order = true;  // Operands and control predecessors stand before their users.
};

// Where everything in an HloModuleProto stands, and its references resolved as XLA does: operands,
// control predecessors and roots by the low half of the id within a computation, called
// computations by the full id. Views point into the module's bytes. Immutable once built, except
// for the order of control predecessors, which means nothing.
struct HloIndex {
  absl::string_view module;
  std::vector<ComputationRecord> computations;
  std::vector<InstructionRecord> instructions;
  std::vector<uint32_t> edges;    // Offsets from the computation's first instruction.
  std::vector<uint32_t> callees;  // Indices of computations.
  std::vector<absl::string_view> payloads;
  absl::flat_hash_map<int64_t, uint32_t> by_id;  // Computations.
  uint32_t entry = 0;
  std::string name;

  // The first field of the module or a computation that rules out renumbering, e.g. "module field
  // 101 is unknown". Empty: none. Those of instructions are found when they are written.
  std::string opaque_reason;

  absl::Span<const uint32_t> Operands(const InstructionRecord& instruction) const {
    return {edges.data() + instruction.first_edge, instruction.operands};
  }
  absl::Span<const uint32_t> Controls(const InstructionRecord& instruction) const {
    return {edges.data() + instruction.first_edge + instruction.operands, instruction.controls};
  }
  // All edges: what must come before the instruction.
  absl::Span<const uint32_t> Predecessors(const InstructionRecord& instruction) const {
    return {edges.data() + instruction.first_edge,
            size_t{instruction.operands} + instruction.controls};
  }
  absl::Span<const uint32_t> Callees(const InstructionRecord& instruction) const {
    return {callees.data() + instruction.first_callee, instruction.callee_count};
  }
  // Those of all its instructions, as written.
  absl::Span<const uint32_t> Callees(const ComputationRecord& computation) const;
  // The instruction of this id; an offset from `first`, or nothing.
  bool FindInstruction(const ComputationRecord& computation, int64_t id, uint32_t* offset) const;

  // For FindInstruction, by computation: offsets in a table of ids, or sorted by id.
  struct Ids {
    static constexpr uint32_t kNone = UINT32_MAX;
    uint32_t base = 0;
    std::vector<uint32_t> table;
    std::vector<uint32_t> sorted;
  };
  std::vector<Ids> ids;
};

// Reads a module once. DATA_LOSS: the module is cut short, or its fields are damaged.
// INVALID_ARGUMENT for what else is no well-formed module: damage deeper inside, duplicate or
// dangling ids, no entry computation. Does not look for cycles.
absl::StatusOr<HloIndex> IndexModule(absl::string_view module);

// True when these bytes have the shape of an HloModuleProto: a computation with an instruction that
// has an opcode. Damage behind the first instruction does not matter.
bool LooksLikeModule(absl::string_view bytes);

// The name written in an instruction, for messages.
std::string NameOf(const InstructionRecord& instruction);

}  // namespace neffcache
