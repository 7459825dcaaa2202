// Sentences: one small change each, and what is said of it.

#include "graph/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "absl/strings/escaping.h"
#include "graph/explain/printable.h"
#include "io/zstd.h"
#include "tests/graph/hlo_builder.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Kind = Difference::Kind;
using Change = std::function<void(ProtoMessage&)>;

ProtoMessage Of(HloMessage type) {
  return {.type = type, .fields = {}};
}

ProtoMessage WithSource(ProtoMessage instruction, absl::string_view file, uint64_t line) {
  ProtoMessage metadata = Of(HloMessage::kOpMetadata);
  return instruction.Message(7, metadata.Bytes(3, file).Varint(4, line));
}

ProtoMessage ScalarConstant(int64_t id, int64_t value) {
  ProtoMessage shape = Of(HloMessage::kShape), literal = Of(HloMessage::kLiteral);
  shape.Varint(2, 4);  // s32[]
  ProtoMessage constant = Instruction("constant", id);
  constant.At(3) = shape;
  return constant.Message(8, literal.Message(1, shape).Varints(4, {value}));
}

ProtoMessage ArrayConstant(int64_t id, const std::vector<float>& values) {
  const ProtoMessage shape = ShapeOf({static_cast<int64_t>(values.size())});
  ProtoMessage literal = Of(HloMessage::kLiteral);
  literal.Message(1, shape);
  for (const float value : values) literal.Fixed32(8, std::bit_cast<uint32_t>(value));
  ProtoMessage constant = Instruction("constant", id);
  constant.At(3) = shape;
  return constant.Message(8, literal);
}

// entry(p0, p1) = add(dot(p0, p1), broadcast(rank)), reduce(dot) calls region.
ProtoMessage Model() {
  ProtoMessage dot = WithSource(Instruction("dot", 3, {1, 2}), "/home/me/attention.py", 88);
  ProtoMessage numbers = Of(HloMessage::kDotDimensionNumbers);
  dot.Message(30, numbers.Varints(1, {1}).Varints(2, {0}));
  ProtoMessage reduce = WithSource(Instruction("reduce", 6, {3, 4}), "/home/me/model.py", 12);
  reduce.Varints(14, {0}).Varint(38, 2);
  const ProtoMessage region =
      Computation(2, 3, {Parameter(1, 0), Parameter(2, 1), Instruction("maximum", 3, {1, 2})});
  const ProtoMessage entry = Computation(
      1, 8,
      {Parameter(1, 0), Parameter(2, 1), dot, WithSource(ScalarConstant(4, 3), "rank.py", 3),
       WithSource(Instruction("add", 5, {3, 4}), "/home/me/model.py", 11), reduce,
       ArrayConstant(7, std::vector<float>(64, 0.5f)), Instruction("tuple", 8, {5, 6, 7})});
  return Module({region, entry}, 1);
}

constexpr size_t kRegion = 0, kEntry = 1;

ProtoMessage& At(ProtoMessage& module, size_t instruction) {
  return InstructionAt(module, kEntry, instruction);
}

Explanation Explain(const ProtoMessage& before, const ProtoMessage& after,
                    const ExplainOptions& options = {}) {
  return ExplainGraphs(Serialize(before), Serialize(after), options).value();
}

Explanation ExplainChange(const Change& change) {
  ProtoMessage after = Model();
  change(after);
  return Explain(Model(), after);
}

std::vector<std::string> Texts(const Explanation& explanation) {
  std::vector<std::string> texts;
  for (const Difference& difference : explanation.differences) texts.push_back(difference.text);
  return texts;
}

struct Sentence {
  const char* what;
  Change change;
  Kind kind;
  std::string text;
};

void PrintTo(const Sentence& sentence, std::ostream* out) {
  *out << sentence.what;
}

class SentenceTest : public ::testing::TestWithParam<Sentence> {};

