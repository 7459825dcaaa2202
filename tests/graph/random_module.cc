#include "tests/graph/random_module.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/graph/hlo_builder.h"

namespace neffcache {
namespace {

using Random = std::mt19937_64;

bool OneIn(uint64_t n, Random& random) {
  return random() % n == 0;
}

ProtoMessage RandomShape(Random& random) {
  std::vector<int64_t> dimensions(random() % 4);
  for (int64_t& size : dimensions) size = static_cast<int64_t>(1 + random() % 4);
  return ShapeOf(dimensions);
}

ProtoMessage RandomLiteral(Random& random) {
  ProtoMessage literal = {.type = HloMessage::kLiteral, .fields = {}};
  literal.Message(1, ShapeOf({2}));
  if (OneIn(3, random)) return literal.Varints(5, {static_cast<int64_t>(random() % 3), 1});
  return literal.Fixed32(8, 0x3f800000u + static_cast<uint32_t>(random() % 3)).Fixed32(8, 0);
}

ProtoMessage RandomDot(Random& random) {
  ProtoMessage numbers = {.type = HloMessage::kDotDimensionNumbers, .fields = {}};
  return numbers.Varints(1, {static_cast<int64_t>(random() % 2)})
      .Varints(2, {static_cast<int64_t>(random() % 2)});
}

ProtoMessage RandomAttributes(Random& random) {
  ProtoMessage attributes = {.type = HloMessage::kFrontendAttributes, .fields = {}};
  for (uint64_t i = 0; i <= random() % 3; ++i) {
    ProtoMessage entry = {.type = HloMessage::kMapEntry, .fields = {}};
    attributes.Message(1, entry.Bytes(1, absl::StrCat("key", i)).Bytes(2, "value"));
  }
  return attributes;
}

class Builder {
 public:
  explicit Builder(Random& random) : random_(random) {}

  ProtoMessage Build() {
    std::vector<ProtoMessage> computations;
    const size_t count = 1 + random_() % 5;
    for (size_t i = 0; i < count; ++i) {
      computations.push_back(BuildComputation());
      built_.push_back(next_computation_++);
    }
    ProtoMessage module = Module(computations, built_.back());
    if (OneIn(2, random_)) module.Message(19, RandomAttributes(random_));
    if (OneIn(3, random_)) AddAliases(module);
    if (OneIn(3, random_)) AddSchedule(module, computations.back());
    return module;
  }

 private:
  ProtoMessage BuildComputation() {
    static constexpr const char* kUnary[] = {"negate", "exponential", "abs", "rng", "bitcast"};
    static constexpr const char* kBinary[] = {"add", "multiply", "dot", "compare"};
    std::vector<ProtoMessage> instructions;
    std::vector<int64_t> ids;
    const auto any = [&] { return ids[random_() % ids.size()]; };
    const auto add = [&](ProtoMessage instruction) {
      ids.push_back(next_id_++);
      instructions.push_back(std::move(instruction));
    };
    const uint64_t parameters = 1 + random_() % 3;
    for (uint64_t i = 0; i < parameters; ++i) add(Parameter(next_id_, i));
    const uint64_t more = 1 + random_() % 24;
    for (uint64_t i = 0; i < more; ++i) {
      ProtoMessage instruction;
      if (OneIn(8, random_)) {
        instruction = Instruction("constant", next_id_).Message(8, RandomLiteral(random_));
      } else if (OneIn(6, random_) && !built_.empty()) {
        instruction = Instruction("call", next_id_, {any()});
        instruction.Varint(38, static_cast<uint64_t>(built_[random_() % built_.size()]));
      } else if (OneIn(2, random_)) {
        instruction = Instruction(kUnary[random_() % 5], next_id_, {any()});
      } else {
        instruction = Instruction(kBinary[random_() % 4], next_id_, {any(), any()});
        if (OneIn(3, random_)) instruction.Message(30, RandomDot(random_));
      }
      if (OneIn(4, random_)) {
        instruction.Remove(3);
        instruction.Message(3, RandomShape(random_));
      }
      if (OneIn(8, random_)) instruction.Message(68, RandomAttributes(random_));
      if (OneIn(6, random_)) {
        std::vector<int64_t> controls = {any(), any()};
        if (controls[0] == controls[1]) controls.pop_back();
        instruction.Varints(37, controls);
      }
      add(std::move(instruction));
    }
    return Computation(next_computation_, ids.back(), instructions);
  }

  void AddAliases(ProtoMessage& module) {
    ProtoMessage aliases = {.type = HloMessage::kInputOutputAlias, .fields = {}};
    for (int64_t i : {0, 1}) {
      ProtoMessage entry = {.type = HloMessage::kAliasEntry, .fields = {}};
      aliases.Message(1, entry.Varints(1, {i}).Varint(2, random_() % 2).Varint(4, 1));
    }
    module.Message(8, aliases);
  }

  void AddSchedule(ProtoMessage& module, const ProtoMessage& entry) {
    ProtoMessage sequence = {.type = HloMessage::kInstructionSequence, .fields = {}};
    for (const ProtoField& field : entry.fields) {
      if (field.number != 2) continue;
      sequence.Varint(1, field.message[0].Values(35).back());
    }
    ProtoMessage scheduled = {.type = HloMessage::kScheduleEntry, .fields = {}};
    ProtoMessage schedule = {.type = HloMessage::kSchedule, .fields = {}};
    scheduled.Varint(1, static_cast<uint64_t>(built_.back())).Message(2, sequence);
    module.Message(7, schedule.Message(1, scheduled));
  }

  Random& random_;
  int64_t next_id_ = 1;
  int64_t next_computation_ = 1;
  std::vector<int64_t> built_;  // Computations that may be called.
};

}  // namespace

ProtoMessage RandomModule(std::mt19937_64& random) {
  return Builder(random).Build();
}

}  // namespace neffcache
