#include "graph/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "graph/explain.h"
#include "tests/graph/hlo_builder.h"
#include "tests/graph/rewriting.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

ProtoMessage Scalar(int64_t id, int64_t value) {
  ProtoMessage shape = {.type = HloMessage::kShape, .fields = {}};
  ProtoMessage literal = {.type = HloMessage::kLiteral, .fields = {}};
  shape.Varint(2, 4);
  ProtoMessage constant = Instruction("constant", id);
  constant.At(3) = shape;
  ProtoMessage metadata = {.type = HloMessage::kOpMetadata, .fields = {}};
  constant.Message(7, metadata.Bytes(3, "/x/ranks.py").Varint(4, 9));
  return constant.Message(8, literal.Message(1, shape).Varints(4, {value}));
}

// `rank` is dead code, too, where ties are broken by value.
ProtoMessage Graph(int64_t rank, const char* opcode = "add") {
  ProtoMessage call = Instruction("call", 4, {1});
  call.Varint(38, 2);
  ProtoMessage region = Computation(2, 2, {Parameter(1, 0), Instruction("sine", 2, {1})});
  region.Find(1)->bytes = "region_0.2";
  return Module({region, Computation(1, 5,
                                     {Parameter(1, 0), Parameter(2, 1), Scalar(3, rank), call,
                                      Instruction(opcode, 5, {4, 3}), Scalar(6, 100 - rank),
                                      Scalar(7, rank % 3)})},
                1);
}

GraphParts Parts(const ProtoMessage& module) {
  return PartsOfGraph(Serialize(module)).value();
}

TEST(PartsTest, AreTheSameHoweverAGraphIsWritten) {
  std::mt19937_64 random(7);
  GraphParts expected = Parts(Graph(1));
  for (int round = 0; round < 20; ++round) {
    ProtoMessage module = Graph(1);
    Renumber(module, IdScheme::kFullReferences, random);
    ShuffleInstructions(module, random);
    ShuffleComputations(module, random);
    EXPECT_EQ(Parts(module), expected);
  }
  IdentifyOptions exact;
  exact.order = GraphOrder::kExact;
  EXPECT_EQ(PartsOfGraph(Serialize(Graph(1)), exact).value(), expected);
}

TEST(PartsTest, NameEveryComputation) {
  const GraphParts parts = Parts(Graph(1));
  ASSERT_THAT(parts.computations, SizeIs(2));
  EXPECT_EQ(parts.computations[0].name, "region_0.2");
  EXPECT_EQ(parts.computations[0].instructions, 2u);
  EXPECT_EQ(parts.computations[1].instructions, 7u);
}

TEST(PartsTest, SkeletonIsThatOfAllRanks) {
  const GraphParts expected = Parts(Graph(0));
  for (int64_t rank = 1; rank < 8; ++rank) {
    const GraphParts parts = Parts(Graph(rank));
    EXPECT_EQ(parts.skeleton, expected.skeleton) << rank;
    EXPECT_EQ(parts.signature, expected.signature);
    EXPECT_NE(parts.computations[1].content, expected.computations[1].content);
    EXPECT_EQ(parts.computations[0].content, expected.computations[0].content);
  }
  EXPECT_NE(Parts(Graph(0, "subtract")).skeleton, expected.skeleton);
}

TEST(PartsTest, EachFieldOfAModuleIsInOnePart) {
  const GraphParts base = Parts(Graph(1));
  ProtoMessage shaped = Graph(1);
  InstructionAt(shaped, 1, 1).At(3) = ShapeOf({9});
  EXPECT_NE(Parts(shaped).signature, base.signature);
  EXPECT_EQ(Parts(shaped).attributes, base.attributes);
  ProtoMessage dynamic = Graph(1);
  dynamic.Varint(11, 1);
  EXPECT_EQ(Parts(dynamic).signature, base.signature);
  EXPECT_NE(Parts(dynamic).attributes, base.attributes);
  ProtoMessage scheduled = Graph(1);
  scheduled.Bytes(7, "");
  EXPECT_EQ(Parts(scheduled).signature, base.signature);
  EXPECT_EQ(Parts(scheduled).attributes, base.attributes);
  EXPECT_NE(Parts(scheduled).skeleton, base.skeleton);
  ProtoMessage payload = Graph(1);
  payload.Bytes(22, "unreferenced");
  EXPECT_NE(Parts(payload).attributes, base.attributes);
  ProtoMessage donor = Graph(1);
  ProtoMessage donors = {.type = HloMessage::kBufferDonor, .fields = {}};
  donor.Message(18, donors.Bytes(1, ""));
  EXPECT_NE(Parts(donor).signature, base.signature);
}

