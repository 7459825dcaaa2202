#include "graph/hlo_schema.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>

#include "graph/schema/hlo_fields.h"
#include "graph/schema/xla_data_fields.h"

namespace neffcache {
namespace {

uint8_t WireTypesOf(const FieldSchema& field) {
  const auto bit = [](WireType type) { return static_cast<uint8_t>(1 << static_cast<int>(type)); };
  uint8_t types = 0;
  if (IsVarint(field.type)) {
    types = bit(WireType::kVarint);
  } else if (field.type == FieldType::kFloat) {
    types = bit(WireType::kFixed32);
  } else if (field.type == FieldType::kDouble) {
    types = bit(WireType::kFixed64);
  } else {
    types = bit(WireType::kBytes);
  }
  // Lists of numbers may be packed.
  if (field.presence == Presence::kRepeated) types |= bit(WireType::kBytes);
  return types;
}

enum class Guard { kNone, kUnknownFields };

class Schemas {
 public:
  Schemas() {
    using namespace schema;
    const Guard guarded = Guard::kUnknownFields;
    Add(M::kModule, "module", kModule, guarded, kModuleInert);
    Add(M::kComputation, "computation", kComputation, guarded);
    Add(M::kInstruction, "instruction", kInstruction, guarded, kInstructionInert);
    Add(M::kSchedule, "schedule", kModuleSchedule, guarded);
    Add(M::kScheduleEntry, "schedule entry", kScheduleEntry, guarded);
    Add(M::kInstructionSequence, "instruction sequence", kInstructionSequence, guarded);
    Add(M::kInputOutputAlias, "input_output_alias", kInputOutputAlias, guarded);
    Add(M::kAliasEntry, "alias entry", kAliasEntry, guarded);
    Add(M::kBufferDonor, "buffer_donor", kBufferDonor, guarded);
    Add(M::kBufferDonorEntry, "buffer donor entry", kBufferDonorEntry, guarded);
    Add(M::kPayload, "payload", kPayload, guarded);
    Add(M::kMapEntry, "map entry", kMapEntry, guarded);
    Add(M::kCrossProgramPrefetch, "cross-program prefetch", kCrossProgramPrefetch);
    Add(M::kModuleProfileInfo, "profile info", kModuleProfileInfo);
    Add(M::kDeviceAssignment, "device assignment", kDeviceAssignment);
    Add(M::kComputationDevice, "computation device", kComputationDevice);
    Add(M::kProgramShape, "program shape", kProgramShape);
    Add(M::kShape, "shape", kShape);
    Add(M::kLayout, "layout", kLayout);
    Add(M::kTile, "tile", kTile);
    Add(M::kSplitConfig, "split config", kSplitConfig);
    Add(M::kLiteral, "literal", kLiteral);
    Add(M::kOpMetadata, "metadata", kOpMetadata);
    Add(M::kOpProfileInfo, "profile info", kOpProfileInfo);
    Add(M::kFrontendAttributes, "frontend attributes", kFrontendAttributes);
    Add(M::kOpSharding, "sharding", kOpSharding);
    Add(M::kNamedSharding, "named sharding", kNamedSharding);
    Add(M::kDimensionSharding, "dimension sharding", kDimensionSharding);
    Add(M::kMesh, "mesh", kMesh);
    Add(M::kMeshAxis, "mesh axis", kMeshAxis);
    Add(M::kIotaTransform, "iota transform", kIotaTransform);
    Add(M::kAxisRef, "axis reference", kAxisRef);
    Add(M::kSubAxis, "sub-axis", kSubAxis);
    Add(M::kReplicaGroup, "replica group", kReplicaGroup);
    Add(M::kCollectiveDeviceList, "collective device list", kCollectiveDeviceList);
    Add(M::kIotaReplicaGroupList, "iota replica group list", kIotaReplicaGroupList);
    Add(M::kMeshAxesReplicaGroupList, "mesh axes list", kMeshAxesReplicaGroupList);
    Add(M::kSourceTarget, "source and target", kSourceTarget);
    Add(M::kWindow, "window", kWindow);
    Add(M::kWindowDimension, "window dimension", kWindowDimension);
    Add(M::kConvolutionDimensionNumbers, "convolution dimensions", kConvolutionDimensionNumbers);
    Add(M::kSliceDimensions, "slice dimensions", kSliceDimensions);
    Add(M::kPaddingConfig, "padding", kPaddingConfig);
    Add(M::kPaddingConfigDimension, "padding dimension", kPaddingConfigDimension);
    Add(M::kDotDimensionNumbers, "dot dimensions", kDotDimensionNumbers);
    Add(M::kRaggedDotDimensionNumbers, "ragged dot dimensions", kRaggedDotDimensionNumbers);
    Add(M::kGatherDimensionNumbers, "gather dimensions", kGatherDimensionNumbers);
    Add(M::kScatterDimensionNumbers, "scatter dimensions", kScatterDimensionNumbers);
    Add(M::kPrecisionConfig, "precision config", kPrecisionConfig);
    Add(M::kTriangularSolveOptions, "triangular solve options", kTriangularSolveOptions);
    Add(M::kCholeskyOptions, "cholesky options", kCholeskyOptions);
    Add(M::kParameterReplication, "parameter replication", kParameterReplication);
    Add(M::kOutputOperandAliasing, "output aliasing", kOutputOperandAliasing);
    Add(M::kResultAccuracy, "result accuracy", kResultAccuracy);
    Add(M::kTolerance, "tolerance", kTolerance);
    Add(M::kSparsityConfig, "sparsity config", kSparsityConfig);
    Add(M::kTensorSparsityConfig, "tensor sparsity config", kTensorSparsityConfig);
    for (const MessageSchema& schema : schemas_) {
      if (schema.name == nullptr) std::abort();  // A message without a table.
    }
  }

  const MessageSchema& Of(HloMessage message) const {
    return schemas_[static_cast<size_t>(message)];
  }

 private:
  void Add(HloMessage message, const char* name, absl::Span<const FieldSchema> fields,
           Guard guard = Guard::kNone, absl::Span<const uint32_t> inert = {}) {
    MessageSchema& schema = schemas_[static_cast<size_t>(message)];
    schema.name = name;
    schema.fields = fields;
    schema.guarded = guard == Guard::kUnknownFields;
    schema.inert = inert;
    for (size_t i = 0; i < fields.size(); ++i) {
      schema.index_[fields[i].number] = static_cast<uint8_t>(i + 1);
      schema.wire_types_[fields[i].number] = WireTypesOf(fields[i]);
      schema.oneof_[fields[i].number] = fields[i].oneof;
    }
  }

  std::array<MessageSchema, static_cast<size_t>(HloMessage::kCount)> schemas_ = {};
};

}  // namespace

bool MessageSchema::IsInert(uint32_t number) const {
  return std::find(inert.begin(), inert.end(), number) != inert.end();
}

const MessageSchema& SchemaOf(HloMessage message) {
  static const Schemas schemas;
  return schemas.Of(message);
}

}  // namespace neffcache
