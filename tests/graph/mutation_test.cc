// Changes one field anywhere in a module, at random, tens of thousands of times: none may go
// unnoticed unless the field is on the drop list. schema_test.cc goes through each value once; here
// the values, the places and the modules are drawn.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/fingerprint.h"
#include "tests/graph/full_module.h"
#include "tests/graph/proto_tree.h"
#include "tests/graph/random_module.h"

namespace neffcache {
namespace {

using Random = std::mt19937_64;

constexpr int kShards = 10;
constexpr int kMutationsPerShard = 5500;  // 55 000 in all.

std::string FingerprintOf(const ProtoMessage& module) {
  return ToString(IdentifyGraph(Serialize(module)).value().fingerprint);
}

// What canonical form makes of the value alone: two values with one reading are one value.
uint64_t Reading(const FieldSchema& schema, uint64_t value) {
  return IsVarint(schema.type) ? ReadAs(schema.type, value) : value;
}

// A place where something may be changed.
struct Place {
  ProtoMessage* message;
  size_t field;
  std::string path;
};

// By type of message, so that rare messages are changed as often as frequent ones.
using Places = std::map<HloMessage, std::vector<Place>>;

// An instruction's id of its own and its like: nothing sees them but what refers to them.
bool IsOwnId(const ProtoMessage& message, uint32_t number) {
  return (message.type == HloMessage::kInstruction && number == 35) ||
         (message.type == HloMessage::kComputation && number == 5);
}

Places FindPlaces(ProtoMessage& module, bool with_references) {
  Places places;
  ForEachMessage(
      module, false, "module", [&](ProtoMessage& message, bool dropped, const std::string& path) {
        if (dropped) return;
        for (size_t i = 0; i < message.fields.size(); ++i) {
          const uint32_t number = message.fields[i].number;
          const FieldSchema* schema = SchemaOf(message.type).Find(number);
          if (schema->treatment == Treatment::kDrop ||
              schema->treatment == Treatment::kMarkedName || IsOwnId(message, number) ||
              (IsReference(*schema) && !with_references)) {
            continue;
          }
          places[message.type].push_back({&message, i, absl::StrCat(path, "/", number, "#", i)});
        }
      });
  return places;
}

// Changes the field; false where it drew a value that means the same.
bool ChangeValue(const FieldSchema& schema, Random& random, ProtoField* field) {
  if (field->type == WireType::kVarint) {
    const uint64_t before = Reading(schema, field->value);
    field->value = random() % 3 == 0 ? random() : field->value + 1 + random() % 4;
    const uint64_t after = Reading(schema, field->value);
    const bool both_default = schema.treatment == Treatment::kDropOne && before <= 1 && after <= 1;
    return after != before && !both_default;
  }
  const std::string before = field->bytes;
  if (field->bytes.empty() || random() % 4 == 0) {
    field->bytes.push_back(static_cast<char>(random()));
    if (field->type != WireType::kBytes) field->bytes = before;  // Numbers keep their width.
  } else {
    field->bytes[random() % field->bytes.size()] ^= static_cast<char>(1 << random() % 8);
  }
  return field->bytes != before;
}

// A default that was written out means what its absence means; some lists have defaults of their
// own.
bool IsDefault(const FieldSchema& schema, const ProtoField& field) {
  if (schema.treatment == Treatment::kDropAllZero) return field.value == 0;
  if (schema.treatment == Treatment::kDropAllTrue) return field.value != 0;
  if (schema.treatment == Treatment::kDropOne) return field.value <= 1;
  if (schema.presence != Presence::kImplicit || field.is_message) return false;
  if (field.type == WireType::kVarint) return Reading(schema, field.value) == 0;
  return field.bytes.find_first_not_of('\0') == std::string::npos;
}

class MutationTest : public ::testing::TestWithParam<int> {
 protected:
  // One change at a place of `module`, which is put right again.
  void Mutate(ProtoMessage& module, const std::string& fingerprint, const Place& place) {
    ProtoMessage& message = *place.message;
    const auto here = message.fields.begin() + static_cast<std::ptrdiff_t>(place.field);
    const FieldSchema& schema = *SchemaOf(message.type).Find(here->number);
    if (here->is_message || random_() % 4 == 0) {
      if (IsDefault(schema, *here)) return;
      // Moved, not copied: other places point into its messages.
      ProtoField taken = std::move(*here);
      message.fields.erase(here);
      Expect(module, fingerprint, absl::StrCat(place.path, " left out"));
      message.fields.insert(message.fields.begin() + static_cast<std::ptrdiff_t>(place.field),
                            std::move(taken));
      return;
    }
    const ProtoField before = *here;
    if (ChangeValue(schema, random_, &*here)) {
      Expect(module, fingerprint,
             absl::StrCat(place.path, ": value ", before.value, " to ", here->value));
    }
    *here = before;
  }

  void Expect(const ProtoMessage& module, const std::string& fingerprint, const std::string& what) {
    ++mutations_;
    EXPECT_NE(FingerprintOf(module), fingerprint) << what;
  }

  void MutateOften(ProtoMessage module, bool with_references, int times) {
    const std::string fingerprint = FingerprintOf(module);
    const Places places = FindPlaces(module, with_references);
    for (int i = 0; i < times && !HasFailure(); ++i) {
      auto type = places.begin();
      std::advance(type, random_() % places.size());
      const std::vector<Place>& of_type = type->second;
      Mutate(module, fingerprint, of_type[random_() % of_type.size()]);
    }
  }

  Random random_{static_cast<uint64_t>(GetParam()) + 20261201};
  int mutations_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Seeds, MutationTest, ::testing::Range(0, kShards));

// A third of them in the module that has every field of every message, the others in modules drawn
// at random; there a reference may come to mean an instruction that is equal in all.
TEST_P(MutationTest, NoneGoesUnnoticed) {
  SCOPED_TRACE(absl::StrCat("seed ", GetParam() + 20261201));
  while (mutations_ < kMutationsPerShard / 3 && !HasFailure()) {
    MutateOften(FullModule(GetParam() % 3), true, kMutationsPerShard / 3 - mutations_);
  }
  while (mutations_ < kMutationsPerShard && !HasFailure())
    MutateOften(RandomModule(random_), false, 100);
  EXPECT_GE(mutations_, kMutationsPerShard);
}

}  // namespace
}  // namespace neffcache
