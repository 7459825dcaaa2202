#pragma once

// Every field of XLA's HLO messages and what the canonical form does with it: the one table that
// decides which graphs are the same. A change of the table is a change of the scheme tag.

#include <cstdint>

#include "absl/types/span.h"
#include "graph/wire.h"

namespace neffcache {

enum class FieldType : uint8_t {
  kBool,
  kInt32,
  kInt64,
  kUint32,
  kUint64,
  kEnum,
  kFloat,
  kDouble,
  kString,
  kBytes,
  kMessage,
};

enum class Presence : uint8_t {
  kImplicit,  // The default value and absence are one.
  kExplicit,  // Presence itself is meaning: messages, optional fields, members of a oneof.
  kRepeated,
};

enum class Treatment : uint8_t {
  kKeep,          // Written as it is.
  kKeepIfFilled,  // A message that XLA always writes: empty and absent are one.
  kDrop,          // Names, ids' spelling and debug data: left out.
  kNumber,        // An id or references to ids: written as positions, or implied by them.
  kDescend,       // Computations and instructions: described one by one, in order.
  kSort,          // A set of messages.
  kMap,           // map<string, string>.
  kSchedule,      // map<computation id, instruction ids>.
  kResolve,       // A Payload: the bytes stand in for the id.
  kPayloads,      // The table that payload ids point into.
  kMarkedName,    // A computation's name: kept only where compilers look at it.
  kOpaque,        // Its presence alone makes the module opaque.
  kDropAllZero,   // A list of which all-zero means the same as absence.
  kDropAllTrue,   // A list of which all-true means the same as absence.
  kDropOne,       // A number of which 1 means the same as absence.
};

enum class HloMessage : uint8_t {
  kModule,
  kComputation,
  kInstruction,
  kSchedule,
  kScheduleEntry,
  kInstructionSequence,
  kInputOutputAlias,
  kAliasEntry,
  kBufferDonor,
  kBufferDonorEntry,
  kPayload,
  kMapEntry,
  kCrossProgramPrefetch,
  kModuleProfileInfo,
  kDeviceAssignment,
  kComputationDevice,
  kProgramShape,
  kShape,
  kLayout,
  kTile,
  kSplitConfig,
  kLiteral,
  kOpMetadata,
  kOpProfileInfo,
  kFrontendAttributes,
  kOpSharding,
  kNamedSharding,
  kDimensionSharding,
  kMesh,
  kMeshAxis,
  kIotaTransform,
  kAxisRef,
  kSubAxis,
  kReplicaGroup,
  kCollectiveDeviceList,
  kIotaReplicaGroupList,
  kMeshAxesReplicaGroupList,
  kSourceTarget,
  kWindow,
  kWindowDimension,
  kConvolutionDimensionNumbers,
  kSliceDimensions,
  kPaddingConfig,
  kPaddingConfigDimension,
  kDotDimensionNumbers,
  kRaggedDotDimensionNumbers,
  kGatherDimensionNumbers,
  kScatterDimensionNumbers,
  kPrecisionConfig,
  kTriangularSolveOptions,
  kCholeskyOptions,
  kParameterReplication,
  kOutputOperandAliasing,
  kResultAccuracy,
  kTolerance,
  kSparsityConfig,
  kTensorSparsityConfig,
  kCount,
};

struct FieldSchema {
  uint32_t number;
  const char* name;  // As in XLA's .proto files.
  FieldType type;
  Presence presence = Presence::kImplicit;
  Treatment treatment = Treatment::kKeep;
  HloMessage message = HloMessage::kCount;  // Of a kMessage.
  uint8_t oneof = 0;                        // Members of one oneof share a number; 0: none.
};

struct MessageSchema {
  const char* name;  // For people: "instruction".
  absl::Span<const FieldSchema> fields;
  // An unknown field here could hold an id, a name or a payload index. It makes the module opaque.
  bool guarded;
  // Obsolete fields of guarded messages that never held one: kept verbatim.
  absl::Span<const uint32_t> inert;

  // Null for an unknown number.
  const FieldSchema* Find(uint32_t number) const {
    if (number > kMaxNumber || index_[number] == 0) return nullptr;
    return &fields[index_[number] - 1u];
  }
  bool IsInert(uint32_t number) const;
  // True for a known number with a wire type that its field may have; lists may be packed.
  bool Fits(uint32_t number, WireType type) const {
    return number <= kMaxNumber && (wire_types_[number] >> static_cast<int>(type) & 1) != 0;
  }

  // Nonzero for the members of oneofs.
  uint8_t OneofOf(uint32_t number) const { return number <= kMaxNumber ? oneof_[number] : 0; }

  static constexpr uint32_t kMaxNumber = 100;
  uint8_t index_[kMaxNumber + 1] = {};       // One more than the place in `fields`.
  uint8_t wire_types_[kMaxNumber + 1] = {};  // A bit for each.
  uint8_t oneof_[kMaxNumber + 1] = {};
};

const MessageSchema& SchemaOf(HloMessage message);

// True for what is a varint on the wire.
inline bool IsVarint(FieldType type) {
  return type <= FieldType::kEnum;
}

// A varint as the field's type reads it: truncated, sign-extended, or 0 and 1.
inline uint64_t ReadAs(FieldType type, uint64_t value) {
  switch (type) {
    case FieldType::kBool:
      return value != 0;
    case FieldType::kInt32:
    case FieldType::kEnum:
      return static_cast<uint64_t>(int64_t{static_cast<int32_t>(static_cast<uint32_t>(value))});
    case FieldType::kUint32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

}  // namespace neffcache