TEST_P(SentenceTest, SaysWhatDiffersAndNothingElse) {
  const Explanation explanation = ExplainChange(GetParam().change);
  EXPECT_FALSE(explanation.same);
  ASSERT_THAT(Texts(explanation), ElementsAre(GetParam().text));
  EXPECT_EQ(ToString(explanation.differences[0].kind), ToString(GetParam().kind));
  EXPECT_EQ(explanation.omitted, 0u);
}

ProtoMessage Bf16(const std::vector<int64_t>& dimensions) {
  ProtoMessage shape = ShapeOf(dimensions);
  shape.Find(2)->value = 16;
  return shape;
}

ProtoMessage Entry(HloMessage type, const std::string& key, const std::string& value) {
  ProtoMessage attributes = Of(type), entry = Of(HloMessage::kMapEntry);
  return attributes.Message(1, entry.Bytes(1, key).Bytes(2, value));
}

INSTANTIATE_TEST_SUITE_P(
    All, SentenceTest,
    ::testing::Values(
        Sentence{"parameter shape",
                 [](auto& m) {
                   At(m, 1).At(3) = Bf16({8, 128});
                 },
                 Kind::kSignature, "parameter 1: f32[2,3] → bf16[8,128]"},
        Sentence{"parameter layout",
                 [](auto& m) {
                   ProtoMessage& layout = At(m, 1).At(3).At(5);
                   layout.Remove(1);
                   layout.Varints(1, {0, 1});
                 },
                 Kind::kSignature, "parameter 1: f32[2,3]{1,0} → f32[2,3]{0,1}"},
        Sentence{"dynamic dimension",
                 [](auto& m) {
                   At(m, 1).At(3).Remove(6);
                   At(m, 1).At(3).Varints(6, {1, 0});
                 },
                 Kind::kSignature, "parameter 1: f32[2,3] → f32[<=2,3]"},
        Sentence{"parameter sharding",
                 [](auto& m) {
                   ProtoMessage sharding = Of(HloMessage::kOpSharding);
                   At(m, 0).Message(40, sharding.Varint(1, 3).Varints(3, {2, 1}));
                 },
                 Kind::kSignature,
                 "parameter 0: sharding absent → {type: other, tile_assignment_dimensions: "
                 "[2,1]}"},
        Sentence{"alias",
                 [](auto& m) {
                   ProtoMessage alias = Of(HloMessage::kInputOutputAlias);
                   ProtoMessage entry = Of(HloMessage::kAliasEntry);
                   m.Message(8, alias.Message(1, entry.Varints(1, {0}).Varint(2, 1).Varint(4, 2)));
                 },
                 Kind::kSignature,
                 "input_output_alias absent → output {0} is parameter 1 {} (must)"},
        Sentence{"donor",
                 [](auto& m) {
                   ProtoMessage donors = Of(HloMessage::kBufferDonor);
                   ProtoMessage entry = Of(HloMessage::kBufferDonorEntry);
                   m.Message(18, donors.Message(1, entry.Varint(1, 1)));
                 },
                 Kind::kSignature, "buffer_donor absent → parameter 1 {}"},
        Sentence{
            "module attribute",
            [](auto& m) { m.Message(19, Entry(HloMessage::kFrontendAttributes, "mesh", "a\nb")); },
            Kind::kModuleField, "module: frontend attribute mesh absent → \"a\\x0ab\""},
        Sentence{"module field", [](auto& m) { m.Varint(11, 1); }, Kind::kModuleField,
                 "module: is_dynamic false → true"},
        Sentence{"unused computation",
                 [](auto& m) { m.Message(3, Computation(9, 1, {Instruction("iota", 1)})); },
                 Kind::kComputation, "+ computation computation.9 (1 instruction)"},
        Sentence{"thread", [](auto& m) { m.At(3, kEntry).Bytes(8, "host"); }, Kind::kComputation,
                 "computation.1: execution_thread absent → \"host\""},
        Sentence{"dot dimensions",
                 [](auto& m) {
                   At(m, 2).At(30).Remove(1);
                   At(m, 2).At(30).Varints(1, {0});
                 },
                 Kind::kInstruction,
                 "dot.3 (attention.py:88): lhs_contracting_dimensions [1] → [0]"},
        Sentence{"opcode", [](auto& m) { At(m, 4).Find(2)->bytes = "subtract"; },
                 Kind::kInstruction, "add.5 (model.py:11): opcode add → subtract"},
        Sentence{"operands exchanged",
                 [](auto& m) {
                   At(m, 2).Remove(36);
                   At(m, 2).Varints(36, {2, 1});
                 },
                 Kind::kInstruction,
                 "dot.3 (attention.py:88): operand 0 parameter 0 → parameter 1; operand 1 "
                 "parameter 1 → parameter 0"},
        Sentence{"control predecessor", [](auto& m) { At(m, 5).Varints(37, {5}); },
                 Kind::kInstruction, "reduce.6 (model.py:12): control predecessor + add.5"},
        Sentence{"dead code",
                 [](auto& m) { m.At(3, kEntry).Message(2, Instruction("rng", 20, {1})); },
                 Kind::kInstruction, "+ rng.20 f32[2,3]"},
        Sentence{"in a called computation",
                 [](auto& m) { InstructionAt(m, kRegion, 2).Find(2)->bytes = "minimum"; },
                 Kind::kInstruction, "maximum.3: opcode maximum → minimum"},
        Sentence{
            "frontend attribute",
            [](auto& m) { At(m, 2).Message(68, Entry(HloMessage::kFrontendAttributes, "k", "v")); },
            Kind::kInstruction, "dot.3 (attention.py:88): frontend attribute k absent → \"v\""},
        Sentence{"number", [](auto& m) { At(m, 5).Varint(26, 7); }, Kind::kInstruction,
                 "reduce.6 (model.py:12): channel_id 0 → 7"},
        Sentence{"enumerators",
                 [](auto& m) {
                   ProtoMessage precision = Of(HloMessage::kPrecisionConfig);
                   At(m, 2).Message(51, precision.Varints(1, {2, 0}));
                 },
                 Kind::kInstruction,
                 "dot.3 (attention.py:88): precision_config absent → {operand_precision: "
                 "[highest,default]}"},
        Sentence{"unknown field of a shape", [](auto& m) { At(m, 2).At(3).Varint(99, 5); },
                 Kind::kInstruction, "dot.3 (attention.py:88): shape unknown field 99 absent → 5"},
        Sentence{"scalar constant",
                 [](auto& m) { At(m, 3) = WithSource(ScalarConstant(4, 5), "rank.py", 3); },
                 Kind::kConstant, "constant.4 (rank.py:3): s32[] 3 → 5"},
        Sentence{"array constant",
                 [](auto& m) {
                   std::vector<float> values(64, 0.5f);
                   values[17] = 0.25f;
                   values[18] = 4;
                   At(m, 6) = ArrayConstant(7, values);
                 },
                 Kind::kConstant,
                 "constant.7: literal of f32[64]: 2 of 64 elements differ, first at 17: 0.5 → "
                 "0.25"},
        Sentence{"constant of another type",
                 [](auto& m) {
                   ProtoMessage& constant = At(m, 3);
                   constant.At(3).Find(2)->value = 5;  // s64[]
                   constant.At(8).At(1).Find(2)->value = 5;
                   constant.At(8).Remove(4);
                   constant.At(8).Varints(5, {-3});
                 },
                 Kind::kConstant, "constant.4 (rank.py:3): s32[] 3 → s64[] -3"},
        Sentence{"schedule", [](auto& m) { m.Bytes(7, ""); }, Kind::kOrder,
                 "schedule: absent → present"}));

