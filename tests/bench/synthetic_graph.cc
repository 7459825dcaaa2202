#include "tests/bench/synthetic_graph.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "io/file.h"

namespace neffcache::bench {
namespace {

// Field numbers of xla/service/hlo.proto and xla/xla_data.proto.
enum Module {
  kModuleName = 1,
  kEntryName = 2,
  kComputations = 3,
  kProgramShape = 4,
  kModuleId = 5,
  kEntryId = 6
};
enum Computation {
  kName = 1,
  kInstructions = 2,
  kComputationShape = 4,
  kComputationId = 5,
  kRootId = 6
};
enum Instruction {
  kInstructionName = 1,
  kOpcode = 2,
  kShape = 3,
  kMetadata = 7,
  kLiteral = 8,
  kParameterNumber = 9,
  kInstructionId = 35,
  kOperandIds = 36
};
enum Shape { kElementType = 2, kDimensions = 3, kLayout = 5 };
enum Metadata { kOpType = 1, kOpName = 2, kSourceFile = 3, kSourceLine = 4 };
enum Literal { kLiteralShape = 1, kF32s = 8 };
enum ProgramShape { kParameters = 1, kResult = 2, kParameterNames = 3 };
constexpr uint64_t kF32 = 11;

class Message {
 public:
  Message& Number(uint32_t field, uint64_t value) {
    Varint(field << 3);
    Varint(value);
    return *this;
  }
  Message& Bytes(uint32_t field, absl::string_view bytes) {
    Varint(field << 3 | 2);
    Varint(bytes.size());
    absl::StrAppend(&bytes_, bytes);
    return *this;
  }
  // What comes before `size` bytes of a field.
  Message& Header(uint32_t field, uint64_t size) {
    Varint(field << 3 | 2);
    Varint(size);
    return *this;
  }
  Message& Packed(uint32_t field, std::initializer_list<uint64_t> values) {
    Message packed;
    for (const uint64_t value : values) packed.Varint(value);
    return Bytes(field, packed.bytes_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

std::string VectorShape(uint64_t elements) {
  const std::string layout = Message().Packed(1, {0}).bytes();
  return Message()
      .Number(kElementType, kF32)
      .Packed(kDimensions, {elements})
      .Bytes(kLayout, layout)
      .bytes();
}

std::string ConstantInstruction(uint64_t id, uint64_t elements) {
  std::string floats(elements * 4, '\0');
  uint32_t state = static_cast<uint32_t>(id) * 2654435761u + 1;
  for (char& c : floats) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<char>(state >> 24);
  }
  const std::string shape = VectorShape(elements);
  const std::string literal = Message().Bytes(kLiteralShape, shape).Bytes(kF32s, floats).bytes();
  return Message()
      .Bytes(kInstructionName, absl::StrCat("constant.", id))
      .Bytes(kOpcode, "constant")
      .Bytes(kShape, shape)
      .Bytes(kLiteral, literal)
      .Number(kInstructionId, id)
      .bytes();
}

std::string ParameterInstruction(uint64_t id, uint64_t number, uint64_t elements) {
  return Message()
      .Bytes(kInstructionName, absl::StrCat("Arg_", number, ".", id))
      .Bytes(kOpcode, "parameter")
      .Bytes(kShape, VectorShape(elements))
      .Number(kParameterNumber, number)
      .Number(kInstructionId, id)
      .bytes();
}

std::string BinaryInstruction(uint64_t id, absl::string_view opcode, uint64_t left, uint64_t right,
                              uint64_t elements) {
  const std::string metadata =
      Message()
          .Bytes(kOpType, opcode)
          .Bytes(kOpName, absl::StrCat("jit(train_step)/transformer/layer_", id / 64, "/", opcode))
          .Bytes(kSourceFile, "/opt/trainer/model/attention.py")
          .Number(kSourceLine, 80 + id % 400)
          .bytes();
  return Message()
      .Bytes(kInstructionName, absl::StrCat(opcode, ".", id))
      .Bytes(kOpcode, opcode)
      .Bytes(kShape, VectorShape(elements))
      .Bytes(kMetadata, metadata)
      .Number(kInstructionId, id)
      .Packed(kOperandIds, {left, right})
      .bytes();
}

std::string WrapInModule(Message& computation, uint64_t root_id, uint64_t elements) {
  const std::string shape = VectorShape(elements);
  const std::string program_shape = Message()
                                        .Bytes(kParameters, shape)
                                        .Bytes(kResult, shape)
                                        .Bytes(kParameterNames, "Arg_0.1")
                                        .bytes();
  computation.Bytes(kComputationShape, program_shape)
      .Number(kComputationId, 1)
      .Number(kRootId, root_id);
  return Message()
      .Bytes(kModuleName, "jit_train_step")
      .Bytes(kEntryName, "main")
      .Bytes(kComputations, computation.bytes())
      .Bytes(kProgramShape, program_shape)
      .Number(kModuleId, 7)
      .Number(kEntryId, 1)
      .bytes();
}

}  // namespace

std::string LiteralHeavyGraph(uint64_t bytes) {
  constexpr uint64_t kLiterals = 8;
  const uint64_t elements = std::max<uint64_t>(1, bytes / 4 / kLiterals);
  Message computation;
  computation.Bytes(kName, "main").Bytes(kInstructions, ParameterInstruction(1, 0, elements));
  uint64_t sum = 1;
  uint64_t id = 2;
  for (uint64_t i = 0; i < kLiterals; ++i) {
    computation.Bytes(kInstructions, ConstantInstruction(id, elements));
    computation.Bytes(kInstructions, BinaryInstruction(id + 1, "add", sum, id, elements));
    sum = id + 1;
    id += 2;
  }
  return WrapInModule(computation, sum, elements);
}

absl::Status WriteSparseLiteralGraph(const std::string& path, uint64_t bytes) {
  const uint64_t elements = bytes / 4;
  const std::string shape = VectorShape(elements);
  // What stands before the zeros, from the inside out: each message is a prefix of fields and the
  // header of what holds the zeros, which come last in all of them.
  const auto open = [](Message fields, uint32_t field, uint64_t size) {
    return fields.Header(field, size).bytes();
  };
  std::string before = open(Message().Bytes(kLiteralShape, shape), kF32s, elements * 4);
  before = open(Message()
                    .Bytes(kInstructionName, "constant.1")
                    .Bytes(kOpcode, "constant")
                    .Bytes(kShape, shape)
                    .Number(kInstructionId, 1),
                kLiteral, before.size() + elements * 4) +
           before;
  before = open(Message().Bytes(kName, "main").Number(kComputationId, 1).Number(kRootId, 1),
                kInstructions, before.size() + elements * 4) +
           before;
  before = open(Message().Bytes(kModuleName, "sparse").Number(kEntryId, 1), kComputations,
                before.size() + elements * 4) +
           before;
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (fd.get() < 0) return absl::ErrnoToStatus(errno, path);
  if (pwrite(fd.get(), before.data(), before.size(), 0) != static_cast<ssize_t>(before.size()) ||
      ftruncate(fd.get(), static_cast<off_t>(before.size() + elements * 4)) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  return absl::OkStatus();
}

std::string InstructionHeavyGraph(uint64_t bytes) {
  constexpr uint64_t kElements = 1024;
  constexpr absl::string_view kOpcodes[] = {"add", "multiply", "subtract", "maximum"};
  Message computation;
  computation.Bytes(kName, "main").Bytes(kInstructions, ParameterInstruction(1, 0, kElements));
  uint64_t id = 2;
  for (; computation.bytes().size() < bytes; ++id) {
    // An earlier operand that varies, so that the graph is not a plain chain.
    const uint64_t other = id - 1 - (id * 7 % std::min<uint64_t>(id - 1, 97));
    computation.Bytes(kInstructions,
                      BinaryInstruction(id, kOpcodes[id % 4], id - 1, other, kElements));
  }
  return WrapInModule(computation, id - 1, kElements);
}

}  // namespace neffcache::bench
