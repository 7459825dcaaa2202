// Any two graphs with different fingerprints differ in something that is said, any two with one
// fingerprint in nothing; and what is said is bounded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/match.h"
#include "graph/explain.h"
#include "graph/explain/sequence_match.h"
#include "graph/graph_form.h"
#include "tests/graph/full_module.h"
#include "tests/graph/hlo_builder.h"
#include "tests/graph/known_graphs.h"
#include "tests/graph/random_module.h"
#include "tests/graph/rewriting.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

void ExpectSound(const std::string& before, const std::string& after, const std::string& what) {
  SCOPED_TRACE(what);
  ExplainOptions options;
  options.max_differences = 5;
  const Explanation explanation = ExplainGraphs(before, after, options).value();
  const bool same =
      IdentifyGraph(before).value().fingerprint == IdentifyGraph(after).value().fingerprint;
  EXPECT_EQ(explanation.same, same);
  EXPECT_EQ(explanation.differences.empty(), same);
  EXPECT_LE(explanation.differences.size(), 5u);
  EXPECT_LE(explanation.Summary().size(), 400u);
  for (const Difference& difference : explanation.differences) {
    EXPECT_LE(difference.text.size(), 300u) << difference.text;
    EXPECT_FALSE(difference.text.empty());
    // What the fall-back says of differences that nothing else has found.
    EXPECT_FALSE(absl::StrContains(difference.text, "sharing or order apart")) << what;
    for (const char c : difference.text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20);
  }
}

class ExplainPropertyTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(OneofMembers, ExplainPropertyTest, ::testing::Values(0, 1, 2));

TEST_P(ExplainPropertyTest, EveryFieldThatChangesIsExplained) {
  ProtoMessage module = FullModule(GetParam());
  const std::string before = Serialize(module);
  ForEachMessage(module, false, "", [&](ProtoMessage& message, bool, const std::string& path) {
    for (size_t i = 0; i < message.fields.size(); ++i) {
      const std::string where = absl::StrCat(path, "/", message.fields[i].number, "#", i);
      const ProtoField copy = message.fields[i];
      if (!copy.is_message) {
        if (copy.type == WireType::kVarint) {
          message.fields[i].value = copy.value == 0 ? 1 : 0;
        } else if (!copy.bytes.empty()) {
          message.fields[i].bytes[0] = static_cast<char>(copy.bytes[0] ^ 1);
        }
        ExpectSound(before, Serialize(module), where);
        message.fields[i] = copy;
      }
      message.fields.erase(message.fields.begin() + static_cast<std::ptrdiff_t>(i));
      ExpectSound(before, Serialize(module), where + " left out");
      message.fields.insert(message.fields.begin() + static_cast<std::ptrdiff_t>(i), copy);
    }
    const size_t size = message.fields.size();
    message.Varint(2000, 1);
    ExpectSound(before, Serialize(module), path + " unknown");
    message.fields.resize(size);
  });
}