TEST(ExplainTest, TheSameGraphHasNoDifferences) {
  const Explanation explanation = Explain(Model(), Model());
  EXPECT_TRUE(explanation.same);
  EXPECT_FALSE(explanation.only_debug_data);
  EXPECT_THAT(explanation.differences, IsEmpty());
  EXPECT_EQ(explanation.Summary(), "the same");
}

TEST(ExplainTest, NamesAndMetadataAreDebugData) {
  const Explanation explanation =
      ExplainChange([](auto& m) { At(m, 2).At(7).Find(4)->value = 89; });
  EXPECT_TRUE(explanation.same);
  EXPECT_TRUE(explanation.only_debug_data);
  EXPECT_EQ(explanation.Summary(), "the same but for names or metadata");
}

TEST(ExplainTest, ScalarConstantsAloneMakeNoOtherSkeleton) {
  EXPECT_TRUE(
      ExplainChange([](auto& m) { At(m, 3) = ScalarConstant(4, 5); }).only_scalar_constants);
  EXPECT_FALSE(ExplainChange([](auto& m) { At(m, 5).Varint(26, 7); }).only_scalar_constants);
  EXPECT_FALSE(ExplainChange([](auto& m) {
                 At(m, 6) = ArrayConstant(7, std::vector<float>(64, 1));
               }).only_scalar_constants);
}

