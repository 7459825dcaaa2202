#include "tests/graph/rewriting.h"

#include <gtest/gtest.h>

#include "graph/fingerprint.h"
#include "graph/graph_form.h"
#include "tests/graph/hlo_builder.h"
#include "tests/graph/known_graphs.h"
#include "tests/graph/random_module.h"

namespace neffcache {
namespace {

constexpr IdScheme kSchemes[] = {IdScheme::kUnique, IdScheme::kFullReferences,
                                 IdScheme::kLocalReferences};

struct Source {
  std::string name;
  ProtoMessage module;
};

// A module with all that makes ordering hard: dead code that shares parts, equal dead twins, sets
// of control predecessors, calls, an unreachable pair of computations.
ProtoMessage HardModule() {
  const ProtoMessage callee = Computation(
      7, 3, {Parameter(1, 0), Instruction("negate", 2, {1}), Instruction("add", 3, {2, 2})});
  ProtoMessage unused = Computation(9, 2, {Parameter(1, 0), Instruction("exponential", 2, {1})});
  ProtoMessage unused2 = Computation(11, 2, {Parameter(1, 0), Instruction("log", 2, {1})});
  ProtoMessage call = Instruction("call", 6, {3});
  call.Varint(38, 7);
  ProtoMessage call2 = Instruction("call", 16, {3});
  call2.Varint(38, 7);
  ProtoMessage root = Instruction("add", 8, {6, 7});
  root.Varints(37, {20, 21, 22, 23});
  ProtoMessage entry = Computation(
      12, 8,
      {Parameter(1, 0), Parameter(2, 1), Instruction("multiply", 3, {1, 2}), call,
       Instruction("rng", 7, {1}), Instruction("rng", 17, {1}),
       // Twins that are told apart by what they share only.
       Instruction("rng", 30, {1}), Instruction("rng", 31, {1}), Instruction("abs", 40, {30}),
       Instruction("abs", 41, {31}), Instruction("abs", 42, {30}), Instruction("abs", 43, {31}),
       // Control predecessors, two of them twins.
       Instruction("sine", 20, {2}), Instruction("sine", 21, {2}), Instruction("cosine", 22, {2}),
       Instruction("tan", 23, {21}), root, call2, Instruction("abs", 50, {16}),
       Instruction("negate", 51, {3}), Instruction("negate", 52, {3})});
  ProtoMessage module = Module({callee, unused, unused2, entry}, 12);
  ProtoMessage alias = {.type = HloMessage::kInputOutputAlias, .fields = {}};
  for (int64_t i : {0, 1}) {
    ProtoMessage alias_entry = {.type = HloMessage::kAliasEntry, .fields = {}};
    alias_entry.Varints(1, {i}).Varint(2, static_cast<uint64_t>(i)).Varint(4, 2);
    alias.Message(1, alias_entry);
  }
  module.Message(8, alias);
  ProtoMessage attributes = {.type = HloMessage::kFrontendAttributes, .fields = {}};
  for (const char* key : {"b", "a", "c"}) {
    ProtoMessage map_entry = {.type = HloMessage::kMapEntry, .fields = {}};
    attributes.Message(1, map_entry.Bytes(1, key).Bytes(2, "value"));
  }
  module.Message(19, attributes);
  ProtoMessage schedule = {.type = HloMessage::kSchedule, .fields = {}};
  ProtoMessage sequence = {.type = HloMessage::kInstructionSequence, .fields = {}};
  ProtoMessage scheduled = {.type = HloMessage::kScheduleEntry, .fields = {}};
  sequence.Varints(1, {1, 2, 3});
  schedule.Message(1, scheduled.Varint(1, 7).Message(2, sequence));
  return module.Message(7, schedule);
}

std::vector<Source> Sources() {
  std::vector<Source> sources = {{"small", SmallModule()}, {"hard", HardModule()}};
  if (!HaveGraphs()) return sources;
  for (const char* directory : {"binary", "derived"}) {
    for (const auto& path : GraphFiles(directory)) {
      const std::string bytes = ReadGraph(path);
      // The largest takes most of the time and adds nothing.
      if (bytes.size() > 400000) continue;
      sources.push_back(
          {path.filename(), ParseProto(HloMessage::kModule, RecognizeGraph(bytes).module)});
    }
  }
  return sources;
}

Fingerprint FingerprintOf(const std::string& bytes, GraphOrder order = GraphOrder::kCanonical) {
  IdentifyOptions options;
  options.order = order;
  const GraphIdentity identity = IdentifyGraph(bytes, options).value();
  EXPECT_EQ(identity.raw_reason, "");
  return identity.fingerprint;
}

void RewriteEverything(ProtoMessage& module, std::mt19937_64& random) {
  RenameEverything(module, random);
  ReplaceMetadata(module, random);
  ShuffleInstructions(module, random);
  ShuffleComputations(module, random);
  ShuffleSets(module, random);
  Renumber(module, kSchemes[random() % 3], random);
}

class RewritingTest : public ::testing::Test {
 protected:
  // Applies a random rewriting some times to each source; the fingerprint must stay.
  template <typename Rewrite>
  void ExpectSame(int rounds, Rewrite rewrite, GraphOrder order = GraphOrder::kCanonical) {
    for (const Source& source : Sources()) {
      SCOPED_TRACE(source.name);
      const Fingerprint expected = FingerprintOf(Serialize(source.module), order);
      for (int round = 0; round < rounds; ++round) {
        ProtoMessage module = source.module;
        EXPECT_EQ(FingerprintOf(rewrite(module), order).digest.Hex(), expected.digest.Hex());
        if (HasFailure()) return;
      }
    }
  }

