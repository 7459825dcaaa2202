#pragma once

#include <string>

#include "graph/explain/field_change.h"
#include "graph/explain/message_difference.h"
#include "graph/explain/numbered_module.h"

namespace neffcache {

// What differs between two instructions, apart from what they refer to.
struct InstructionChange {
  std::string shape;  // "f32[8] → f32[16]"; empty for equal ones.
  // With the shape, where that differs: "s32[] 3 → 5", "f32[] 3 → bf16[] 3", "literal of f32[1024]:
  // 3 of 1024 elements differ, ...".
  std::string literal;
  FieldChanges fields;  // All others.
};

// Compares two instructions by their canonical forms.
InstructionChange CompareInstructions(NumberedModule& before, const InstructionRecord& b,
                                      NumberedModule& after, const InstructionRecord& a,
                                      const IdentifyOptions& options, MessageDiffer& differ);

// "bf16[8,128]" of an instruction, "?" when it has no shape.
std::string ShapeOf(NumberedModule& module, const InstructionRecord& instruction,
                    HloText::Layouts layouts);

}  // namespace neffcache
