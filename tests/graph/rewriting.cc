#include "tests/graph/rewriting.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"

namespace neffcache {
namespace {

// Field numbers of graph/schema/ that are rewritten here.
constexpr uint32_t kName = 1, kEntryName = 2, kComputations = 3, kModuleId = 5, kEntryId = 6,
                   kSchedule = 7, kStackFrames = 17;
constexpr uint32_t kInstructions = 2, kComputationId = 5, kRootId = 6;
constexpr uint32_t kMetadata = 7, kId = 35, kOperands = 36, kControls = 37, kCallees = 38;

using Random = std::mt19937_64;

std::vector<ProtoMessage*> Children(ProtoMessage& message, uint32_t number) {
  std::vector<ProtoMessage*> children;
  for (ProtoField& field : message.fields) {
    if (field.number == number && field.is_message) children.push_back(&field.message[0]);
  }
  return children;
}

uint64_t Value(const ProtoMessage& message, uint32_t number) {
  const std::vector<uint64_t> values = message.Values(number);
  return values.empty() ? 0 : values.back();
}

void SetValue(ProtoMessage& message, uint32_t number, uint64_t value) {
  message.Remove(number);
  message.Varint(number, value);
}

void SetName(ProtoMessage& message, uint32_t number, Random& random) {
  message.Remove(number);
  message.Bytes(number, absl::StrCat("name", random() % 100000, ".", random() % 1000));
}

void SetField(ProtoField& field, uint64_t value) {
  field.value = value;
}

// Puts the messages of this number into a new order, leaving all else where it is.
void Reorder(ProtoMessage& message, uint32_t number, const std::vector<size_t>& order) {
  std::vector<ProtoField> moved;
  std::vector<size_t> places;
  for (size_t i = 0; i < message.fields.size(); ++i) {
    if (message.fields[i].number != number) continue;
    places.push_back(i);
    moved.push_back(message.fields[i]);
  }
  for (size_t i = 0; i < places.size(); ++i) message.fields[places[i]] = moved[order[i]];
}

std::vector<size_t> Shuffled(size_t count, Random& random) {
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

size_t Count(const ProtoMessage& message, uint32_t number) {
  return static_cast<size_t>(
      std::count_if(message.fields.begin(), message.fields.end(),
                    [&](const ProtoField& field) { return field.number == number; }));
}

ProtoMessage RandomMetadata(Random& random) {
  ProtoMessage metadata = {.type = HloMessage::kOpMetadata, .fields = {}};
  if (random() % 4 == 0) return metadata;
  metadata.Bytes(2, absl::StrCat("jit(step)/layer", random() % 100))
      .Bytes(3, "/home/user/model.py");
  return metadata.Varint(4, random() % 5000).Varint(15, random() % 50);
}

void Visit(ProtoMessage& message, const std::function<void(ProtoMessage&)>& visit) {
  visit(message);
  for (ProtoField& field : message.fields) {
    if (field.is_message) Visit(field.message[0], visit);
  }
}

}  // namespace

void RenameEverything(ProtoMessage& module, Random& random) {
  SetName(module, kName, random);
  SetName(module, kEntryName, random);
  SetValue(module, kModuleId, random() % 1000);
  for (ProtoMessage* computation : Children(module, kComputations)) {
    SetName(*computation, kName, random);
    for (ProtoMessage* instruction : Children(*computation, kInstructions)) {
      SetName(*instruction, kName, random);
    }
  }
}

void Renumber(ProtoMessage& module, IdScheme scheme, Random& random) {
  std::map<uint64_t, uint64_t> computation_ids;
  std::map<uint64_t, std::map<uint32_t, uint64_t>> ids;  // By new computation id and low half.
  uint64_t next_computation = random() % 50 + 1;
  uint64_t next = random() % 50 + 1;
  for (ProtoMessage* computation : Children(module, kComputations)) {
    const uint64_t old = Value(*computation, kComputationId);
    computation_ids[old] = next_computation;
    std::vector<ProtoMessage*> instructions = Children(*computation, kInstructions);
    uint64_t local = random() % 10;
    const bool sparse = random() % 3 == 0;
    for (size_t i : Shuffled(instructions.size(), random)) {
      const uint64_t id = scheme == IdScheme::kUnique ? next : next_computation << 32 | local;
      ids[old][static_cast<uint32_t>(Value(*instructions[i], kId))] = id;
      next += sparse ? 1 + random() % 1000 : 1;
      local += sparse ? 1 + random() % 1000 : 1;
    }
    next_computation += 1 + random() % 5;
  }
  const auto reference = [&](uint64_t id) {
    return scheme == IdScheme::kLocalReferences ? static_cast<uint32_t>(id) : id;
  };
  for (ProtoMessage* computation : Children(module, kComputations)) {
    const auto& local_ids = ids[Value(*computation, kComputationId)];
    const auto renumber = [&](ProtoField& field) {
      SetField(field, reference(local_ids.at(static_cast<uint32_t>(field.value))));
    };
    for (ProtoMessage* instruction : Children(*computation, kInstructions)) {
      const uint64_t id = local_ids.at(static_cast<uint32_t>(Value(*instruction, kId)));
      SetValue(*instruction, kId, id);
      for (ProtoField& field : instruction->fields) {
        if (field.number == kOperands || field.number == kControls) renumber(field);
        if (field.number == kCallees) SetField(field, computation_ids.at(field.value));
      }
    }
    SetValue(*computation, kRootId,
             reference(local_ids.at(static_cast<uint32_t>(Value(*computation, kRootId)))));
  }
  if (ProtoField* schedule = module.Find(kSchedule)) {
    for (ProtoMessage* entry : Children(schedule->message[0], 1)) {
      const auto& local_ids = ids[Value(*entry, 1)];
      for (ProtoMessage* sequence : Children(*entry, 2)) {
        for (ProtoField& field : sequence->fields) {
          SetField(field, reference(local_ids.at(static_cast<uint32_t>(field.value))));
        }
      }
      SetValue(*entry, 1, computation_ids.at(Value(*entry, 1)));
    }
  }
  for (ProtoMessage* computation : Children(module, kComputations)) {
    SetValue(*computation, kComputationId, computation_ids.at(Value(*computation, kComputationId)));
  }
  SetValue(module, kEntryId, computation_ids.at(Value(module, kEntryId)));
}

void ReplaceMetadata(ProtoMessage& module, Random& random) {
  module.Remove(kStackFrames);
  if (random() % 2 == 0) module.Bytes(kStackFrames, "\x0a\x01x");
  for (ProtoMessage* computation : Children(module, kComputations)) {
    for (ProtoMessage* instruction : Children(*computation, kInstructions)) {
      instruction->Remove(kMetadata);
      if (random() % 4 != 0) instruction->Message(kMetadata, RandomMetadata(random));
    }
  }
}

void ShuffleInstructions(ProtoMessage& module, Random& random) {
  for (ProtoMessage* computation : Children(module, kComputations)) {
    const std::vector<ProtoMessage*> instructions = Children(*computation, kInstructions);
    std::map<uint32_t, size_t> by_id;
    for (size_t i = 0; i < instructions.size(); ++i) {
      by_id[static_cast<uint32_t>(Value(*instructions[i], kId))] = i;
    }
    std::vector<std::set<size_t>> before(instructions.size());
    std::vector<std::vector<size_t>> after(instructions.size());
    for (size_t i = 0; i < instructions.size(); ++i) {
      for (uint32_t number : {kOperands, kControls}) {
        for (uint64_t id : instructions[i]->Values(number)) {
          const size_t predecessor = by_id.at(static_cast<uint32_t>(id));
          if (before[i].insert(predecessor).second) after[predecessor].push_back(i);
        }
      }
    }
    std::vector<size_t> ready, order;
    for (size_t i = 0; i < instructions.size(); ++i) {
      if (before[i].empty()) ready.push_back(i);
    }
    while (!ready.empty()) {
      std::swap(ready[random() % ready.size()], ready.back());
      const size_t i = ready.back();
      ready.pop_back();
      order.push_back(i);
      for (size_t user : after[i]) {
        before[user].erase(i);
        if (before[user].empty()) ready.push_back(user);
      }
    }
    if (order.size() != instructions.size()) std::abort();  // A cycle: no input for this.
    Reorder(*computation, kInstructions, order);
  }
}

void ShuffleComputations(ProtoMessage& module, Random& random) {
  Reorder(module, kComputations, Shuffled(Count(module, kComputations), random));
}

void ShuffleSets(ProtoMessage& module, Random& random) {
  Visit(module, [&](ProtoMessage& message) {
    switch (message.type) {
      case HloMessage::kFrontendAttributes:
      case HloMessage::kInputOutputAlias:
      case HloMessage::kBufferDonor:
      case HloMessage::kSchedule:
        Reorder(message, 1, Shuffled(Count(message, 1), random));
        break;
      case HloMessage::kInstruction:
        Reorder(message, kControls, Shuffled(Count(message, kControls), random));
        break;
      default:
        break;
    }
  });
}

}  // namespace neffcache
