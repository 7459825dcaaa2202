#include "graph/explain/instruction_table.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "graph/encoding.h"
#include "graph/explain/module_fields.h"
#include "graph/wire.h"

namespace neffcache {
namespace {

uint64_t Shorten(Sha256& hash) {
  return LoadFixed64(hash.Finish().bytes());
}

}  // namespace

// Digests cut to 64 bits suffice: a wrong match can only make an explanation worse.
InstructionTable::InstructionTable(NumberedModule& module, const ComputationRecord& record,
                                   Parameters by)
    : computation(record), root(module.PositionOf(record, record.root)) {
  const HloIndex& index = module.index();
  MessageEncoder& encoder = module.encoder();
  rows.resize(record.count);
  Encoding own, shape, tree;
  Sha256 hash;
  std::vector<uint64_t> controls;
  for (uint32_t position = 0; position < record.count; ++position) {
    const InstructionRecord& instruction = module.InstructionAt(record, position);
    Row& row = rows[position];
    row.is_parameter = instruction.is_parameter;
    if (row.is_parameter) parameters.push_back(position);  // Numbered first, in order.
    own.Truncate(0);
    shape.Truncate(0);
    MessageEncoder::Fields fields;
    if (module.writer().ReadInstruction(instruction, &fields)) {
      for (size_t i = fields.begin; i < fields.end;) {
        const MessageEncoder::Fields group = {i, encoder.GroupEnd(i, fields.end)};
        const WireField last = encoder.At(group.end - 1);
        i = group.end;
        if (last.number == kOpcodeField) row.opcode = absl::Hash<absl::string_view>()(last.bytes);
        if (last.number == kParameterNumberField && row.is_parameter) continue;
        const size_t begin = own.size();
        module.writer().WriteGroup(record, instruction, group, References::kOwnFieldsOnly, &own);
        if (last.number == kShapeField) shape.PutRaw(own.view(begin, own.size()));
      }
      encoder.Release(fields);
    }
    own.PutVarint(0);
    hash.Update(shape.view());
    row.shape = Shorten(hash);
    hash.Update(own.view());
    row.own = Shorten(hash);

    tree.Truncate(0);
    const bool by_shape = row.is_parameter && by == Parameters::kByShape;
    tree.PutVarint(by_shape ? row.shape : row.own);
    if (row.is_parameter && !by_shape) {
      tree.PutVarint(static_cast<uint64_t>(instruction.parameter_number));
    }
    row.first_operand = static_cast<uint32_t>(operands.size());
    row.operands = instruction.operands;
    for (const uint32_t offset : index.Operands(instruction)) {
      operands.push_back(module.PositionOf(record, offset));
      tree.PutVarint(rows[operands.back()].tree);
    }
    controls.clear();
    for (const uint32_t offset : index.Controls(instruction)) {
      controls.push_back(rows[module.PositionOf(record, offset)].tree);
    }
    std::sort(controls.begin(), controls.end());
    controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
    tree.PutByte('c');
    for (const uint64_t control : controls) tree.PutVarint(control);
    tree.PutByte('f');
    for (const uint32_t callee : index.Callees(instruction)) {
      tree.PutRaw(module.ContentOf(index.computations[callee]).bytes());
    }
    hash.Update(tree.view());
    row.tree = Shorten(hash);
  }
}

}  // namespace neffcache
