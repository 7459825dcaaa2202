// Modules that differ in meaning, and hardly in form.

#include <gtest/gtest.h>

#include <functional>

#include "graph/fingerprint.h"
#include "tests/graph/hlo_builder.h"

namespace neffcache {
namespace {

Fingerprint FingerprintOf(const ProtoMessage& module) {
  const GraphIdentity identity = IdentifyGraph(Serialize(module)).value();
  EXPECT_EQ(identity.raw_reason, "");
  return identity.fingerprint;
}

ProtoMessage Changed(const std::function<void(ProtoMessage&)>& change) {
  ProtoMessage module = SmallModule();
  change(module);
  return module;
}

ProtoMessage WithOperands(size_t instruction, const std::vector<int64_t>& operands) {
  return Changed([&](ProtoMessage& module) {
    InstructionAt(module, 0, instruction).Remove(36);
    InstructionAt(module, 0, instruction).Varints(36, operands);
  });
}

ProtoMessage Constant(int64_t id, uint32_t bits) {
  ProtoMessage literal = {.type = HloMessage::kLiteral, .fields = {}};
  ProtoMessage constant = Instruction("constant", id);
  return constant.Message(8, literal.Message(1, ShapeOf({})).Fixed32(8, bits));
}

ProtoMessage ModuleOf(const std::vector<ProtoMessage>& instructions, int64_t root) {
  return Module({Computation(1, root, instructions)}, 1);
}

TEST(StructureTest, OperandOrderIsMeaning) {
  EXPECT_NE(FingerprintOf(WithOperands(3, {3, 2})), FingerprintOf(WithOperands(3, {2, 3})));
}

TEST(StructureTest, WhichParameterIsUsedIsMeaning) {
  EXPECT_NE(FingerprintOf(WithOperands(3, {3, 2})), FingerprintOf(WithOperands(3, {3, 1})));
  EXPECT_NE(FingerprintOf(WithOperands(2, {1, 2})), FingerprintOf(WithOperands(2, {2, 1})));
  EXPECT_NE(FingerprintOf(WithOperands(2, {1, 2})), FingerprintOf(WithOperands(2, {1, 1})));
}

TEST(StructureTest, ParametersExchangedDiffer) {
  EXPECT_NE(FingerprintOf(SmallModule()), FingerprintOf(Changed([](ProtoMessage& module) {
              InstructionAt(module, 0, 0).Find(9)->value = 1;
              InstructionAt(module, 0, 1).Find(9)->value = 0;
            })));
}

// A tree digest cannot tell these apart: one random number used twice, and two random numbers.
TEST(StructureTest, SharingIsNotDuplication) {
  const ProtoMessage shared =
      ModuleOf({Parameter(1, 0), Instruction("rng", 2, {1}), Instruction("add", 3, {2, 2})}, 3);
  const ProtoMessage twice = ModuleOf({Parameter(1, 0), Instruction("rng", 2, {1}),
                                       Instruction("rng", 4, {1}), Instruction("add", 3, {2, 4})},
                                      3);
  EXPECT_NE(FingerprintOf(shared), FingerprintOf(twice));
  const ProtoMessage dead = ModuleOf({Parameter(1, 0), Instruction("rng", 2, {1}),
                                      Instruction("rng", 4, {1}), Instruction("add", 3, {2, 2})},
                                     3);
  EXPECT_NE(FingerprintOf(dead), FingerprintOf(shared));
  EXPECT_NE(FingerprintOf(dead), FingerprintOf(twice));
}

TEST(StructureTest, CalleeSharedIsNotCalleeDuplicated) {
  const auto callee = [](int64_t id) {
    return Computation(id, 2, {Parameter(1, 0), Instruction("negate", 2, {1})});
  };
  const auto calling = [](int64_t a, int64_t b) {
    ProtoMessage first = Instruction("call", 2, {1});
    ProtoMessage second = Instruction("call", 3, {2});
    first.Varints(38, {a});
    second.Varints(38, {b});
    return Computation(1, 3, {Parameter(1, 0), first, second});
  };
  const Fingerprint shared = FingerprintOf(Module({callee(5), calling(5, 5)}, 1));
  EXPECT_NE(shared, FingerprintOf(Module({callee(5), callee(6), calling(5, 6)}, 1)));
  // Unused computations are kept, too.
  EXPECT_NE(shared, FingerprintOf(Module({callee(5), callee(6), calling(5, 5)}, 1)));
}

TEST(StructureTest, OrderOfCalleesIsMeaning) {
  const auto module_with = [](int64_t condition, int64_t body) {
    ProtoMessage loop = Instruction("while", 2, {1});
    loop.Varints(38, {body, condition});
    return Module({Computation(5, 2, {Parameter(1, 0), Instruction("negate", 2, {1})}),
                   Computation(6, 2, {Parameter(1, 0), Instruction("abs", 2, {1})}),
                   Computation(1, 2, {Parameter(1, 0), loop})},
                  1);
  };
  EXPECT_NE(FingerprintOf(module_with(5, 6)), FingerprintOf(module_with(6, 5)));
}

TEST(StructureTest, ControlEdgesAreMeaning) {
  const Fingerprint without = FingerprintOf(SmallModule());
  const auto with = [](const std::vector<int64_t>& controls) {
    return FingerprintOf(
        Changed([&](ProtoMessage& m) { InstructionAt(m, 0, 3).Varints(37, controls); }));
  };
  EXPECT_NE(with({1}), without);
  EXPECT_NE(with({1}), with({2}));
  EXPECT_NE(with({1}), with({1, 2}));
  EXPECT_EQ(with({1, 2}), with({2, 1}));
  EXPECT_EQ(with({1, 1}), with({1}));
}

TEST(StructureTest, RootAndEntryAreMeaning) {
  EXPECT_NE(FingerprintOf(SmallModule()),
            FingerprintOf(Changed([](ProtoMessage& m) { m.At(3).Find(6)->value = 3; })));
  const ProtoMessage a = Computation(1, 2, {Parameter(1, 0), Instruction("abs", 2, {1})});
  const ProtoMessage b = Computation(2, 2, {Parameter(1, 0), Instruction("negate", 2, {1})});
  EXPECT_NE(FingerprintOf(Module({a, b}, 1)), FingerprintOf(Module({a, b}, 2)));
}

TEST(StructureTest, DeadCodeIsKept) {
  ProtoMessage module = SmallModule();
  module.At(3).Message(2, Instruction("outfeed", 9, {3}));
  EXPECT_NE(FingerprintOf(module), FingerprintOf(SmallModule()));
}

TEST(StructureTest, SchedulesAreMeaning) {
  const auto with = [](const std::vector<int64_t>& order) {
    return FingerprintOf(Changed([&](ProtoMessage& module) {
      ProtoMessage sequence = {.type = HloMessage::kInstructionSequence, .fields = {}};
      ProtoMessage entry = {.type = HloMessage::kScheduleEntry, .fields = {}};
      ProtoMessage schedule = {.type = HloMessage::kSchedule, .fields = {}};
      entry.Varint(1, 1).Message(2, sequence.Varints(1, order));
      module.Message(7, schedule.Message(1, entry));
    }));
  };
  EXPECT_NE(with({1, 2, 3, 4}), with({2, 1, 3, 4}));
  EXPECT_NE(with({1, 2, 3, 4}), with({1, 2, 3}));
  EXPECT_NE(with({1, 2, 3, 4}), FingerprintOf(SmallModule()));
}

TEST(StructureTest, LiteralsAreCoveredToTheBit) {
  const auto with = [](uint32_t bits) { return FingerprintOf(ModuleOf({Constant(1, bits)}, 1)); };
  EXPECT_NE(with(0x00000000), with(0x80000000));  // 0.0 and -0.0
  EXPECT_NE(with(0x7fc00000), with(0x7fc00001));  // NaNs with another payload
  EXPECT_NE(with(0x3f800000), with(0x3f800001));
}

// Long literals are hashed on their own.
TEST(StructureTest, OneBitInALongLiteralIsMeaning) {
  const auto with = [](size_t length, size_t at, char bit) {
    std::string bytes(length, '\x05');
    if (at < length) bytes[at] = static_cast<char>(bytes[at] ^ bit);
    ProtoMessage literal = {.type = HloMessage::kLiteral, .fields = {}};
    ProtoMessage constant = Instruction("constant", 1);
    return FingerprintOf(ModuleOf({constant.Message(8, literal.Bytes(3, bytes))}, 1));
  };
  for (size_t length : {4095, 4096, 4097, 100000}) {
    const Fingerprint base = with(length, length, 0);
    EXPECT_NE(with(length, 0, 1), base);
    EXPECT_NE(with(length, length / 2, 1), base);
    EXPECT_NE(with(length, length - 1, '\x40'), base);
    EXPECT_NE(with(length + 1, length + 1, 0), base);
  }
}

// A long list is one list however it is packed, and a short one that holds a digest is no long one.
TEST(StructureTest, LongListsAreOneHoweverTheyArePacked) {
  for (const FieldType type : {FieldType::kInt32, FieldType::kFloat}) {
    const uint32_t number = type == FieldType::kInt32 ? 4 : 8;
    ProtoMessage literal = {.type = HloMessage::kLiteral, .fields = {}};
    for (int i = -3000; i < 3000; ++i) {
      if (type == FieldType::kInt32) {
        literal.Varint(number, static_cast<uint64_t>(int64_t{i}));
      } else {
        literal.Fixed32(number, static_cast<uint32_t>(i));
      }
    }
    ProtoMessage constant = Instruction("constant", 1);
    ProtoMessage module = ModuleOf({constant.Message(8, literal)}, 1);
    const Fingerprint packed = FingerprintOf(module);
    std::mt19937_64 random(7);
    for (int i = 0; i < 5; ++i) {
      const std::string bytes =
          Serialize(module, {.shuffle_fields = false, .vary_packing = true}, random);
      EXPECT_EQ(IdentifyGraph(bytes)->fingerprint, packed);
    }
    if (type == FieldType::kInt32) {
      InstructionAt(module, 0, 0).At(8).fields.back().value ^= 1;
      EXPECT_NE(FingerprintOf(module), packed);
    }
    InstructionAt(module, 0, 0).At(8).fields.pop_back();
    EXPECT_NE(FingerprintOf(module), packed);
  }
}

// Lists that stand on the wire as they are written take a short cut; others, of equal value, do
// not.
TEST(StructureTest, PackedListsAreOneHoweverTheirNumbersAreSpelled) {
  const auto with = [](uint32_t field, const std::string& packed) {
    ProtoMessage literal = {.type = HloMessage::kLiteral, .fields = {}};
    ProtoMessage constant = Instruction("constant", 1);
    // The type is not told, so that the bytes are written as they are.
    literal.type = HloMessage::kCount;
    return IdentifyGraph(
        Serialize(ModuleOf({constant.Message(8, literal.Bytes(field, packed))}, 1)));
  };
  constexpr uint32_t kPreds = 2, kS32s = 4, kS64s = 5, kU32s = 6;
  struct Case {
    uint32_t field;
    std::string canonical;
    std::vector<std::string> others;
  };
  const std::string minus_one = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  const Case cases[] = {
      {kPreds, std::string("\x00\x01", 2), {std::string("\x00\x02", 2), {"\x80\x00\x81\x00", 4}}},
      {kS32s, "\x05", {{"\x85\x00", 2}, {"\x85\x80\x80\x80\x80\x01", 6}}},
      {kS32s, minus_one, {"\xff\xff\xff\xff\x0f", "\xff\xff\xff\xff\x7f"}},
      {kS32s, "\xff\xff\xff\xff\x07", {"\xff\xff\xff\xff\x17"}},
      {kU32s, "\xff\xff\xff\xff\x0f", {minus_one, "\xff\xff\xff\xff\x1f"}},
      {kS64s, minus_one, {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03"}},
      {kS64s, "\xff\xff\xff\xff\x0f", {{"\xff\xff\xff\xff\x8f\x00", 6}}},
  };
  for (const Case& c : cases) {
    const GraphIdentity canonical = with(c.field, c.canonical).value();
    EXPECT_EQ(canonical.raw_reason, "");
    for (const std::string& other : c.others) {
      EXPECT_EQ(with(c.field, other)->fingerprint.digest.Hex(), canonical.fingerprint.digest.Hex());
    }
    // A value more is another list; one cut short is no list.
    EXPECT_NE(with(c.field, c.canonical + c.canonical)->fingerprint, canonical.fingerprint);
    EXPECT_EQ(with(c.field, c.canonical + "\x80")->fingerprint.tag, "neffcache-raw-1");
  }
  EXPECT_NE(with(kS32s, minus_one)->fingerprint, with(kS64s, minus_one)->fingerprint);
  EXPECT_NE(with(kS64s, minus_one)->fingerprint, with(kS64s, "\xff\xff\xff\xff\x0f")->fingerprint);
}

TEST(StructureTest, NumbersAreCoveredAsTheirTypeReadsThem) {
  const auto with = [](uint32_t number, uint64_t value) {
    return FingerprintOf(
        Changed([&](ProtoMessage& m) { InstructionAt(m, 0, 3).Varint(number, value); }));
  };
  EXPECT_EQ(with(18, 7), with(18, (uint64_t{1} << 32) + 7));  // int32
  EXPECT_EQ(with(60, 1), with(60, 2));                        // bool
  EXPECT_NE(with(26, 7), with(26, (uint64_t{1} << 32) + 7));  // int64
  EXPECT_EQ(with(18, 0xffffffff), with(18, ~uint64_t{0}));    // -1
  EXPECT_NE(with(18, 1), with(19, 1));
}

TEST(StructureTest, TheLastOfRepeatedScalarsStands) {
  const auto channel = [](const std::vector<int64_t>& values) {
    return FingerprintOf(
        Changed([&](ProtoMessage& m) { InstructionAt(m, 0, 3).Varints(26, values); }));
  };
  EXPECT_EQ(channel({1, 2}), channel({2}));
  EXPECT_NE(channel({1, 2}), channel({2, 1}));
}

TEST(StructureTest, TheLastMemberOfAOneofStands) {
  const auto with = [](const std::vector<uint32_t>& members) {
    ProtoMessage module = SmallModule();
    std::string bytes;
    for (uint32_t member : members) {
      ProtoMessage list = {.type = HloMessage::kCount, .fields = {}};
      ProtoMessage holder = {.type = HloMessage::kCount, .fields = {}};
      bytes += Serialize(holder.Message(member, list.Bytes(1, "")));
    }
    // Built by hand, since the order of fields matters here.
    ProtoMessage& entry = module.At(3);
    const std::string instruction = Serialize(InstructionAt(module, 0, 3)) + bytes;
    entry.fields[4].is_message = false;
    entry.fields[4].bytes = instruction;
    return FingerprintOf(module);
  };
  EXPECT_EQ(with({87, 93}), with({93}));
  EXPECT_EQ(with({93, 87}), with({87}));
  EXPECT_EQ(with({87, 93, 87}), with({87}));
  EXPECT_NE(with({87, 87}), with({87}));  // Merged: two groups.
  EXPECT_NE(with({87}), with({93}));
}

TEST(StructureTest, DroppedDataIsToldApartByItsOwnDigest) {
  const auto identify = [](const ProtoMessage& module) {
    return IdentifyGraph(Serialize(module)).value();
  };
  const GraphIdentity base = identify(SmallModule());
  const auto expect_dropped = [&](const std::function<void(ProtoMessage&)>& change) {
    const GraphIdentity changed = identify(Changed(change));
    EXPECT_EQ(changed.fingerprint, base.fingerprint);
    EXPECT_NE(changed.dropped, base.dropped);
  };
  expect_dropped([](ProtoMessage& m) { m.Find(1)->bytes = "another"; });
  expect_dropped([](ProtoMessage& m) { InstructionAt(m, 0, 0).Find(1)->bytes = "weights"; });
  expect_dropped([](ProtoMessage& m) { m.Bytes(17, "\x0a\x01x"); });
  expect_dropped([](ProtoMessage& m) {
    ProtoMessage metadata = {.type = HloMessage::kOpMetadata, .fields = {}};
    InstructionAt(m, 0, 3).Message(7, metadata.Bytes(2, "layer1/add"));
  });
  // Names of other instructions show nowhere.
  const GraphIdentity renamed =
      identify(Changed([](ProtoMessage& m) { InstructionAt(m, 0, 3).Find(1)->bytes = "x"; }));
  EXPECT_EQ(renamed.dropped, base.dropped);
}

}  // namespace
}  // namespace neffcache
