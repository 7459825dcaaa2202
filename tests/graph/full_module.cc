#include "tests/graph/full_module.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/graph/hlo_builder.h"

namespace neffcache {
namespace {

// Builds messages with every field of the table set to something that is not its default; of a
// oneof the member that comes `member`-th. References are left to the caller. Lists have two
// elements that differ. Where a field was met before, its messages hold no further messages: the
// tree stays small and has every message at every place it may have once.
class Populator {
 public:
  explicit Populator(int member) : member_(member) {}

  ProtoMessage Populate(HloMessage type, uint64_t salt = 0, bool with_messages = true) {
    ProtoMessage message = {.type = type, .fields = {}};
    std::map<int, int> met;
    for (const FieldSchema& field : SchemaOf(type).fields) {
      if (IsReference(field)) continue;
      if (field.oneof != 0 && met[field.oneof]++ != member_) continue;
      for (uint64_t i = 0; i < (field.presence == Presence::kRepeated ? 2u : 1u); ++i) {
        Add(field, i, salt, with_messages, &message);
      }
    }
    return message;
  }

 private:
  void Add(const FieldSchema& field, uint64_t i, uint64_t salt, bool with_messages,
           ProtoMessage* message) {
    switch (field.type) {
      case FieldType::kBool:
        // Lists are neither all false nor all true.
        message->Varint(field.number, field.presence == Presence::kRepeated ? i : 1);
        break;
      case FieldType::kFloat:
        message->Fixed32(field.number, static_cast<uint32_t>(0x3f800000u + 16 * salt + i));
        break;
      case FieldType::kDouble:
        message->Fixed64(field.number, 0x3ff0000000000000u + 16 * salt + i);
        break;
      case FieldType::kString:
      case FieldType::kBytes:
        message->Bytes(field.number, absl::StrCat("s", field.number, ".", i, ".", salt));
        break;
      case FieldType::kMessage:
        if (field.message == HloMessage::kCount) {
          message->Bytes(field.number, "\x0a\x01x");
        } else if (with_messages) {
          const bool first = met_.emplace(message->type, field.number).second;
          message->Message(field.number, Populate(field.message, 2 * salt + i + 1, first));
        }
        break;
      default:
        message->Varint(field.number, 2 + i + 16 * salt);
    }
  }

  const int member_;
  std::set<std::pair<HloMessage, uint32_t>> met_;
};

// An instruction with nothing but what makes it one.
ProtoMessage Bare(absl::string_view opcode, int64_t id) {
  ProtoMessage instruction = Instruction(opcode, id);
  instruction.Remove(3);
  return instruction;
}

}  // namespace

bool IsReference(const FieldSchema& field) {
  return field.treatment == Treatment::kNumber || field.treatment == Treatment::kDescend ||
         field.treatment == Treatment::kSchedule || field.treatment == Treatment::kPayloads ||
         field.treatment == Treatment::kOpaque;
}

ProtoMessage FullModule(int member) {
  ProtoMessage callee = Computation(2, 1, {Bare("x", 1), Bare("constant", 3), Bare("iota", 4)});
  Populator populator(member);
  ProtoMessage instruction = populator.Populate(HloMessage::kInstruction);
  instruction.Varint(35, 3).Varints(36, {1, 2}).Varints(37, {1}).Varints(38, {2});
  // Payloads by value; SchemaTest.PayloadIdsStandForTheirBytes has the other kind.
  ProtoMessage entry = populator.Populate(HloMessage::kComputation);
  entry.Message(2, Bare("a", 1)).Message(2, Bare("b", 2)).Message(2, instruction);
  entry.Varint(5, 1).Varint(6, 3);
  ProtoMessage module = populator.Populate(HloMessage::kModule);
  module.Message(3, callee).Message(3, entry).Varint(6, 1);
  ProtoMessage sequence = {.type = HloMessage::kInstructionSequence, .fields = {}};
  ProtoMessage scheduled = {.type = HloMessage::kScheduleEntry, .fields = {}};
  ProtoMessage schedule = {.type = HloMessage::kSchedule, .fields = {}};
  scheduled.Varint(1, 1).Message(2, sequence.Varints(1, {2, 1, 3}));
  module.Message(7, schedule.Message(1, scheduled));
  return module;
}

void ForEachMessage(
    ProtoMessage& message, bool dropped, const std::string& path,
    const std::function<void(ProtoMessage&, bool dropped, const std::string& path)>& visit) {
  visit(message, dropped, path);
  for (size_t i = 0; i < message.fields.size(); ++i) {
    ProtoField& field = message.fields[i];
    if (!field.is_message) continue;
    const FieldSchema* schema = SchemaOf(message.type).Find(field.number);
    ForEachMessage(field.message[0], dropped || schema->treatment == Treatment::kDrop,
                   absl::StrCat(path, "/", field.number, "#", i), visit);
  }
}

}  // namespace neffcache