TEST(PartsTest, GraphsThatAreNotCanonicalizedHaveNone) {
  EXPECT_EQ(PartsOfGraph("ML\xefR").status().code(), absl::StatusCode::kFailedPrecondition);
  ProtoMessage unknown = Graph(1);
  unknown.Varint(99, 1);
  const absl::Status status = PartsOfGraph(Serialize(unknown)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("module field 99 is unknown"));
  EXPECT_EQ(PartsOfGraph("").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PartsTest, DifferencesAreNamedWithoutTheGraphs) {
  const GraphParts base = Parts(Graph(1));
  EXPECT_EQ(DescribePartDifference(base, base), "nothing but the order or the schedule");
  EXPECT_EQ(DescribePartDifference(base, Parts(Graph(2))),
            "scalar constants alone; 1 of 2 computations: computation.1 (7 instructions)");
  ProtoMessage grown = Graph(1);
  grown.At(3, 0).Message(2, Instruction("cosine", 3, {1}));
  EXPECT_EQ(DescribePartDifference(base, Parts(grown)),
            "2 of 2 computations: region_0.2 (2 → 3 instructions), computation.1 (7 "
            "instructions)");
  ProtoMessage shaped = Graph(1);
  InstructionAt(shaped, 1, 1).At(3) = ShapeOf({9});
  EXPECT_THAT(DescribePartDifference(base, Parts(shaped)),
              HasSubstr("parameters, results, aliases or their shardings; 1 of 2"));
}

TEST(RankBakedInTest, ConstantsThatDifferAreNamedWithTheirValues) {
  std::vector<std::string> graphs;
  for (int64_t rank = 0; rank < 4; ++rank) graphs.push_back(Serialize(Graph(rank)));
  const std::vector<absl::string_view> views(graphs.begin(), graphs.end());
  const RankBakedIn baked = ExplainRankBakedIn(views).value();
  EXPECT_EQ(baked.graphs, 4u);
  ASSERT_THAT(baked.constants, SizeIs(3));
  EXPECT_EQ(baked.constants[0].instruction, "constant.3");
  EXPECT_EQ(baked.constants[0].source, "ranks.py:9");
  EXPECT_EQ(baked.constants[0].shape, "s32[]");
  EXPECT_THAT(baked.constants[0].values, ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(baked.constants[0].distinct, 4u);
  EXPECT_EQ(baked.constants[0].Text(), "constant.3 (ranks.py:9) s32[]: 0, 1, 2, 3");
  EXPECT_THAT(baked.Summary(),
              HasSubstr("rank baked in: 4 graphs differ only in constant.3 (ranks.py:9) s32[]: 0, "
                        "1, 2, 3; and 2 more; take the rank from"));
}

TEST(RankBakedInTest, ManyGraphsAreBounded) {
  std::vector<std::string> graphs;
  for (int64_t rank = 0; rank < 40; ++rank) graphs.push_back(Serialize(Graph(rank)));
  const std::vector<absl::string_view> views(graphs.begin(), graphs.end());
  const RankBakedIn baked = ExplainRankBakedIn(views).value();
  EXPECT_THAT(baked.constants[0].values, SizeIs(16));
  EXPECT_EQ(baked.constants[0].distinct, 40u);
  EXPECT_LE(baked.Summary().size(), 400u);
}

TEST(RankBakedInTest, EqualGraphsHaveNone) {
  const std::string graph = Serialize(Graph(1));
  const RankBakedIn baked = ExplainRankBakedIn({graph, graph}).value();
  EXPECT_TRUE(baked.constants.empty());
  EXPECT_EQ(baked.Summary(), "all 2 graphs are the same");
}

TEST(RankBakedInTest, OtherDifferencesAreRefused) {
  const std::string a = Serialize(Graph(1)), b = Serialize(Graph(1, "subtract"));
  EXPECT_EQ(ExplainRankBakedIn({a, b}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ExplainRankBakedIn({a, "ML\xefR"}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ExplainRankBakedIn({a}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace neffcache
