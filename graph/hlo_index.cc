#include "graph/hlo_index.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/hlo_schema.h"
#include "graph/wire.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

absl::Status Malformed(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

// Calls `take` with each number of a repeated field, packed or not; false when it is damaged. Other
// types are no numbers.
template <typename Take>
bool ForEachNumber(const WireField& field, Take take) {
  if (field.type == WireType::kFixed32 || field.type == WireType::kFixed64) return true;
  if (field.type == WireType::kVarint) {
    take(field.value);
    return true;
  }
  return ForEachPacked(field.bytes, take);
}

class Indexer {
 public:
  explicit Indexer(absl::string_view module) { index_.module = module; }

  absl::StatusOr<HloIndex> Build() && {
    const MessageSchema& schema = SchemaOf(HloMessage::kModule);
    WireReader reader(index_.module);
    WireField field;
    int64_t entry_id = 0;
    while (reader.Next(&field)) {
      const FieldSchema* known = Check(schema, field);
      if (known == nullptr) continue;
      switch (field.number) {
        case 1:
          index_.name = std::string(field.bytes);
          break;
        case 3:
          RETURN_IF_ERROR(TakeComputation(field.bytes));
          break;
        case 6:
          entry_id = static_cast<int64_t>(field.value);
          break;
        case 22:
          index_.payloads.push_back(field.bytes);
          break;
        default:
          if (known->treatment == Treatment::kOpaque) {
            Opaque(absl::StrCat(schema.name, " field ", field.number, " is present"));
          }
      }
    }
    if (reader.damaged()) return absl::DataLossError("the module is damaged or cut short");
    const auto entry = index_.by_id.find(entry_id);
    if (entry == index_.by_id.end()) return Malformed("the entry computation does not exist");
    index_.entry = entry->second;
    RETURN_IF_ERROR(ResolveCallees());
    return std::move(index_);
  }

 private:
  // Null for a field that the schema does not know; that makes the module opaque unless it is
  // inert.
  const FieldSchema* Check(const MessageSchema& schema, const WireField& field) {
    const FieldSchema* known = schema.Find(field.number);
    if (known == nullptr) {
      if (!schema.IsInert(field.number)) {
        Opaque(absl::StrCat(schema.name, " field ", field.number, " is unknown"));
      }
      return nullptr;
    }
    if (!schema.Fits(field.number, field.type)) {
      Opaque(absl::StrCat(schema.name, " field ", field.number,
                          " has another type than the one that is known"));
      return nullptr;
    }
    return known;
  }

  void Opaque(std::string why) {
    if (index_.opaque_reason.empty()) index_.opaque_reason = std::move(why);
  }

  absl::Status TakeComputation(absl::string_view bytes) {
    ComputationRecord computation;
    computation.bytes = bytes;
    computation.index = static_cast<uint32_t>(index_.computations.size());
    computation.first = static_cast<uint32_t>(index_.instructions.size());
    const MessageSchema& schema = SchemaOf(HloMessage::kComputation);
    WireReader reader(bytes);
    WireField field;
    int64_t root_id = 0;
    while (reader.Next(&field)) {
      if (Check(schema, field) == nullptr) continue;
      if (field.number == 2) {
        RETURN_IF_ERROR(TakeInstruction(field.bytes));
      } else if (field.number == 5) {
        computation.id = static_cast<int64_t>(field.value);
      } else if (field.number == 6) {
        root_id = static_cast<int64_t>(field.value);
      }
    }
    if (reader.damaged()) return Malformed("a computation is damaged");
    if (index_.instructions.size() > UINT32_MAX / 2) return Malformed("too many instructions");
    computation.count = static_cast<uint32_t>(index_.instructions.size()) - computation.first;
    if (computation.count == 0) return Malformed("a computation has no instructions");
    if (!index_.by_id.emplace(computation.id, computation.index).second) {
      return Malformed(absl::StrCat("two computations have the id ", computation.id));
    }
    RETURN_IF_ERROR(SortIds(computation));
    index_.computations.push_back(computation);
    return ResolveEdges(index_.computations.back(), root_id);
  }

  absl::Status TakeInstruction(absl::string_view bytes) {
    InstructionRecord instruction;
    instruction.bytes = bytes;
    instruction.first_edge = index_.edges.size();
    instruction.first_callee = raw_callees_.size();
    absl::string_view opcode, target;
    controls_.clear();
    bool good = true;
    // Unknown fields and foreign wire types are found when the instruction is written.
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(&field)) {
      const bool is_bytes = field.type == WireType::kBytes;
      const bool is_varint = field.type == WireType::kVarint;
      switch (field.number) {
        case 2:
          if (is_bytes) opcode = field.bytes;
          break;
        case 9:
          if (is_varint) instruction.parameter_number = static_cast<int64_t>(field.value);
          break;
        case 28:
          if (is_bytes) target = field.bytes;
          break;
        case 35:
          if (is_varint) instruction.id = static_cast<uint32_t>(field.value);
          break;
        case 36:
          good &= ForEachNumber(
              field, [&](uint64_t id) { index_.edges.push_back(static_cast<uint32_t>(id)); });
          break;
        case 37:
          good &= ForEachNumber(
              field, [&](uint64_t id) { controls_.push_back(static_cast<uint32_t>(id)); });
          break;
        case 38:
          good &= ForEachNumber(
              field, [&](uint64_t id) { raw_callees_.push_back(static_cast<int64_t>(id)); });
          break;
        case 99:
          instruction.has_payload |= is_bytes;
          break;
        default:
          break;
      }
    }
    if (reader.damaged() || !good) return Malformed("an instruction is damaged");
    if (opcode.empty()) return Malformed("an instruction has no opcode");
    const uint64_t operands = index_.edges.size() - instruction.first_edge;
    const uint64_t callees = raw_callees_.size() - instruction.first_callee;
    if (operands > UINT32_MAX || controls_.size() > UINT32_MAX || callees > UINT32_MAX) {
      return Malformed("an instruction has too many operands");
    }
    instruction.operands = static_cast<uint32_t>(operands);
    instruction.controls = static_cast<uint32_t>(controls_.size());
    instruction.callee_count = static_cast<uint32_t>(callees);
    index_.edges.insert(index_.edges.end(), controls_.begin(), controls_.end());
    instruction.is_parameter = opcode == "parameter";
    instruction.is_native_kernel = target == "AwsNeuronCustomNativeKernel";
    instruction.is_neuron_custom =
        !instruction.is_native_kernel && absl::StartsWith(target, "AwsNeuronCustom");
    index_.instructions.push_back(instruction);
    return absl::OkStatus();
  }

  // Ids must differ within a computation. Mostly they are close together, and a table finds them;
  // where they are not, a sorted list does.
  absl::Status SortIds(const ComputationRecord& computation) {
    const InstructionRecord* const first = &index_.instructions[computation.first];
    HloIndex::Ids ids;
    uint32_t last = ids.base = first[0].id;
    for (uint32_t i = 1; i < computation.count; ++i) {
      ids.base = std::min(ids.base, first[i].id);
      last = std::max(last, first[i].id);
    }
    const uint64_t range = uint64_t{last} - ids.base + 1;
    if (range <= uint64_t{4} * computation.count + 64) {
      ids.table.assign(range, HloIndex::Ids::kNone);
      for (uint32_t i = 0; i < computation.count; ++i) {
        uint32_t& slot = ids.table[first[i].id - ids.base];
        if (slot != HloIndex::Ids::kNone) return Duplicate(first[slot], first[i]);
        slot = i;
      }
    } else {
      ids.sorted.resize(computation.count);
      std::iota(ids.sorted.begin(), ids.sorted.end(), 0u);
      std::sort(ids.sorted.begin(), ids.sorted.end(),
                [first](uint32_t a, uint32_t b) { return first[a].id < first[b].id; });
      for (uint32_t i = 1; i < computation.count; ++i) {
        const InstructionRecord& a = first[ids.sorted[i - 1]];
        const InstructionRecord& b = first[ids.sorted[i]];
        if (a.id == b.id) return Duplicate(a, b);
      }
    }
    index_.ids.push_back(std::move(ids));
    return absl::OkStatus();
  }

  static absl::Status Duplicate(const InstructionRecord& a, const InstructionRecord& b) {
    return Malformed(absl::StrCat("instructions ", NameOf(a), " and ", NameOf(b), " have one id"));
  }

  absl::Status ResolveEdges(ComputationRecord& computation, int64_t root_id) {
    if (!index_.FindInstruction(computation, root_id, &computation.root)) {
      return Malformed(absl::StrCat("the root ", root_id, " of a computation does not exist"));
    }
    for (uint32_t i = 0; i < computation.count; ++i) {
      InstructionRecord& instruction = index_.instructions[computation.first + i];
      const size_t end = instruction.first_edge + instruction.operands + instruction.controls;
      for (size_t e = instruction.first_edge; e < end; ++e) {
        const uint32_t id = index_.edges[e];
        if (!index_.FindInstruction(computation, id, &index_.edges[e])) {
          const bool operand = e < instruction.first_edge + instruction.operands;
          return Malformed(absl::StrCat(operand ? "operand " : "control predecessor ", id, " of ",
                                        NameOf(instruction), " does not exist"));
        }
        computation.in_order &= index_.edges[e] < i;
      }
      if (instruction.controls > 1) {  // A set.
        const auto last = index_.edges.begin() + static_cast<std::ptrdiff_t>(end);
        const auto first = last - static_cast<std::ptrdiff_t>(instruction.controls);
        std::sort(first, last);
        instruction.controls = static_cast<uint32_t>(std::unique(first, last) - first);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ResolveCallees() {
    index_.callees.reserve(raw_callees_.size());
    for (const int64_t id : raw_callees_) {
      const auto callee = index_.by_id.find(id);
      if (callee == index_.by_id.end()) {
        return Malformed(absl::StrCat("called computation ", id, " does not exist"));
      }
      index_.callees.push_back(callee->second);
    }
    return absl::OkStatus();
  }

  HloIndex index_;
  std::vector<int64_t> raw_callees_;
  std::vector<uint32_t> controls_;
};

// Opcodes are lower-case words with dashes: what tells an instruction from other messages.
bool LooksLikeOpcode(absl::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-' || c == '_';
  });
}

// The payload of the first length-delimited field `number`; false when there is none.
bool FirstField(absl::string_view bytes, uint32_t number, absl::string_view* payload) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == number && field.type == WireType::kBytes) {
      *payload = field.bytes;
      return true;
    }
  }
  return false;
}

}  // namespace

