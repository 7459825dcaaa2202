#include "graph/computation_writer.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "graph/hlo_schema.h"

namespace neffcache {
namespace {

// Fields of an instruction and of a computation that are not written by their schema alone.
constexpr uint32_t kNameField = 1;
constexpr uint32_t kInstructions = 2;
constexpr uint32_t kProgramShape = 4;
constexpr uint32_t kMetadata = 7;
constexpr uint32_t kLiteral = 8;
constexpr uint32_t kId = 35;
constexpr uint32_t kOperands = 36;
constexpr uint32_t kControls = 37;
constexpr uint32_t kCallees = 38;
constexpr uint32_t kBackendConfig = 43;
constexpr uint32_t kStatistics = 82;
constexpr uint32_t kOriginalValue = 88;
constexpr uint32_t kBackendConfigPayload = 99;

// Compilers decide on inlining by these parts of a computation's name.
bool IsMarked(absl::string_view name) {
  return absl::StrContains(name, "shmap_body") || absl::StrContains(name, "xla.sdy.");
}

}  // namespace

absl::string_view WithoutRunningNumber(absl::string_view name) {
  for (;;) {
    size_t end = name.size();
    while (end > 0 && absl::ascii_isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
    if (end == name.size() || end < 2 || (name[end - 1] != '.' && name[end - 1] != '_')) {
      return name;
    }
    name = name.substr(0, end - 1);
  }
}

absl::string_view MarkedName(absl::string_view name) {
  return IsMarked(name) ? WithoutRunningNumber(name) : absl::string_view();
}

bool IsScalarConstant(const InstructionRecord& instruction) {
  constexpr uint32_t kOpcode = 2, kShape = 3, kDimensions = 3, kTupleShapes = 4;
  absl::string_view opcode;
  bool one_element = true;
  const auto take = [&](uint64_t dimension) { one_element &= dimension == 1; };
  WireReader reader(instruction.bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.type != WireType::kBytes) continue;
    if (field.number == kOpcode) opcode = field.bytes;
    if (field.number != kShape) continue;
    WireReader shape(field.bytes);
    for (WireField part; shape.Next(&part);) {
      if (part.number == kTupleShapes) one_element = false;
      if (part.number != kDimensions) continue;
      if (part.type == WireType::kVarint) take(part.value);
      if (part.type == WireType::kBytes) one_element &= ForEachPacked(part.bytes, take);
    }
  }
  return one_element && opcode == "constant";
}

bool ComputationWriter::WriteComputation(const ComputationRecord& computation,
                                         References references, Encoding* out, Sha256& hash) {
  const MessageSchema& schema = SchemaOf(HloMessage::kComputation);
  MessageEncoder::Fields fields;
  if (!encoder_.Read(schema, computation.bytes, &fields, /*without=*/kInstructions)) return false;
  for (size_t i = fields.begin; i < fields.end;) {
    const size_t next = encoder_.GroupEnd(i, fields.end);
    const WireField last = encoder_.At(next - 1);
    switch (schema.Find(last.number)->treatment) {
      case Treatment::kMarkedName:
        if (IsMarked(last.bytes)) {
          out->PutHeader(last.number, Kind::kString);
          encoder_.EncodeString(WithoutRunningNumber(last.bytes), out);
        }
        break;
      case Treatment::kNumber:
        break;
      default:
        if (!encoder_.EncodeGroup(schema, {i, next}, out)) return false;
        if (last.number == kProgramShape && references == References::kPositions &&
            computation.index == index_.entry) {
          NoteParameterNames(last.bytes);
        }
    }
    i = next;
  }
  encoder_.Release(fields);
  out->PutVarint(0);

  out->PutVarint(computation.count);
  for (uint32_t position = 0; position < computation.count; ++position) {
    const uint32_t offset = numbering_.at_position[computation.first + position];
    if (!WriteInstruction(computation, index_.instructions[computation.first + offset], references,
                          out)) {
      return false;
    }
    out->FlushInto(hash);
  }
  out->PutVarint(numbering_.position[computation.first + computation.root]);
  return true;
}

bool ComputationWriter::WriteInstruction(const ComputationRecord& computation,
                                         const InstructionRecord& instruction,
                                         References references, Encoding* out) {
  MessageEncoder::Fields fields;
  if (!ReadInstruction(instruction, &fields)) return false;
  for (size_t i = fields.begin; i < fields.end;) {
    const size_t next = encoder_.GroupEnd(i, fields.end);
    if (!WriteGroup(computation, instruction, {i, next}, references, out)) return false;
    i = next;
  }
  encoder_.Release(fields);
  out->PutVarint(0);
  return true;
}

bool ComputationWriter::ReadInstruction(const InstructionRecord& instruction,
                                        MessageEncoder::Fields* fields) {
  return encoder_.Read(SchemaOf(HloMessage::kInstruction), instruction.bytes, fields) &&
         (!instruction.has_payload || SubstitutePayload(fields));
}

bool ComputationWriter::WriteGroup(const ComputationRecord& computation,
                                   const InstructionRecord& instruction,
                                   MessageEncoder::Fields group, References references,
                                   Encoding* out) {
  const MessageSchema& schema = SchemaOf(HloMessage::kInstruction);
  const WireField last = encoder_.At(group.end - 1);
  if (!encoder_.CheckTypes(schema, group)) return false;
  switch (last.number) {
    case kNameField:
    case kMetadata:
      return references != References::kPositions || NoteDropped(computation, instruction, group);
    case kId:
    case kStatistics:
    case kOriginalValue:
      return true;
    case kOperands:
    case kControls:
    case kCallees:
      return WriteReferences(computation, instruction, last.number, references, out);
    case kBackendConfig:
      return WriteBackendConfig(last.bytes, instruction, out);
    case kLiteral:
      if (constants_ == Constants::kMaskScalars && IsScalarConstant(instruction)) {
        return WriteMasked(group, out);
      }
      return encoder_.EncodeGroup(schema, group, out);
    default:
      return encoder_.EncodeGroup(schema, group, out);
  }
}

// The literal with its shape alone.
bool ComputationWriter::WriteMasked(MessageEncoder::Fields literal, Encoding* out) {
  constexpr uint32_t kShape = 1;
  const MessageSchema& schema = SchemaOf(HloMessage::kLiteral);
  MessageEncoder::Fields fields;
  if (!encoder_.ReadMerged(schema, literal, &fields)) return false;
  out->PutHeader(kLiteral, Kind::kMessage);
  const bool written = encoder_.EncodeOnly(schema, fields, kShape, out);
  encoder_.Release(fields);
  return written;
}

bool ComputationWriter::WriteReferences(const ComputationRecord& computation,
                                        const InstructionRecord& instruction, uint32_t number,
                                        References references, Encoding* out) {
  const absl::Span<const uint32_t> to = number == kOperands   ? index_.Operands(instruction)
                                        : number == kControls ? index_.Controls(instruction)
                                                              : index_.Callees(instruction);
  if (to.empty()) return true;
  if (references == References::kOwnFieldsOnly) {
    out->PutHeader(number, Kind::kDigestList);
    // Control predecessors are a set, and a repeated one counts once.
    if (number != kControls) out->PutVarint(to.size());
    return true;
  }
  if (number == kCallees) {
    const bool digests = references == References::kContentDigests;
    out->PutHeader(number, digests ? Kind::kDigestList : Kind::kPositionList);
    out->PutVarint(to.size());
    for (uint32_t callee : to) {
      if (digests) {
        out->PutRaw(numbering_.content[callee].bytes());
      } else {
        out->PutVarint(numbering_.computation_position[callee]);
      }
    }
    return true;
  }
  const uint32_t* const position = numbering_.position.data() + computation.first;
  out->PutHeader(number, Kind::kPositionList);
  if (number == kOperands) {
    out->PutVarint(to.size());
    for (uint32_t operand : to) out->PutVarint(position[operand]);
    return true;
  }
  controls_.clear();
  for (uint32_t control : to) controls_.push_back(position[control]);
  std::sort(controls_.begin(), controls_.end());
  out->PutVarint(controls_.size());
  for (uint32_t control : controls_) out->PutVarint(control);
  return true;
}

bool ComputationWriter::WriteBackendConfig(absl::string_view bytes,
                                           const InstructionRecord& instruction, Encoding* out) {
  if (instruction.is_native_kernel) {
    std::string canonical;
    if (kernels_.Describe(bytes, &canonical)) {
      out->PutHeader(kBackendConfig, Kind::kNativeKernel);
      encoder_.EncodeTemporary(canonical, out);
      return true;
    }
  } else if (instruction.is_neuron_custom) {
    kernels_.NoteForeign(bytes);
  }
  if (bytes.empty()) return true;
  out->PutHeader(kBackendConfig, Kind::kString);
  encoder_.EncodeString(bytes, out);
  return true;
}

// A backend_config in the module's payload table is the same as one in place. Where both are given,
// or the payload is empty, the payload stays a field of its own.
bool ComputationWriter::SubstitutePayload(MessageEncoder::Fields* fields) {
  size_t begin = fields->begin;
  bool in_place = false;
  while (begin < fields->end && encoder_.At(begin).number != kBackendConfigPayload) {
    const WireField& field = encoder_.At(begin++);
    if (field.number == kBackendConfig) in_place = !field.bytes.empty();  // The last one stands.
  }
  if (begin == fields->end) return true;
  const MessageEncoder::Fields payload = {begin, encoder_.GroupEnd(begin, fields->end)};
  absl::optional<absl::string_view> bytes;
  if (!encoder_.CheckTypes(SchemaOf(HloMessage::kInstruction), payload) ||
      !encoder_.Resolve(payload, &bytes)) {
    return false;
  }
  if (in_place || !bytes.has_value() || bytes->empty()) return true;
  encoder_.Replace(fields, kBackendConfigPayload,
                   {.number = kBackendConfig, .type = WireType::kBytes, .bytes = *bytes});
  return true;
}

bool ComputationWriter::NoteDropped(const ComputationRecord& computation,
                                    const InstructionRecord& instruction,
                                    MessageEncoder::Fields group) {
  const bool is_name = encoder_.At(group.begin).number == kNameField;
  for (size_t i = group.begin; i < group.end; ++i) {
    const absl::string_view bytes = encoder_.At(i).bytes;
    if (!is_name && !bytes.empty()) dropped_.Note(DroppedData::Kind::kMetadata, bytes);
    if (is_name && instruction.is_parameter && computation.index == index_.entry) {
      dropped_.Note(DroppedData::Kind::kParameterName, bytes);
    }
  }
  // Metadata is most of a graph: it is read only where it can refer to something.
  return is_name || index_.payloads.empty() || encoder_.NoteMetadataPayloads(group);
}

void ComputationWriter::NoteParameterNames(absl::string_view program_shape) {
  constexpr uint32_t kParameterNames = 3;
  WireReader reader(program_shape);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == kParameterNames && field.type == WireType::kBytes) {
      dropped_.Note(DroppedData::Kind::kParameterName, field.bytes);
    }
  }
}

}  // namespace neffcache