// Changes one value, or drops, doubles or exchanges fields, somewhere in the tree.
void Mutate(ProtoMessage& message, std::mt19937_64& random) {
  ProtoMessage* at = &message;
  for (;;) {
    if (at->fields.empty()) {
      at->Varint(1 + random() % 100, random() % 5);
      return;
    }
    const size_t i = random() % at->fields.size();
    ProtoField& field = at->fields[i];
    if (field.is_message && random() % 8 != 0) {
      at = &field.message[0];
      continue;
    }
    switch (random() % 4) {
      case 0:
        if (field.type == WireType::kVarint) {
          field.value ^= uint64_t{1} << (random() % 4);
        } else if (!field.bytes.empty()) {
          field.bytes[random() % field.bytes.size()] ^= 1;
        }
        return;
      case 1:
        at->fields.erase(at->fields.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      case 2: {
        const ProtoField copy = field;
        at->fields.push_back(copy);
        return;
      }
      default:
        std::swap(field, at->fields[random() % at->fields.size()]);
        return;
    }
  }
}

std::vector<ProtoMessage> Sources() {
  ProtoMessage call = Instruction("call", 6, {3});
  call.Varint(38, 7);
  std::vector<ProtoMessage> sources = {
      SmallModule(),
      Module({Computation(
                  7, 3,
                  {Parameter(1, 0), Instruction("negate", 2, {1}), Instruction("add", 3, {2, 2})}),
              Computation(12, 8,
                          {Parameter(1, 0), Parameter(2, 1), Instruction("multiply", 3, {1, 2}),
                           call, Instruction("rng", 7, {1}), Instruction("rng", 17, {1}),
                           Instruction("add", 8, {6, 7}), Instruction("negate", 9, {17})})},
             12)};
  if (!HaveGraphs()) return sources;
  for (const char* name : {"binary/spu.jit_keras.hlo.pb", "derived/neuron.llama_tp8.hlo_module.pb",
                           "binary/tracelens-new.jit__unstack.hlo_proto.pb"}) {
    const std::string bytes = ReadGraph(GraphsDirectory() / name);
    sources.push_back(ParseProto(HloMessage::kModule, RecognizeGraph(bytes).module));
  }
  return sources;
}

TEST(ExplainPropertiesTest, RandomMutationsAreExplained) {
  std::mt19937_64 random(20240607);
  for (const ProtoMessage& source : Sources()) {
    const std::string before = Serialize(source);
    for (int round = 0; round < 150; ++round) {
      ProtoMessage module = source;
      for (uint64_t n = 1 + random() % 3; n > 0; --n) Mutate(module, random);
      const std::string after = Serialize(module);
      if (after.empty()) continue;
      ExpectSound(before, after, absl::StrCat("round ", round));
      ExpectSound(after, before, absl::StrCat("round ", round, " backwards"));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ExplainPropertiesTest, RandomModulesAreExplained) {
  std::mt19937_64 random(11);
  std::string last = Serialize(SmallModule());
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    ProtoMessage module = RandomModule(random);
    const std::string before = Serialize(module);
    ExpectSound(last, before, "of two modules");
    Mutate(module, random);
    if (module.fields.empty()) continue;
    ExpectSound(before, Serialize(module), "of a mutation");
    last = before;
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ExplainPropertiesTest, RewritingsHaveNoDifferences) {
  std::mt19937_64 random(5);
  for (const ProtoMessage& source : Sources()) {
    ProtoMessage module = source;
    RenameEverything(module, random);
    ReplaceMetadata(module, random);
    ShuffleInstructions(module, random);
    ShuffleComputations(module, random);
    ShuffleSets(module, random);
    Renumber(module, IdScheme::kFullReferences, random);
    const Explanation explanation = ExplainGraphs(Serialize(source), Serialize(module)).value();
    EXPECT_TRUE(explanation.same);
    EXPECT_TRUE(explanation.only_debug_data);
  }
}

// --- Size ---

// A chain of layers, a few opcodes in turn.
ProtoMessage Chain(int64_t count, int64_t from, const std::vector<std::string>& opcodes,
                   uint64_t channel) {
  std::vector<ProtoMessage> instructions = {Parameter(1, 0)};
  for (int64_t i = 2; i <= count; ++i) {
    const size_t turn = static_cast<size_t>(i + from) % opcodes.size();
    instructions.push_back(Instruction(opcodes[turn], i, {i - 1, std::max<int64_t>(1, i - 7)}));
    if (channel != 0) instructions.back().Varint(26, channel + static_cast<uint64_t>(i) % 9000);
  }
  return Module({Computation(1, count, instructions)}, 1);
}

// A second each; ctest ends what takes minutes.
TEST(ExplainPropertiesTest, HugeDifferencesTakeFewLines) {
  const std::vector<std::string> opcodes = {"add", "multiply", "subtract"};
  const std::string base = Serialize(Chain(100000, 0, opcodes, 0));
  const std::string small = Serialize(Chain(20000, 0, opcodes, 0));
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {base, Serialize(Chain(100000, 0, {"sine", "cosine"}, 0))},  // Nothing in common.
      {small, Serialize(Chain(20000, 1, opcodes, 0))},             // Shifted.
      {small, Serialize(Chain(19000, 0, opcodes, 7))},             // Each its own change.
  };
  for (const auto& [before, after] : pairs) {
    const Explanation explanation = ExplainGraphs(before, after).value();
    EXPECT_FALSE(explanation.differences.empty());
    EXPECT_LE(explanation.differences.size(), 20u);
  }
}

TEST(ExplainPropertiesTest, OneChangeAmongManyIsFound) {
  const ProtoMessage before = Chain(30000, 0, {"add", "multiply", "subtract"}, 0);
  ProtoMessage after = before;
  InstructionAt(after, 0, 15000).Varint(26, 5);
  const Explanation explanation = ExplainGraphs(Serialize(before), Serialize(after)).value();
  ASSERT_EQ(explanation.differences.size(), 1u);
  EXPECT_THAT(explanation.differences[0].text, HasSubstr("15001: channel_id 0 → 5"));
  EXPECT_EQ(explanation.omitted, 0u);
}

// --- Sequences ---

TEST(SequenceMatchTest, FindsLongestCommonSubsequences) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint64_t> a(random() % 30), b(random() % 30);
    for (uint64_t& token : a) token = random() % 4;
    for (uint64_t& token : b) token = random() % 4;
    std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i < a.size(); ++i) {
      for (size_t k = 0; k < b.size(); ++k) {
        best[i + 1][k + 1] =
            a[i] == b[k] ? best[i][k] + 1 : std::max(best[i][k + 1], best[i + 1][k]);
      }
    }
    const auto pairs = MatchSequences(a, b);
    ASSERT_EQ(pairs.size(), best[a.size()][b.size()]);
    for (size_t i = 0; i < pairs.size(); ++i) {
      ASSERT_EQ(a[pairs[i].first], b[pairs[i].second]);
      if (i == 0) continue;
      ASSERT_LT(pairs[i - 1].first, pairs[i].first);
      ASSERT_LT(pairs[i - 1].second, pairs[i].second);
    }
  }
}

