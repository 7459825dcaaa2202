#include "graph/hlo_schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/fingerprint.h"
#include "tests/graph/full_module.h"
#include "tests/graph/hlo_builder.h"
#include "tests/graph/proto_tree.h"

namespace neffcache {
namespace {

GraphIdentity Identify(const ProtoMessage& module) {
  return IdentifyGraph(Serialize(module)).value();
}

class SchemaTest : public ::testing::TestWithParam<int> {
 protected:
  SchemaTest() : module_(FullModule(GetParam())), base_(Identify(module_)) {
    fingerprints_[ToString(base_.fingerprint)] = "the module itself";
  }

  void ExpectChanged(const std::string& what) {
    EXPECT_NE(ToString(Identify(module_).fingerprint), ToString(base_.fingerprint)) << what;
  }
  // Differs from all others as well.
  void ExpectNew(const std::string& what) {
    const std::string fingerprint = ToString(Identify(module_).fingerprint);
    const auto [it, added] = fingerprints_.emplace(fingerprint, what);
    EXPECT_TRUE(added) << what << " gives the fingerprint of " << it->second;
  }
  void ExpectSame(const std::string& what) {
    EXPECT_EQ(ToString(Identify(module_).fingerprint), ToString(base_.fingerprint)) << what;
  }