  std::mt19937_64 random_{20240229};
};

TEST_F(RewritingTest, NamesDoNotMatter) {
  ExpectSame(1, [&](ProtoMessage& module) {
    RenameEverything(module, random_);
    return Serialize(module);
  });
}

TEST_F(RewritingTest, IdsDoNotMatter) {
  for (IdScheme scheme : kSchemes) {
    ExpectSame(1, [&](ProtoMessage& module) {
      Renumber(module, scheme, random_);
      return Serialize(module);
    });
  }
}

TEST_F(RewritingTest, MetadataDoesNotMatter) {
  ExpectSame(1, [&](ProtoMessage& module) {
    ReplaceMetadata(module, random_);
    return Serialize(module);
  });
}

TEST_F(RewritingTest, OrderOfInstructionsDoesNotMatter) {
  ExpectSame(2, [&](ProtoMessage& module) {
    ShuffleInstructions(module, random_);
    return Serialize(module);
  });
}

TEST_F(RewritingTest, OrderOfComputationsAndSetsDoesNotMatter) {
  ExpectSame(2, [&](ProtoMessage& module) {
    ShuffleComputations(module, random_);
    ShuffleSets(module, random_);
    return Serialize(module);
  });
}

TEST_F(RewritingTest, SpellingOnTheWireDoesNotMatter) {
  const WireStyle styles[] = {{.shuffle_fields = true},
                              {.vary_packing = true},
                              {.explicit_defaults = true},
                              {.long_varints = true},
                              {.split_messages = true}};
  for (const WireStyle& style : styles) {
    ExpectSame(1, [&](ProtoMessage& module) { return Serialize(module, style, random_); });
  }
}

TEST_F(RewritingTest, AllTogetherDoNotMatter) {
  const WireStyle style = {true, true, true, true, true};
  ExpectSame(3, [&](ProtoMessage& module) {
    RewriteEverything(module, random_);
    return Serialize(module, style, random_);
  });
}

TEST_F(RewritingTest, ExactOrderIgnoresAllButOrder) {
  const auto rewrite = [&](ProtoMessage& module) {
    RenameEverything(module, random_);
    ReplaceMetadata(module, random_);
    ShuffleSets(module, random_);
    Renumber(module, kSchemes[random_() % 3], random_);
    return Serialize(module);
  };
  ExpectSame(1, rewrite, GraphOrder::kExact);
}

TEST_F(RewritingTest, ExactOrderSeesOrder) {
  ProtoMessage module = HardModule();
  const Fingerprint before = FingerprintOf(Serialize(module), GraphOrder::kExact);
  ShuffleInstructions(module, random_);
  EXPECT_NE(FingerprintOf(Serialize(module), GraphOrder::kExact), before);
  module = HardModule();
  ShuffleComputations(module, random_);
  EXPECT_NE(FingerprintOf(Serialize(module), GraphOrder::kExact), before);
}

// The hard module alone, often: its ties are what the rules are for.
TEST_F(RewritingTest, TiesAreBrokenByStructure) {
  const ProtoMessage original = HardModule();
  const Fingerprint expected = FingerprintOf(Serialize(original));
  for (int round = 0; round < 300; ++round) {
    ProtoMessage module = original;
    ShuffleInstructions(module, random_);
    ShuffleComputations(module, random_);
    ASSERT_EQ(FingerprintOf(Serialize(module)).digest.Hex(), expected.digest.Hex()) << round;
  }
}

class RandomRewritingTest : public ::testing::TestWithParam<uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRewritingTest, ::testing::Range<uint64_t>(0, 4));

// Ten thousand in all, of modules that are drawn as well.
TEST_P(RandomRewritingTest, NeverMisses) {
  std::mt19937_64 random(GetParam() + 20261201);
  const WireStyle style = {true, true, true, true, true};
  for (int drawn = 0; drawn < 500; ++drawn) {
    const ProtoMessage original = RandomModule(random);
    const Fingerprint expected = FingerprintOf(Serialize(original));
    for (int round = 0; round < 5; ++round) {
      ProtoMessage module = original;
      RewriteEverything(module, random);
      ASSERT_EQ(FingerprintOf(Serialize(module, style, random)).digest.Hex(), expected.digest.Hex())
          << "seed " << GetParam() << ", module " << drawn << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace neffcache