TEST(ExplainTest, ShapesThatFollowAreFoldedIntoTheirCause) {
  const Explanation explanation = ExplainChange([](auto& m) {
    for (const size_t i : {size_t{1}, size_t{2}, size_t{4}, size_t{5}, size_t{7}}) {
      At(m, i).At(3) = ShapeOf({16, 3});
    }
  });
  EXPECT_THAT(Texts(explanation),
              ElementsAre("parameter 1: f32[2,3] → f32[16,3], and 4 shapes that follow"));
}

TEST(ExplainTest, EqualChangesAreFolded) {
  const Explanation explanation = ExplainChange([](auto& m) {
    for (const size_t i : {2, 4, 5}) At(m, i).Varint(26, 7);
  });
  EXPECT_THAT(Texts(explanation),
              ElementsAre("dot.3 (attention.py:88): channel_id 0 → 7 (and 2 more likewise)"));
}

TEST(ExplainTest, AnInsertedInstructionComesBeforeWhatUsesIt) {
  const Explanation explanation = ExplainChange([](auto& m) {
    m.At(3, kEntry).Message(2, WithSource(Instruction("convert", 20, {1}), "/x/cast.py", 4));
    At(m, 2).Remove(36);
    At(m, 2).Varints(36, {20, 2});
  });
  EXPECT_THAT(Texts(explanation),
              ElementsAre("+ convert.20 f32[2,3] (cast.py:4)",
                          "dot.3 (attention.py:88): operand 0 parameter 0 → convert.20"));
}

TEST(ExplainTest, AnInsertedParameterMovesTheOthers) {
  const Explanation explanation = ExplainChange([](auto& m) {
    At(m, 0).Find(9)->value = 1;
    At(m, 1).Find(9)->value = 2;
    ProtoMessage added = Parameter(30, 0);
    added.At(3) = ShapeOf({7});
    m.At(3, kEntry).Message(2, added);
  });
  ASSERT_THAT(explanation.differences, SizeIs(2));
  EXPECT_EQ(explanation.differences[0].text, "+ parameter 0 f32[7]");
  EXPECT_EQ(explanation.differences[1].text,
            "parameter 0 → 1: another number (and 1 more likewise)");
}

TEST(ExplainTest, SharingIsADifference) {
  const auto module_with = [](bool shared) {
    return Module(
        {Computation(1, 4,
                     {Parameter(1, 0), Instruction("rng", 2, {1}), Instruction("rng", 3, {1}),
                      Instruction("add", 4, {2, shared ? 2 : 3})})},
        1);
  };
  ProtoMessage shared = module_with(true);
  std::erase_if(shared.At(3).fields, [](ProtoField& f) {
    return f.is_message && f.message[0].Find(1)->bytes == "rng.3";
  });
  const Explanation explanation = Explain(shared, module_with(false));
  ASSERT_FALSE(explanation.differences.empty());
  EXPECT_THAT(explanation.differences[0].text, StartsWith("+ rng."));
}

TEST(ExplainTest, ANewComputationComesBehindItsCaller) {
  const Explanation explanation = ExplainChange([](auto& m) {
    ProtoMessage call = Instruction("call", 20, {1});
    m.At(3, kEntry).Message(2, call.Varint(38, 9));
    m.Message(3, Computation(9, 1, {Instruction("iota", 1)}));
  });
  EXPECT_THAT(Texts(explanation),
              ElementsAre("+ call.20 f32[2,3]", "+ computation computation.9 (1 instruction)"));
}