TEST(SequenceMatchTest, EndsWhereThereIsTooMuchToCompare) {
  std::vector<uint64_t> a(5000), b(5000);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = i;
    b[i] = 10000 + i;
  }
  EXPECT_TRUE(MatchSequences(a, b).empty());
  a[0] = b[0] = 1000000;
  a[4999] = b[4999] = 2000000;
  EXPECT_THAT(MatchSequences(a, b), ElementsAre(Pair(0, 0), Pair(4999, 4999)));
}

// --- Public graphs ---

TEST(ExplainKnownGraphsTest, VectorsAreExplained) {
  if (!HaveGraphs()) GTEST_SKIP() << "no graphs in " << GraphsDirectory();
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"alias_kind", "output {1} is parameter 7 {} (may) → output {1} is parameter 7 {} (must)"},
      {"alias_removed", "output {1} is parameter 7 {} (may) → absent"},
      {"constant_value", "constant.17 (optimizer_v2.py:473): f32[] 1 → 2"},
      {"control_dep", "add.155: control predecessor + x.153"},
      {"dimensions", "broadcast.62 (optimizer_v2.py:473): dimensions [0] → [1]"},
      {"dot_dims", "dot.101 (core.py:1242): lhs_contracting_dimensions [1] → [0]"},
      {"frontend_attribute", "add.155: frontend attribute _x absent → \"1\""},
      {"layout", "broadcast.55 (optimizer_v2.py:473): shape f32[1024,1]{1,0} → f32[1024,1]{0,1}"},
      {"operands_swapped", "operand 0 add.47 → broadcast.48; operand 1 broadcast.48 → add.47"},
      {"parameter_order", "(parameter 3) → reshape.93(parameter 4)"},
      {"unknown_field", "module field 1000 is unknown"}};
  const auto directory = GraphsDirectory() / "derived/vectors";
  const std::string base = ReadGraph(directory / "keras.base.pb");
  for (const auto& [name, text] : expected) {
    const Explanation explanation =
        ExplainGraphs(base, ReadGraph(directory / ("keras.differ." + name + ".pb"))).value();
    ASSERT_FALSE(explanation.differences.empty()) << name;
    EXPECT_THAT(explanation.differences[0].text, HasSubstr(text));
  }
  size_t met = 0;
  for (const auto& path : GraphFiles("derived/vectors")) {
    const bool differ = absl::StrContains(path.string(), ".differ.");
    met += differ;
    EXPECT_EQ(ExplainGraphs(base, ReadGraph(path)).value().same, !differ) << path;
  }
  EXPECT_EQ(met, expected.size());
}

TEST(ExplainKnownGraphsTest, PairsOfRealGraphsAreExplained) {
  if (!HaveGraphs()) GTEST_SKIP() << "no graphs in " << GraphsDirectory();
  std::vector<std::string> graphs;
  for (const char* directory : {"binary", "derived", "bytecode"}) {
    for (const auto& path : GraphFiles(directory)) {
      std::string bytes = ReadGraph(path);
      if (bytes.size() < 400000) graphs.push_back(std::move(bytes));
    }
  }
  for (size_t i = 0; i < graphs.size(); ++i) {
    for (const size_t k : {(i + 1) % graphs.size(), (i + 7) % graphs.size()}) {
      ExpectSound(graphs[i], graphs[k], absl::StrCat(i, " and ", k));
    }
  }
  const auto derived = GraphsDirectory() / "derived";
  const Explanation sharding =
      ExplainGraphs(ReadGraph(derived / "rocm.llama3_8b_prefill_2gpu.hlo_module.pb"),
                    ReadGraph(derived / "rocm.llama3_8b_prefill_4gpu.hlo_module.pb"))
          .value();
  EXPECT_THAT(sharding.differences[0].text,
              HasSubstr("parameter 1: sharding.tile_assignment_dimensions [2] → [4]"));
}

}  // namespace
}  // namespace neffcache