  ProtoMessage module_;
  const GraphIdentity base_;
  std::map<std::string, std::string> fingerprints_;  // What gave each.
};

INSTANTIATE_TEST_SUITE_P(OneofMembers, SchemaTest, ::testing::Values(0, 1, 2));

TEST_P(SchemaTest, FullModuleIsCanonicalized) {
  EXPECT_EQ(base_.raw_reason, "");
  std::set<HloMessage> met;
  ForEachMessage(module_, false, "", [&](ProtoMessage& message, bool, const std::string&) {
    met.insert(message.type);
  });
  // Of three members of a oneof two are absent, of two one; the second and third run have those.
  constexpr size_t kInOneofs = 4;
  EXPECT_GE(met.size(), static_cast<size_t>(HloMessage::kCount) - kInOneofs);
}

// Every single value in the tree: changed, doubled, left out.
TEST_P(SchemaTest, EveryValueIsCoveredUnlessItIsDropped) {
  int changed = 0;
  ForEachMessage(
      module_, false, "module", [&](ProtoMessage& message, bool dropped, const std::string& path) {
        for (size_t i = 0; i < message.fields.size(); ++i) {
          const FieldSchema& schema = *SchemaOf(message.type).Find(message.fields[i].number);
          const std::string where = absl::StrCat(path, "/", message.fields[i].number, "#", i);
          if (IsReference(schema)) continue;
          const bool unmarked_name = schema.treatment == Treatment::kMarkedName;
          const bool is_dropped = dropped || schema.treatment == Treatment::kDrop || unmarked_name;
          const auto expect = [&](const std::string& what) {
            is_dropped ? ExpectSame(where + what) : ExpectChanged(where + what);
            ++changed;
          };
          if (!message.fields[i].is_message) {
            const ProtoField before = message.fields[i];
            ProtoField& field = message.fields[i];
            if (field.type == WireType::kVarint) {
              field.value = schema.type == FieldType::kBool ? 1 - field.value : field.value + 5;
            } else {
              field.bytes[0] = static_cast<char>(field.bytes[0] ^ 1);
            }
            is_dropped ? ExpectSame(where) : ExpectNew(where);
            message.fields[i] = before;
          }
          const ProtoField copy = message.fields[i];
          const auto here = message.fields.begin() + static_cast<std::ptrdiff_t>(i);
          if (schema.presence == Presence::kRepeated && schema.treatment != Treatment::kMap) {
            message.fields.insert(here, copy);
            expect(" doubled");
            message.fields.erase(message.fields.begin() + static_cast<std::ptrdiff_t>(i));
          }
          if (schema.number == 2 && message.type == HloMessage::kInstruction) {
            continue;  // Without its opcode it is no instruction.
          }
          message.fields.erase(message.fields.begin() + static_cast<std::ptrdiff_t>(i));
          expect(" left out");
          message.fields.insert(message.fields.begin() + static_cast<std::ptrdiff_t>(i), copy);
        }
      });
  EXPECT_GT(changed, 1000);
}

// Neighbours of equal type exchange their numbers: no value may be taken for another field's.
TEST_P(SchemaTest, EveryFieldIsToldFromItsNeighbour) {
  ForEachMessage(module_, false, "module",
                 [&](ProtoMessage& message, bool dropped, const std::string& path) {
                   if (dropped || message.type == HloMessage::kMapEntry) return;
                   for (size_t i = 0; i + 1 < message.fields.size(); ++i) {
                     ProtoField& a = message.fields[i];
                     ProtoField& b = message.fields[i + 1];
                     const FieldSchema& first = *SchemaOf(message.type).Find(a.number);
                     const FieldSchema& second = *SchemaOf(message.type).Find(b.number);
                     if (a.is_message || first.type != second.type || IsReference(first) ||
                         IsReference(second) || first.treatment == Treatment::kDrop ||
                         second.treatment == Treatment::kDrop || first.type == FieldType::kBool ||
                         first.treatment == Treatment::kMarkedName || a.number == b.number ||
                         (a.value == b.value && a.bytes == b.bytes)) {
                       continue;
                     }
                     std::swap(a.number, b.number);
                     ExpectNew(absl::StrCat(path, "/", a.number, " and ", b.number, " exchanged"));
                     std::swap(a.number, b.number);
                   }
                 });
}

// An unknown field, of every wire type, in every message.
TEST_P(SchemaTest, UnknownFieldsAreCovered) {
  constexpr uint32_t kUnknown = 2000;
  ForEachMessage(module_, false, "module",
                 [&](ProtoMessage& message, bool dropped, const std::string& path) {
                   const auto check = [&](const char* what) {
                     const std::string where = absl::StrCat(path, " ", what);
                     if (dropped) {
                       ExpectSame(where);
                     } else {
                       ExpectNew(where);
                       // Where it could be a reference, nothing is renumbered.
                       EXPECT_EQ(Identify(module_).fingerprint.tag == "neffcache-raw-1",
                                 SchemaOf(message.type).guarded)
                           << where;
                     }
                   };
                   const size_t size = message.fields.size();
                   message.Varint(kUnknown, 1);
                   check("varint");
                   message.fields.back().value = 0;
                   check("zero");
                   message.fields.resize(size);
                   message.Fixed32(kUnknown, 1);
                   check("fixed32");
                   message.fields.resize(size);
                   message.Fixed64(kUnknown, 1);
                   check("fixed64");
                   message.fields.resize(size);
                   message.Bytes(kUnknown, "");
                   check("bytes");
                   message.fields.resize(size);
                 });
}

// A known number with a foreign wire type is another field.
TEST_P(SchemaTest, ForeignWireTypesAreCovered) {
  ForEachMessage(
      module_, false, "module", [&](ProtoMessage& message, bool dropped, const std::string& path) {
        if (dropped) return;
        for (const FieldSchema& field : SchemaOf(message.type).fields) {
          const size_t size = message.fields.size();
          const bool takes_fixed32 = SchemaOf(message.type).Fits(field.number, WireType::kFixed32);
          if (takes_fixed32) {
            message.Varint(field.number, 7);
          } else {
            message.Fixed32(field.number, 7);
          }
          ExpectNew(absl::StrCat(path, "/", field.number, " foreign"));
          EXPECT_EQ(Identify(module_).fingerprint.tag == "neffcache-raw-1",
                    SchemaOf(message.type).guarded)
              << path;
          message.fields.resize(size);
        }
      });
}

// Retired fields of instructions and modules are kept, and renumbering goes on.
TEST(SchemaRulesTest, InertFieldsAreCoveredWithoutGuard) {
  const Fingerprint base = Identify(SmallModule()).fingerprint;
  for (uint32_t number : {41, 42, 44, 46, 53, 64, 78, 83, 84, 86}) {
    ProtoMessage module = SmallModule();
    InstructionAt(module, 0, 3).Varint(number, 1);
    const GraphIdentity identity = Identify(module);
    EXPECT_EQ(identity.raw_reason, "") << number;
    EXPECT_NE(identity.fingerprint, base) << number;
  }
  ProtoMessage module = SmallModule();
  module.Bytes(9, "");
  EXPECT_EQ(Identify(module).raw_reason, "");
  EXPECT_NE(Identify(module).fingerprint, base);
  for (uint32_t number : {4, 5, 6, 10, 12, 101}) {
    ProtoMessage other = SmallModule();
    InstructionAt(other, 0, 3).Varint(number, 1);
    EXPECT_EQ(Identify(other).raw_reason,
              absl::StrCat("instruction field ", number, " is unknown"));
  }
}

// An unknown field may hold an id. When two instructions exchange their ids it points elsewhere.
TEST(SchemaRulesTest, UnknownReferenceToAnInstructionIsNotRenumberedAway) {
  const auto module_with = [](int64_t a, int64_t b) {
    ProtoMessage first = Instruction("rng", a);
    first.Varint(9, 1);
    ProtoMessage second = Instruction("rng", b);
    second.Varint(9, 2);
    ProtoMessage root = Instruction("add", 3, {a, b});
    root.Varint(150, 1);  // Points at the instruction with id 1.
    return Module({Computation(1, 3, {first, second, root})}, 1);
  };
  EXPECT_NE(Identify(module_with(1, 2)).fingerprint, Identify(module_with(2, 1)).fingerprint);
}

TEST(SchemaRulesTest, RecoveryTablesAndDebugAttributesMakeAModuleOpaque) {
  for (uint32_t number : {20, 24}) {
    ProtoMessage module = SmallModule();
    module.Bytes(number, "");
    EXPECT_EQ(Identify(module).raw_reason, absl::StrCat("module field ", number, " is present"));
    EXPECT_EQ(Identify(module).fingerprint.tag, "neffcache-raw-1");
  }
}

// What XLA always writes, and other encodings of one thing.
TEST(SchemaRulesTest, EquivalentEncodingsAreOne) {
  const Fingerprint base = Identify(SmallModule()).fingerprint;
  const auto expect_same = [&](const char* what, const std::function<void(ProtoMessage&)>& change) {
    ProtoMessage module = SmallModule();
    change(module);
    EXPECT_EQ(Identify(module).fingerprint.digest.Hex(), base.digest.Hex()) << what;
  };
  const auto layout = [](ProtoMessage& module) -> ProtoMessage& {
    return InstructionAt(module, 0, 3).At(3).At(5);
  };
  expect_same("empty metadata", [](auto& m) { InstructionAt(m, 0, 3).Bytes(7, ""); });
  expect_same("empty attributes", [](auto& m) { InstructionAt(m, 0, 3).Bytes(68, ""); });
  expect_same("statistics", [](auto& m) { InstructionAt(m, 0, 3).Bytes(82, ""); });
  expect_same("empty alias", [](auto& m) { m.Bytes(8, ""); });
  expect_same("empty donor", [](auto& m) { m.Bytes(18, ""); });
  expect_same("empty module attributes", [](auto& m) { m.Bytes(19, ""); });
  expect_same("static dimensions", [](auto& m) { InstructionAt(m, 0, 3).At(3).Remove(6); });
  expect_same("padding of one", [&](auto& m) { layout(m).Remove(16); });
  expect_same("padding of zero", [&](auto& m) { layout(m).Varint(16, 0); });
  expect_same("dense levels", [&](auto& m) { layout(m).Varints(9, {0, 0}); });
  expect_same("all unique", [&](auto& m) { layout(m).Varints(13, {1, 1}); });
  expect_same("all ordered", [&](auto& m) { layout(m).Varints(14, {1, 1}); });
  // Presence of these is meaning.
  const auto expect_new = [&](const char* what, const std::function<void(ProtoMessage&)>& change) {
    ProtoMessage module = SmallModule();
    change(module);
    EXPECT_NE(Identify(module).fingerprint.digest.Hex(), base.digest.Hex()) << what;
  };
  expect_new("empty sharding", [](auto& m) { InstructionAt(m, 0, 3).Bytes(40, ""); });
  expect_new("empty literal", [](auto& m) { InstructionAt(m, 0, 3).Bytes(8, ""); });
  expect_new("prefetch index zero", [](auto& m) { InstructionAt(m, 0, 3).Varint(80, 0); });
  expect_new("empty schedule", [](auto& m) { m.Bytes(7, ""); });
  expect_new("padding of two", [&](auto& m) {
    layout(m).Remove(16);
    layout(m).Varint(16, 2);
  });
  expect_new("one level not dense", [&](auto& m) { layout(m).Varints(9, {0, 1}); });
  expect_new("one not unique", [&](auto& m) { layout(m).Varints(13, {1, 0}); });
}

// --- Payloads ---

ProtoMessage WithConfigs(const std::vector<std::string>& configs, const std::vector<int>& rows,
                         const std::vector<std::string>& extra_rows = {}) {
  std::vector<ProtoMessage> instructions;
  std::vector<int64_t> operands;
  for (size_t i = 0; i < configs.size(); ++i) {
    ProtoMessage instruction = Instruction("custom-call", static_cast<int64_t>(i + 1));
    if (rows.empty()) {
      instruction.Bytes(43, configs[i]);
    } else {
      ProtoMessage payload = {.type = HloMessage::kPayload, .fields = {}};
      if (rows[i] < 0) {
        payload.Bytes(1, configs[i]);
      } else {
        payload.Varint(2, static_cast<uint64_t>(rows[i]));
      }
      instruction.Message(99, payload);
    }
    instructions.push_back(instruction);
    operands.push_back(static_cast<int64_t>(i + 1));
  }
  const int64_t root = static_cast<int64_t>(configs.size() + 1);
  instructions.push_back(Instruction("tuple", root, operands));
  ProtoMessage module = Module({Computation(1, root, instructions)}, 1);
  for (const std::string& row : extra_rows) module.Bytes(22, row);
  return module;
}

TEST(SchemaRulesTest, PayloadIdsStandForTheirBytes) {
  const std::vector<std::string> configs = {"alpha", "beta", "alpha"};
  const Fingerprint in_place = Identify(WithConfigs(configs, {})).fingerprint;
  EXPECT_EQ(Identify(WithConfigs(configs, {-1, -1, -1})).fingerprint, in_place);
  EXPECT_EQ(Identify(WithConfigs(configs, {0, 1, 0}, {"alpha", "beta"})).fingerprint, in_place);
  EXPECT_EQ(Identify(WithConfigs(configs, {1, 0, 1}, {"beta", "alpha"})).fingerprint, in_place);
  EXPECT_EQ(Identify(WithConfigs(configs, {0, 2, 1}, {"alpha", "alpha", "beta"})).fingerprint,
            in_place);
  EXPECT_NE(Identify(WithConfigs(configs, {0, 1, 0}, {"alpha", "gamma"})).fingerprint, in_place);
  EXPECT_NE(Identify(WithConfigs(configs, {0, 1, 1}, {"alpha", "beta"})).fingerprint, in_place);
}

TEST(SchemaRulesTest, PayloadsThatNothingRefersToAreKeptWithTheirPlace) {
  const std::vector<std::string> configs = {"alpha"};
  const Fingerprint base = Identify(WithConfigs(configs, {0}, {"alpha"})).fingerprint;
  const Fingerprint after = Identify(WithConfigs(configs, {0}, {"alpha", "x"})).fingerprint;
  const Fingerprint before = Identify(WithConfigs(configs, {1}, {"x", "alpha"})).fingerprint;
  EXPECT_NE(base, after);
  EXPECT_NE(before, after);
  // One that only metadata refers to goes with the metadata.
  ProtoMessage module = WithConfigs(configs, {0}, {"alpha", "x"});
  ProtoMessage payload = {.type = HloMessage::kPayload, .fields = {}};
  ProtoMessage metadata = {.type = HloMessage::kOpMetadata, .fields = {}};
  InstructionAt(module, 0, 0).Message(7, metadata.Message(20, payload.Varint(2, 1)));
  EXPECT_EQ(Identify(module).fingerprint, base);
}

TEST(SchemaRulesTest, PayloadThatDoesNotExistMakesTheModuleOpaque) {
  for (uint64_t id : {uint64_t{1}, ~uint64_t{0}}) {
    ProtoMessage module = WithConfigs({"alpha"}, {0}, {"alpha"});
    InstructionAt(module, 0, 0).At(99).Find(2)->value = id;
    const GraphIdentity identity = Identify(module);
    EXPECT_EQ(identity.fingerprint.tag, "neffcache-raw-1");
    EXPECT_TRUE(absl::StrContains(identity.raw_reason, "does not exist")) << identity.raw_reason;
  }
}

// The metadata of a sharding may select a reduction, so it is no debug data.
TEST(SchemaRulesTest, MetadataOfShardingsIsKept) {
  const auto module_with = [](const char* reduction) {
    ProtoMessage module = SmallModule();
    ProtoMessage metadata = {.type = HloMessage::kOpMetadata, .fields = {}};
    ProtoMessage sharding = {.type = HloMessage::kOpSharding, .fields = {}};
    metadata.Bytes(1, "sdy::reduction_op").Bytes(2, reduction);
    InstructionAt(module, 0, 3).Message(40, sharding.Message(7, metadata));
    return Identify(module).fingerprint;
  };
  EXPECT_NE(module_with("MAX"), module_with("MIN"));
}

TEST(SchemaRulesTest, MarkedComputationNamesAreKeptWithoutTheirNumbers) {
  const auto module_with = [](const char* name) {
    ProtoMessage module = SmallModule();
    module.At(3).Find(1)->bytes = name;
    return Identify(module).fingerprint;
  };
  EXPECT_EQ(module_with("main.4"), module_with("other"));
  EXPECT_NE(module_with("shmap_body"), module_with("main.4"));
  EXPECT_EQ(module_with("shmap_body.3"), module_with("shmap_body_2.15"));
  EXPECT_NE(module_with("shmap_body.3"), module_with("xla.sdy.manual_computation_body.3"));
}

}  // namespace
}  // namespace neffcache
