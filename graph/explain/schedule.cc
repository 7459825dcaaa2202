#include "graph/explain/schedule.h"

#include "graph/explain/module_fields.h"
#include "graph/wire.h"

namespace neffcache {
namespace {

void ReadSequence(const NumberedModule& module, const ComputationRecord& computation,
                  absl::string_view bytes, std::vector<uint32_t>* sequence) {
  const auto take = [&](uint64_t id) {
    uint32_t offset = 0;
    if (module.index().FindInstruction(computation, static_cast<int64_t>(id), &offset)) {
      sequence->push_back(module.PositionOf(computation, offset));
    }
  };
  WireReader reader(bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.type == WireType::kVarint) take(field.value);
    if (field.type == WireType::kBytes) ForEachPacked(field.bytes, take);
  }
}

}  // namespace

// What is damaged here is no description, and was found before.
Schedule::Schedule(const NumberedModule& module) {
  const HloIndex& index = module.index();
  sequences.resize(index.computations.size());
  WireReader reader(index.module);
  for (WireField field; reader.Next(&field);) {
    if (field.number != kScheduleField || field.type != WireType::kBytes) continue;
    present = true;
    WireReader schedule(field.bytes);
    for (WireField entry; schedule.Next(&entry);) {
      if (entry.type != WireType::kBytes) continue;
      int64_t id = 0;
      std::vector<absl::string_view> pieces;
      WireReader parts(entry.bytes);
      for (WireField part; parts.Next(&part);) {
        if (part.number == 1) id = static_cast<int64_t>(part.value);
        if (part.number == 2) pieces.push_back(part.bytes);
      }
      const auto computation = index.by_id.find(id);
      if (computation == index.by_id.end()) continue;
      std::vector<uint32_t>& sequence = sequences[computation->second];
      sequence.clear();  // Of equal keys the last one stands.
      for (const absl::string_view piece : pieces) {
        ReadSequence(module, index.computations[computation->second], piece, &sequence);
      }
    }
  }
}

}  // namespace neffcache