absl::Span<const uint32_t> HloIndex::Callees(const ComputationRecord& computation) const {
  const InstructionRecord& first = instructions[computation.first];
  const InstructionRecord& last = instructions[computation.first + computation.count - 1];
  return {callees.data() + first.first_callee,
          last.first_callee + last.callee_count - first.first_callee};
}

bool HloIndex::FindInstruction(const ComputationRecord& computation, int64_t id,
                               uint32_t* offset) const {
  const uint32_t low = static_cast<uint32_t>(id);
  const Ids& known = ids[computation.index];
  if (!known.table.empty()) {
    const uint32_t slot = low - known.base;  // Wraps for smaller ones.
    if (slot >= known.table.size()) return false;
    *offset = known.table[slot];
    return *offset != Ids::kNone;
  }
  const InstructionRecord* const first = &instructions[computation.first];
  const auto at =
      std::lower_bound(known.sorted.begin(), known.sorted.end(), low,
                       [first](uint32_t i, uint32_t value) { return first[i].id < value; });
  if (at == known.sorted.end() || first[*at].id != low) return false;
  *offset = *at;
  return true;
}

absl::StatusOr<HloIndex> IndexModule(absl::string_view module) {
  return Indexer(module).Build();
}

bool LooksLikeModule(absl::string_view bytes) {
  absl::string_view computation, instruction, opcode;
  return FirstField(bytes, 3, &computation) && FirstField(computation, 2, &instruction) &&
         FirstField(instruction, 2, &opcode) && LooksLikeOpcode(opcode);
}

std::string NameOf(const InstructionRecord& instruction) {
  absl::string_view name;
  if (!FirstField(instruction.bytes, 1, &name) || name.empty()) {
    return absl::StrCat("instruction ", instruction.id);
  }
  return std::string(name.substr(0, 200));
}

}  // namespace neffcache
