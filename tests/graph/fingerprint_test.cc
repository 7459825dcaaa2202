#include "graph/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "graph/compiler_input.h"
#include "io/zstd.h"
#include "tests/graph/hlo_builder.h"
#include "tests/graph/rewriting.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

std::string Gzip(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

GraphIdentity Identify(const std::string& bytes) {
  return IdentifyGraph(bytes).value();
}

std::string InHloProto(const ProtoMessage& module) {
  ProtoMessage proto;
  return Serialize(proto.Message(1, module));
}

TEST(FingerprintTest, TagsNameTheRules) {
  const std::string bytes = Serialize(SmallModule());
  EXPECT_EQ(Identify(bytes).fingerprint.tag, "neffcache-hlo-1");
  IdentifyOptions exact;
  exact.order = GraphOrder::kExact;
  EXPECT_EQ(IdentifyGraph(bytes, exact)->fingerprint.tag, "neffcache-hlo-1-exact");
  EXPECT_NE(IdentifyGraph(bytes, exact)->fingerprint.digest, Identify(bytes).fingerprint.digest);
  EXPECT_EQ(Identify("hello").fingerprint.tag, "neffcache-raw-1");
}

// A fingerprint that changes empties every cache: only a new tag may do that.
TEST(FingerprintTest, SchemeIsStable) {
  IdentifyOptions exact;
  exact.order = GraphOrder::kExact;
  EXPECT_EQ(ToString(Identify(Serialize(SmallModule())).fingerprint),
            "neffcache-hlo-1:bc23640f1b600d86de787bbfc0a7a82e01b04a60a2664ced6b8d51a507698b0b");
  EXPECT_EQ(
      ToString(IdentifyGraph(Serialize(SmallModule()), exact)->fingerprint),
      "neffcache-hlo-1-exact:ab7a4c0ecfa8a17dc36640d71f59ceb09dd5ade26ee411c5ab2ec4092589a815");
  EXPECT_EQ(ToString(Identify("hello").fingerprint),
            "neffcache-raw-1:8f41189338039eb6b3394e39c21f79e0aaacd342f56da27ae8cd87e2f368915d");
}

TEST(FingerprintTest, FormsHoldTheSameModule) {
  const GraphIdentity module = Identify(Serialize(SmallModule()));
  EXPECT_EQ(module.form, GraphForm::kHloModule);
  EXPECT_EQ(module.computations, 1u);
  EXPECT_EQ(module.instructions, 4u);
  EXPECT_EQ(module.name, "test_module.1");
  EXPECT_TRUE(module.cacheable());

  const GraphIdentity proto = Identify(InHloProto(SmallModule()));
  EXPECT_EQ(proto.form, GraphForm::kHloProto);
  EXPECT_EQ(proto.fingerprint, module.fingerprint);

  ProtoMessage with_buffers;
  with_buffers.Message(1, SmallModule()).Bytes(3, "\x0a\x02\x08\x01");
  EXPECT_EQ(Identify(Serialize(with_buffers)).fingerprint, module.fingerprint);

  ProtoMessage snapshot;
  snapshot.Bytes(1, InHloProto(SmallModule())).Bytes(2, "arguments").Bytes(4, "cpu");
  EXPECT_EQ(Identify(Serialize(snapshot)).form, GraphForm::kHloSnapshot);
  EXPECT_EQ(Identify(Serialize(snapshot)).fingerprint, module.fingerprint);
}

TEST(FingerprintTest, ContainersWithUnknownContentAreOpaque) {
  ProtoMessage proto;
  proto.Message(1, SmallModule()).Varint(9, 1);
  EXPECT_EQ(Identify(Serialize(proto)).raw_reason, "HloProto field 9 is unknown");
  EXPECT_FALSE(Identify(Serialize(proto)).cut_short);
  EXPECT_EQ(Identify(Serialize(proto)).form, GraphForm::kHloProto);
  ProtoMessage twice;
  twice.Message(1, SmallModule()).Message(1, SmallModule());
  EXPECT_EQ(Identify(Serialize(twice)).raw_reason, "HloProto holds its module in pieces");
  // Read as a module it would lose its name, which is another module.
  ProtoMessage both = SmallModule();
  both.Remove(1);
  both.Message(1, SmallModule());
  EXPECT_EQ(Identify(Serialize(both)).raw_reason, "it can be read as a module and as an HloProto");
  both.Bytes(1, "a name");
  EXPECT_EQ(Identify(Serialize(both)).raw_reason, "it can be read as a module and as an HloProto");
}

TEST(FingerprintTest, OtherFormsHaveTheirBytesHashed) {
  EXPECT_EQ(Identify(std::string("ML\xefR\x01StableHLO_v1.20.0\0", 23)).form,
            GraphForm::kMlirBytecode);
  EXPECT_EQ(Identify("module @jit_f {}").form, GraphForm::kOpaque);
  EXPECT_NE(Identify("a").fingerprint, Identify("b").fingerprint);
  EXPECT_EQ(ToString(GraphForm::kMlirBytecode), "MLIR bytecode");
}

TEST(FingerprintTest, WrappersAreUnwrapped) {
  const std::string bytes = Serialize(SmallModule());
  const Fingerprint expected = Identify(bytes).fingerprint;
  EXPECT_EQ(Identify(Gzip(bytes)).fingerprint, expected);
  EXPECT_EQ(Identify(ZstdCompress(bytes)).fingerprint, expected);
  // Several gzip members are one stream.
  EXPECT_EQ(Identify(Gzip(bytes.substr(0, 30)) + Gzip(bytes.substr(30))).fingerprint, expected);
}

// One fingerprint for all forms means one compile for all, so they all give the same input.
TEST(FingerprintTest, CompilersAreGivenTheBareModule) {
  const std::string module = Serialize(SmallModule());
  ProtoMessage snapshot;
  snapshot.Bytes(1, InHloProto(SmallModule())).Bytes(4, "cpu");
  for (const std::string& bytes : {module, InHloProto(SmallModule()), Serialize(snapshot),
                                   Gzip(module), ZstdCompress(InHloProto(SmallModule()))}) {
    std::string storage;
    EXPECT_EQ(CompilerInput(bytes, 1 << 20, &storage).value(), module);
  }
  std::string storage;
  EXPECT_EQ(CompilerInput("module @jit_f {}", 1 << 20, &storage).value(), "module @jit_f {}");
  ProtoMessage unknown;
  unknown.Message(1, SmallModule()).Varint(9, 1);
  EXPECT_EQ(CompilerInput(Serialize(unknown), 1 << 20, &storage).value(), Serialize(unknown));
  EXPECT_FALSE(CompilerInput("", 1 << 20, &storage).ok());
}

TEST(FingerprintTest, BadWrappersAreErrors) {
  const std::string bytes = Serialize(SmallModule());
  for (const std::string& wrapped : {Gzip(bytes), ZstdCompress(bytes)}) {
    const std::string cut = wrapped.substr(0, wrapped.size() - 9);
    EXPECT_EQ(IdentifyGraph(cut).status().code(), absl::StatusCode::kDataLoss);
    std::string damaged = wrapped;
    damaged[wrapped.size() / 2] = static_cast<char>(damaged[wrapped.size() / 2] ^ 0x55);
    EXPECT_FALSE(IdentifyGraph(damaged).ok());
  }
  EXPECT_EQ(IdentifyGraph("\x1f\x8b").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(IdentifyGraph(Gzip(bytes) + "trailing").status().code(), absl::StatusCode::kDataLoss);
}

TEST(FingerprintTest, BombsAreErrors) {
  const std::string zeros(8 << 20, '\0');
  IdentifyOptions options;
  options.unwrap_limit = 1 << 20;
  for (const std::string& bomb : {Gzip(zeros), ZstdCompress(zeros)}) {
    EXPECT_EQ(IdentifyGraph(bomb, options).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST(FingerprintTest, EmptyGraphsAreErrors) {
  EXPECT_EQ(IdentifyGraph("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(IdentifyGraph(Gzip("")).status().code(), absl::StatusCode::kInvalidArgument);
}

// --- Modules that are not well-formed: identified by their bytes, with the reason ---

std::string RawReason(const ProtoMessage& module) {
  const GraphIdentity identity = Identify(Serialize(module));
  EXPECT_EQ(identity.form, GraphForm::kHloModule);
  EXPECT_EQ(identity.fingerprint.tag, "neffcache-raw-1");
  IdentifyOptions exact;
  exact.order = GraphOrder::kExact;
  EXPECT_EQ(IdentifyGraph(Serialize(module), exact)->fingerprint, identity.fingerprint);
  return identity.raw_reason;
}

TEST(FingerprintTest, MalformedModulesSayWhy) {
  ProtoMessage module = SmallModule();
  InstructionAt(module, 0, 3).Varints(36, {7});
  EXPECT_EQ(RawReason(module), "operand 7 of add.4 does not exist");

  module = SmallModule();
  InstructionAt(module, 0, 3).Varints(37, {9});
  EXPECT_EQ(RawReason(module), "control predecessor 9 of add.4 does not exist");

  module = SmallModule();
  InstructionAt(module, 0, 3).Varints(38, {9});
  EXPECT_EQ(RawReason(module), "called computation 9 does not exist");

  module = SmallModule();
  InstructionAt(module, 0, 3).Find(35)->value = 3;
  EXPECT_EQ(RawReason(module), "instructions multiply.3 and add.4 have one id");

  // Equal low halves are equal ids.
  module = SmallModule();
  InstructionAt(module, 0, 3).Find(35)->value = uint64_t{5} << 32 | 3;
  EXPECT_EQ(RawReason(module), "instructions multiply.3 and add.4 have one id");

  module = SmallModule();
  module.At(3).Find(6)->value = 40;
  EXPECT_EQ(RawReason(module), "the root 40 of a computation does not exist");

  module = SmallModule();
  module.Find(6)->value = 40;
  EXPECT_EQ(RawReason(module), "the entry computation does not exist");

  module = SmallModule();
  module.Message(3, Computation(1, 1, {Parameter(1, 0)}));
  EXPECT_EQ(RawReason(module), "two computations have the id 1");

  module = SmallModule();
  module.Message(3, Computation(2, 1, {}));
  EXPECT_EQ(RawReason(module), "a computation has no instructions");

  module = SmallModule();
  InstructionAt(module, 0, 3).Remove(2);
  EXPECT_EQ(RawReason(module), "an instruction has no opcode");

  module = SmallModule();
  InstructionAt(module, 0, 2).Varints(36, {4});
  EXPECT_EQ(RawReason(module), "the instructions of computation 1 depend on each other");

  module = SmallModule();
  InstructionAt(module, 0, 3).Varints(37, {4});
  EXPECT_EQ(RawReason(module), "the instructions of computation 1 depend on each other");

  module = SmallModule();
  InstructionAt(module, 0, 3).Varints(38, {1});
  EXPECT_EQ(RawReason(module), "computation 1 calls itself, directly or not");

  ProtoMessage schedule = {.type = HloMessage::kSchedule, .fields = {}};
  ProtoMessage entry = {.type = HloMessage::kScheduleEntry, .fields = {}};
  module = SmallModule();
  module.Message(7, schedule.Message(1, entry.Varint(1, 9)));
  EXPECT_EQ(RawReason(module), "scheduled computation 9 does not exist");

  module = SmallModule();
  InstructionAt(module, 0, 3).Bytes(40, "\x08");
  EXPECT_EQ(RawReason(module), "sharding is damaged");
}

TEST(FingerprintTest, OperandsMayStandAfterTheirUsers) {
  ProtoMessage module = SmallModule();
  std::swap(module.At(3).fields[2], module.At(3).fields[4]);  // The root comes second.
  const GraphIdentity identity = Identify(Serialize(module));
  EXPECT_EQ(identity.raw_reason, "");
  EXPECT_EQ(identity.fingerprint, Identify(Serialize(SmallModule())).fingerprint);
}

TEST(FingerprintTest, EveryTruncationIsAnotherGraph) {
  const std::string bytes = Serialize(SmallModule());
  const Fingerprint whole = Identify(bytes).fingerprint;
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_NE(Identify(bytes.substr(0, size)).fingerprint, whole) << size;
  }
}

TEST(FingerprintTest, DamagedWireFormatIsOpaque) {
  const std::string bytes = Serialize(SmallModule());
  const std::string tails[] = {
      std::string("\x00\x01", 2),                          // Field 0.
      "\x0b",                                              // A group.
      "\x0c",                                              //
      "\x0f",                                              // Wire type 7.
      "\x0a\xff",                                          // A length without its end.
      "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",      // A length of nearly 2^64.
      "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  // A varint of eleven bytes.
      "\xf8\xff\xff\xff\x7f\x01",                          // A number beyond 29 bits.
      "\x09\x01",                                          // A fixed64 cut short.
      "\x0d\x01",                                          // A fixed32 cut short.
  };
  for (const std::string& tail : tails) {
    const GraphIdentity identity = Identify(bytes + tail);
    EXPECT_EQ(identity.fingerprint.tag, "neffcache-raw-1");
    EXPECT_EQ(identity.raw_reason, "the module is damaged or cut short");
    EXPECT_TRUE(identity.cut_short);
  }
}

TEST(FingerprintTest, NestingIsBounded) {
  const auto nested = [](int levels) {
    ProtoMessage shape = ShapeOf({1});
    for (int i = 0; i < levels; ++i) {
      ProtoMessage tuple = {.type = HloMessage::kShape, .fields = {}};
      shape = tuple.Varint(2, 13).Message(4, shape);
    }
    ProtoMessage module = SmallModule();
    InstructionAt(module, 0, 3).Remove(3);
    InstructionAt(module, 0, 3).Message(3, shape);
    return Identify(Serialize(module)).raw_reason;
  };
  EXPECT_EQ(nested(40), "");
  EXPECT_THAT(nested(70), HasSubstr("nested more than 64 deep"));
}

// Chains as long as these would end a reader that calls itself.
TEST(FingerprintTest, LongChainsAreReadWithoutRecursion) {
  constexpr int64_t kLength = 100000;
  std::vector<ProtoMessage> instructions = {Parameter(1, 0)};
  ProtoMessage step = {.type = HloMessage::kInstruction, .fields = {}};
  step.Bytes(2, "negate");
  for (int64_t id = 2; id <= kLength; ++id) {
    instructions.push_back(step);
    instructions.back().Varint(35, static_cast<uint64_t>(id)).Varints(36, {id - 1});
  }
  const ProtoMessage module = Module({Computation(1, kLength, instructions)}, 1);
  EXPECT_EQ(Identify(Serialize(module)).raw_reason, "");
  // Written backwards, order has to be found first.
  std::reverse(instructions.begin(), instructions.end());
  const ProtoMessage backwards = Module({Computation(1, kLength, instructions)}, 1);
  EXPECT_EQ(Identify(Serialize(backwards)).fingerprint, Identify(Serialize(module)).fingerprint);
}

TEST(FingerprintTest, LongCallChainsAreReadWithoutRecursion) {
  constexpr int64_t kLength = 50000;
  std::vector<ProtoMessage> computations;
  for (int64_t id = 1; id <= kLength; ++id) {
    ProtoMessage call = {.type = HloMessage::kInstruction, .fields = {}};
    call.Bytes(2, id == 1 ? "parameter" : "call").Varint(35, 1);
    if (id > 1) call.Varints(38, {id - 1});
    computations.push_back(Computation(id, 1, {call}));
  }
  EXPECT_EQ(Identify(Serialize(Module(computations, kLength))).raw_reason, "");
}

// Equal dead code in bulk: telling twins apart has to end.
TEST(FingerprintTest, ManyTwinsTakeLinearTime) {
  std::vector<ProtoMessage> instructions = {Parameter(1, 0)};
  for (int64_t id = 2; id < 20000; ++id) {
    // Each dead pair shares its operand with the next pair: the worst for signatures.
    instructions.push_back(Instruction("negate", id, {id > 40 ? id - 39 : 1}));
    instructions.back().Remove(3);
  }
  const GraphIdentity identity = Identify(Serialize(Module({Computation(1, 1, instructions)}, 1)));
  EXPECT_EQ(identity.raw_reason, "");
  EXPECT_EQ(identity.instructions, 19999u);
}

}  // namespace
}  // namespace neffcache
