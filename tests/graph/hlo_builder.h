#pragma once

// Small modules for tests, written out by hand.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/graph/proto_tree.h"

namespace neffcache {

// f32[dimensions] in row-major order.
inline ProtoMessage ShapeOf(const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> minor_to_major;
  for (size_t i = dimensions.size(); i-- > 0;) minor_to_major.push_back(static_cast<int64_t>(i));
  ProtoMessage layout = {.type = HloMessage::kLayout, .fields = {}};
  layout.Varints(1, minor_to_major).Varint(16, 1);
  ProtoMessage shape = {.type = HloMessage::kShape, .fields = {}};
  shape.Varint(2, 11).Varints(3, dimensions);
  for (size_t i = 0; i < dimensions.size(); ++i) shape.Varint(6, 0);
  return shape.Message(5, layout);
}

inline ProtoMessage Instruction(absl::string_view opcode, int64_t id,
                                const std::vector<int64_t>& operands = {}) {
  ProtoMessage instruction = {.type = HloMessage::kInstruction, .fields = {}};
  instruction.Bytes(1, absl::StrCat(opcode, ".", id)).Bytes(2, opcode);
  instruction.Message(3, ShapeOf({2, 3})).Varint(35, static_cast<uint64_t>(id));
  return instruction.Varints(36, operands);
}

inline ProtoMessage Parameter(int64_t id, uint64_t number) {
  return Instruction("parameter", id).Varint(9, number);
}

inline ProtoMessage Computation(int64_t id, int64_t root,
                                const std::vector<ProtoMessage>& instructions) {
  ProtoMessage computation = {.type = HloMessage::kComputation, .fields = {}};
  computation.Bytes(1, absl::StrCat("computation.", id));
  for (const ProtoMessage& instruction : instructions) computation.Message(2, instruction);
  return computation.Varint(5, static_cast<uint64_t>(id)).Varint(6, static_cast<uint64_t>(root));
}

inline ProtoMessage Module(const std::vector<ProtoMessage>& computations, int64_t entry) {
  ProtoMessage module = {.type = HloMessage::kModule, .fields = {}};
  module.Bytes(1, "test_module.1").Bytes(2, "main");
  for (const ProtoMessage& computation : computations) module.Message(3, computation);
  return module.Varint(6, static_cast<uint64_t>(entry));
}

// root = add(multiply(p0, p1), p1): what most tests start from.
inline ProtoMessage SmallModule() {
  return Module({Computation(1, 4,
                             {Parameter(1, 0), Parameter(2, 1), Instruction("multiply", 3, {1, 2}),
                              Instruction("add", 4, {3, 2})})},
                1);
}

inline ProtoMessage& InstructionAt(ProtoMessage& module, size_t computation, size_t instruction) {
  return module.At(3, computation).At(2, instruction);
}

}  // namespace neffcache