TEST(ExplainTest, ACallOfAnotherComputationIsNoChangeOfTheComputation) {
  const auto module_with = [](uint64_t callee) {
    ProtoMessage call = Instruction("call", 2, {1}), other = Instruction("call", 3, {2});
    call.Varint(38, callee);
    other.Varint(38, 2);
    ProtoMessage third = Instruction("call", 4, {3});
    third.Varint(38, 3);
    return Module({Computation(2, 2, {Parameter(1, 0), Instruction("sine", 2, {1})}),
                   Computation(3, 2, {Parameter(1, 0), Instruction("cosine", 2, {1})}),
                   Computation(1, 4, {Parameter(1, 0), call, other, third})},
                  1);
  };
  EXPECT_THAT(Texts(Explain(module_with(2), module_with(3))),
              ElementsAre("call.2: calls computation.2 → computation.3"));
}

TEST(ExplainTest, ScheduleIsComparedByInstruction) {
  const auto module_with = [](const std::vector<int64_t>& order) {
    ProtoMessage module = SmallModule();
    ProtoMessage schedule = Of(HloMessage::kSchedule), entry = Of(HloMessage::kScheduleEntry);
    ProtoMessage sequence = Of(HloMessage::kInstructionSequence);
    entry.Varint(1, 1).Message(2, sequence.Varints(1, order));
    return module.Message(7, schedule.Message(1, entry));
  };
  const Explanation explanation = Explain(module_with({1, 2, 3, 4}), module_with({2, 1, 3, 4}));
  EXPECT_THAT(Texts(explanation),
              ElementsAre("schedule of computation.1: at 0: parameter.1 → parameter.2"));
  EXPECT_EQ(explanation.differences[0].kind, Kind::kOrder);
}

TEST(ExplainTest, ExactOrderIsCompared) {
  ProtoMessage after = Model();
  std::swap(At(after, 3), At(after, 6));
  ExplainOptions options;
  EXPECT_TRUE(Explain(Model(), after, options).same);
  options.identify.order = GraphOrder::kExact;
  EXPECT_THAT(Texts(Explain(Model(), after, options)),
              ElementsAre("order of computation.1: at 3: constant.4 → constant.7"));
}

TEST(ExplainTest, SourceLinesComeFromStackFramesToo) {
  const Explanation explanation = ExplainChange([](auto& m) {
    ProtoMessage metadata = Of(HloMessage::kOpMetadata), index, location, frame;
    At(m, 5).Remove(7);
    At(m, 5).Message(7, metadata.Varint(15, 1)).Varint(26, 7);
    index.Bytes(1, "/a/first.py").Bytes(1, "/a/deep/layers.py");
    location.Varint(1, 2).Varint(2, 1).Varint(3, 77);
    frame.Varint(1, 1).Varint(2, 0);
    m.Message(17, index.Message(3, location).Message(4, frame));
  });
  ASSERT_THAT(explanation.differences, SizeIs(1));
  EXPECT_EQ(explanation.differences[0].source, "layers.py:77");
}

TEST(ExplainTest, FilesOfOneNameAreToldByTheirDirectory) {
  const Explanation explanation = ExplainChange([](auto& m) {
    m.At(3, kEntry)
        .Message(2, WithSource(Instruction("rng", 20), "/src/a/layers.py", 1))
        .Message(2, WithSource(Instruction("iota", 21), "/src/b/layers.py", 2));
  });
  std::vector<std::string> sources;
  for (const Difference& difference : explanation.differences) sources.push_back(difference.source);
  EXPECT_THAT(sources, ::testing::UnorderedElementsAre("a/layers.py:1", "b/layers.py:2"));
}

TEST(ExplainTest, KernelConfigurationsAreComparedByMember) {
  const auto module_with = [](const std::string& config) {
    ProtoMessage module = SmallModule();
    InstructionAt(module, 0, 3)
        .Bytes(28, "AwsNeuronCustomNativeKernel")
        .Bytes(43, absl::Base64Escape(config));
    return module;
  };
  const auto before = module_with(R"({"mac_count": 1, "klir_binary": {"binary": "/a/k.klir"}})");
  ExplainOptions options;
  options.identify.file_digest = [](absl::string_view path) -> absl::StatusOr<Digest> {
    return Sha256Of(path == "/c/k.klir" ? "other" : "content");
  };
  // Other order, other directory, same content.
  EXPECT_TRUE(Explain(before,
                      module_with(R"({"klir_binary": {"binary": "/b/k.klir"}, "mac_count": 1})"),
                      options)
                  .same);
  EXPECT_THAT(
      Texts(Explain(before,
                    module_with(R"({"klir_binary": {"binary": "/b/k.klir"}, "mac_count": 2})"),
                    options)),
      ElementsAre("add.4: backend_config.mac_count 1 → 2"));
  EXPECT_THAT(
      Texts(Explain(before,
                    module_with(R"({"klir_binary": {"binary": "/c/k.klir"}, "mac_count": 1})"),
                    options)),
      ElementsAre(StartsWith("add.4: backend_config.klir_binary.binary the content of k.klir ")));
}

TEST(ExplainTest, OpaqueGraphsAreComparedAsBytes) {
  const std::string a("ML\xefR\x01 one", 9), b("ML\xefR\x01 other", 11);
  const Explanation explanation = ExplainGraphs(a, b).value();
  EXPECT_THAT(Texts(explanation), ElementsAre("size: 9 → 11 bytes",
                                              "bytes: first difference at offset 7: 0x6e → 0x74"));
  EXPECT_EQ(explanation.differences[0].kind, Kind::kForm);
  EXPECT_THAT(Texts(ExplainGraphs(a, Serialize(Model())).value()),
              ElementsAre("form: MLIR bytecode → HloModuleProto"));
}

TEST(ExplainTest, ItSaysWhyAModuleIsComparedAsBytes) {
  const Explanation explanation = ExplainChange([](auto& m) { m.Varint(99, 1); });
  EXPECT_THAT(
      Texts(explanation),
      ElementsAre("form: HloModuleProto → HloModuleProto, hashed as raw bytes (module field 99 is "
                  "unknown)"));
}

TEST(ExplainTest, WrappedGraphsAreUnwrapped) {
  const std::string wrapped = ZstdCompress(Serialize(Model()));
  EXPECT_TRUE(ExplainGraphs(wrapped, Serialize(Model())).value().same);
}

TEST(ExplainTest, EmptyGraphsAreRefused) {
  EXPECT_EQ(ExplainGraphs("", "x").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ExplainTest, LimitIsKeptAndTheRestCounted) {
  ProtoMessage after = Model();
  for (int64_t id = 100; id < 150; ++id) {
    after.At(3, kEntry).Message(2,
                                Instruction("rng", id, {1}).Varint(26, static_cast<uint64_t>(id)));
  }
  ExplainOptions options;
  options.max_differences = 3;
  const Explanation explanation = Explain(Model(), after, options);
  EXPECT_THAT(explanation.differences, SizeIs(3));
  EXPECT_EQ(explanation.omitted, 47u);
  EXPECT_THAT(explanation.Summary(), HasSubstr("; and 49 other differences"));
}

TEST(PrintableTest, ControlCharactersAndBrokenUtf8AreEscaped) {
  EXPECT_EQ(Printable("a\tb\x1b[0m\xff", 100), "a\\x09b\\x1b[0m\\xff");
  EXPECT_EQ(Printable("é → ✓", 100), "é → ✓");
  EXPECT_EQ(Printable("\xe2\x80\xae", 100), "\\xe2\\x80\\xae");  // Turns the direction of writing.
  EXPECT_EQ(Printable("\xc0\x80", 100), "\\xc0\\x80");
  EXPECT_EQ(Printable("abcdefgh", 6), "abc…");
  EXPECT_EQ(Printable("ééééé", 8), "éé…");
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
}

}  // namespace
}  // namespace neffcache
