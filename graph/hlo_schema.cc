#include "graph/hlo_schema.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>

namespace neffcache {
namespace {

using enum Treatment;
using M = HloMessage;

// Each line of the tables below is one field: constructors for the types, modifiers around them.
constexpr FieldSchema Bool(uint32_t number, const char* name) {
  return {number, name, FieldType::kBool};
}
constexpr FieldSchema I32(uint32_t number, const char* name) {
  return {number, name, FieldType::kInt32};
}
constexpr FieldSchema I64(uint32_t number, const char* name) {
  return {number, name, FieldType::kInt64};
}
constexpr FieldSchema U32(uint32_t number, const char* name) {
  return {number, name, FieldType::kUint32};
}
constexpr FieldSchema U64(uint32_t number, const char* name) {
  return {number, name, FieldType::kUint64};
}
constexpr FieldSchema Enum(uint32_t number, const char* name) {
  return {number, name, FieldType::kEnum};
}
constexpr FieldSchema F32(uint32_t number, const char* name) {
  return {number, name, FieldType::kFloat};
}
constexpr FieldSchema F64(uint32_t number, const char* name) {
  return {number, name, FieldType::kDouble};
}
constexpr FieldSchema Str(uint32_t number, const char* name) {
  return {number, name, FieldType::kString};
}
constexpr FieldSchema Bytes(uint32_t number, const char* name) {
  return {number, name, FieldType::kBytes};
}
constexpr FieldSchema Msg(uint32_t number, M message, const char* name) {
  return {number, name, FieldType::kMessage, Presence::kExplicit, kKeep, message};
}
constexpr FieldSchema Rep(FieldSchema field) {
  field.presence = Presence::kRepeated;
  return field;
}
constexpr FieldSchema Opt(FieldSchema field) {
  field.presence = Presence::kExplicit;
  return field;
}
constexpr FieldSchema OneOf(uint8_t oneof, FieldSchema field) {
  field.presence = Presence::kExplicit;
  field.oneof = oneof;
  return field;
}
constexpr FieldSchema As(Treatment treatment, FieldSchema field) {
  field.treatment = treatment;
  return field;
}
// A dropped message is never looked into, so its own fields need no table.
constexpr FieldSchema Dropped(FieldSchema field) {
  return As(kDrop, field);
}
constexpr FieldSchema Unread(uint32_t number, const char* name) {
  return Msg(number, M::kCount, name);
}

// --- Modules, computations, instructions ---

constexpr FieldSchema kModule[] = {
    Dropped(Str(1, "name")),
    Dropped(Str(2, "entry_computation_name")),
    As(kDescend, Rep(Msg(3, M::kComputation, "computations"))),
    Msg(4, M::kProgramShape, "host_program_shape"),
    Dropped(I64(5, "id")),
    As(kNumber, I64(6, "entry_computation_id")),
    As(kSchedule, Msg(7, M::kSchedule, "schedule")),
    As(kKeepIfFilled, Msg(8, M::kInputOutputAlias, "input_output_alias")),
    Rep(Msg(10, M::kCrossProgramPrefetch, "cross_program_prefetches")),
    Bool(11, "is_dynamic"),
    Msg(12, M::kOpSharding, "spmd_output_sharding"),
    Rep(Msg(13, M::kModuleProfileInfo, "profile_info")),
    Rep(Msg(14, M::kOpSharding, "spmd_parameters_shardings")),
    Msg(15, M::kDeviceAssignment, "device_assignment"),
    Bool(16, "use_auto_spmd_partitioning"),
    Dropped(Unread(17, "stack_frame_index")),
    As(kKeepIfFilled, Msg(18, M::kBufferDonor, "buffer_donor")),
    As(kKeepIfFilled, Msg(19, M::kFrontendAttributes, "frontend_attributes")),
    As(kOpaque, Unread(20, "original_value_recovery_table")),
    Str(21, "device_type"),
    As(kPayloads, Rep(Bytes(22, "payloads"))),
    Dropped(Opt(I64(23, "pjrt_id"))),
    As(kOpaque, Rep(Unread(24, "debug_attributes"))),
};
// 9: dynamic_parameter_binding, until 2023.
constexpr uint32_t kModuleInert[] = {9};

constexpr FieldSchema kComputation[] = {
    As(kMarkedName, Str(1, "name")),
    As(kDescend, Rep(Msg(2, M::kInstruction, "instructions"))),
    Msg(4, M::kProgramShape, "program_shape"),
    As(kNumber, I64(5, "id")),
    As(kNumber, I64(6, "root_id")),
    Bool(7, "is_fusion_computation"),
    Str(8, "execution_thread"),
};

constexpr FieldSchema kInstruction[] = {
    Dropped(Str(1, "name")),
    Str(2, "opcode"),
    Msg(3, M::kShape, "shape"),
    Dropped(Msg(7, M::kOpMetadata, "metadata")),
    Msg(8, M::kLiteral, "literal"),
    I64(9, "parameter_number"),
    Str(11, "fusion_kind"),
    I64(13, "tuple_index"),
    Rep(I64(14, "dimensions")),
    Msg(15, M::kWindow, "window"),
    Msg(16, M::kConvolutionDimensionNumbers, "convolution_dimension_numbers"),
    Rep(Msg(17, M::kSliceDimensions, "slice_dimensions")),
    I32(18, "exponent_bits"),
    I32(19, "mantissa_bits"),
    Rep(I64(20, "dynamic_slice_sizes")),
    Msg(21, M::kPaddingConfig, "padding_config"),
    Bytes(22, "outfeed_config"),
    Enum(23, "distribution"),
    F32(24, "epsilon"),
    I64(25, "feature_index"),
    I64(26, "channel_id"),
    Bytes(27, "infeed_config"),
    Str(28, "custom_call_target"),
    Msg(29, M::kShape, "outfeed_shape"),
    Msg(30, M::kDotDimensionNumbers, "dot_dimension_numbers"),
    Enum(31, "fft_type"),
    Rep(I64(32, "fft_length")),
    Msg(33, M::kGatherDimensionNumbers, "gather_dimension_numbers"),
    Rep(I64(34, "gather_slice_sizes")),
    As(kNumber, I64(35, "id")),
    As(kNumber, Rep(I64(36, "operand_ids"))),
    As(kNumber, Rep(I64(37, "control_predecessor_ids"))),
    As(kNumber, Rep(I64(38, "called_computation_ids"))),
    Msg(40, M::kOpSharding, "sharding"),
    Bytes(43, "backend_config"),
    I64(45, "all_reduce_id"),
    Bool(47, "is_host_transfer"),
    Msg(48, M::kScatterDimensionNumbers, "scatter_dimension_numbers"),
    Rep(Msg(49, M::kReplicaGroup, "replica_groups")),
    I64(50, "feature_group_count"),
    Msg(51, M::kPrecisionConfig, "precision_config"),
    Rep(Msg(52, M::kSourceTarget, "source_target_pairs")),
    Msg(54, M::kOpSharding, "domain_entry_sharding"),
    Msg(55, M::kOpSharding, "domain_exit_sharding"),
    Bool(56, "constrain_layout"),
    Rep(Msg(57, M::kShape, "operand_shapes_with_layout")),
    I64(58, "batch_group_count"),
    Msg(59, M::kTriangularSolveOptions, "triangular_solve_options"),
    Bool(60, "is_stable"),
    Msg(61, M::kParameterReplication, "parameter_replication"),
    Msg(62, M::kCholeskyOptions, "cholesky_options"),
    Str(63, "comparison_direction"),
    Bool(65, "custom_call_has_side_effect"),
    I64(66, "delta"),
    Bool(67, "indices_are_sorted"),
    As(kKeepIfFilled, Msg(68, M::kFrontendAttributes, "frontend_attributes")),
    Bool(69, "unique_indices"),
    Enum(70, "rng_algorithm"),
    Bool(71, "use_global_device_ids"),
    Str(72, "comparison_type"),
    Bool(73, "is_cross_program_prefetch"),
    Rep(Msg(74, M::kOutputOperandAliasing, "output_operand_aliasing")),
    Enum(75, "padding_type"),
    Enum(76, "custom_call_schedule"),
    Enum(77, "custom_call_api_version"),
    Str(79, "async_execution_thread"),
    OneOf(1, I32(80, "cross_program_prefetch_index")),
    I64(81, "k"),
    Dropped(Unread(82, "statistics_viz")),
    Bool(85, "largest"),
    OneOf(2, Msg(87, M::kCollectiveDeviceList, "collective_device_list")),
    Dropped(Unread(88, "original_value")),
    Bool(89, "is_composite"),
    Msg(90, M::kRaggedDotDimensionNumbers, "ragged_dot_dimension_numbers"),
    Msg(91, M::kResultAccuracy, "result_accuracy"),
    OneOf(2, Msg(92, M::kIotaReplicaGroupList, "iota_collective_device_list")),
    OneOf(2, Msg(93, M::kMeshAxesReplicaGroupList, "mesh_axes_replica_group_list")),
    Bool(94, "is_reverse"),
    I64(95, "num_carries"),
    Enum(96, "is_associative"),
    Enum(97, "conv_kind"),
    Msg(98, M::kSparsityConfig, "sparsity_config"),
    As(kResolve, Msg(99, M::kPayload, "backend_config_payload")),
    Bool(100, "has_dynamic_root"),
};
// Retired fields that held numbers and strings of their own, no names or ids.
constexpr uint32_t kInstructionInert[] = {41, 42, 44, 46, 53, 64, 78, 83, 84, 86};

constexpr FieldSchema kModuleSchedule[] = {
    As(kMap, Rep(Msg(1, M::kScheduleEntry, "sequences"))),
};
constexpr FieldSchema kScheduleEntry[] = {
    As(kNumber, I64(1, "key")),  // A computation's id.
    As(kNumber, Msg(2, M::kInstructionSequence, "value")),
};
constexpr FieldSchema kInstructionSequence[] = {
    As(kNumber, Rep(I64(1, "instruction_ids"))),
};

constexpr FieldSchema kInputOutputAlias[] = {
    As(kSort, Rep(Msg(1, M::kAliasEntry, "entries"))),
};
constexpr FieldSchema kAliasEntry[] = {
    Rep(I64(1, "output_shape_index")),
    I64(2, "parameter_number"),
    Rep(I64(3, "parameter_shape_index")),
    Enum(4, "kind"),
};
constexpr FieldSchema kBufferDonor[] = {
    As(kSort, Rep(Msg(1, M::kBufferDonorEntry, "entries"))),
};
constexpr FieldSchema kBufferDonorEntry[] = {
    I64(1, "parameter_number"),
    Rep(I64(2, "parameter_shape_index")),
};
constexpr FieldSchema kPayload[] = {
    OneOf(1, Bytes(1, "value")),
    As(kNumber, OneOf(1, I64(2, "id"))),
};
constexpr FieldSchema kMapEntry[] = {
    Str(1, "key"),
    Str(2, "value"),
};

constexpr FieldSchema kCrossProgramPrefetch[] = {
    I64(1, "parameter"),
    Rep(I64(2, "index")),
    I64(3, "offset"),
};
constexpr FieldSchema kModuleProfileInfo[] = {
    Enum(1, "profile_type"),       F64(2, "relative_speedup"),
    Enum(3, "profile_source"),     Enum(4, "compilation_event"),
    Str(5, "fingerprint"),         Enum(6, "profile_generation_strategy"),
    I64(7, "original_changelist"), I64(8, "changelist"),
};
constexpr FieldSchema kDeviceAssignment[] = {
    I32(1, "replica_count"),
    I32(2, "computation_count"),
    Rep(Msg(3, M::kComputationDevice, "computation_devices")),
};
constexpr FieldSchema kComputationDevice[] = {
    Rep(I64(1, "replica_device_ids")),
};

// --- Shapes and literals ---

constexpr FieldSchema kProgramShape[] = {
    Rep(Msg(1, M::kShape, "parameters")),
    Msg(2, M::kShape, "result"),
    Dropped(Rep(Str(3, "parameter_names"))),
};
constexpr FieldSchema kShape[] = {
    Enum(2, "element_type"),
    Rep(I64(3, "dimensions")),
    Rep(Msg(4, M::kShape, "tuple_shapes")),
    Msg(5, M::kLayout, "layout"),
    As(kDropAllZero, Rep(Bool(6, "is_dynamic_dimension"))),
};
constexpr FieldSchema kLayout[] = {
    Rep(I64(1, "minor_to_major")),
    Rep(Msg(6, M::kTile, "tiles")),
    I64(7, "element_size_in_bits"),
    I64(8, "memory_space"),
    As(kDropAllZero, Rep(Enum(9, "dim_level_types"))),  // 0 is dense.
    Msg(10, M::kShape, "physical_shape"),
    Enum(11, "index_primitive_type"),
    Enum(12, "pointer_primitive_type"),
    As(kDropAllTrue, Rep(Bool(13, "dim_unique"))),
    As(kDropAllTrue, Rep(Bool(14, "dim_ordered"))),
    I64(15, "dynamic_shape_metadata_prefix_bytes"),
    As(kDropOne, I64(16, "tail_padding_alignment_in_elements")),
    Rep(Msg(17, M::kSplitConfig, "split_configs")),
};
constexpr FieldSchema kTile[] = {
    Rep(I64(1, "dimensions")),
};
constexpr FieldSchema kSplitConfig[] = {
    I64(1, "dimension"),
    Rep(I64(2, "split_indices")),
};
constexpr FieldSchema kLiteral[] = {
    Msg(1, M::kShape, "shape"),
    Rep(Bool(2, "preds")),
    Bytes(3, "u8s"),
    Rep(I32(4, "s32s")),
    Rep(I64(5, "s64s")),
    Rep(U32(6, "u32s")),
    Rep(U64(7, "u64s")),
    Rep(F32(8, "f32s")),
    Rep(F64(9, "f64s")),
    Rep(Msg(10, M::kLiteral, "tuple_literals")),
    Bytes(11, "f16s"),
    Rep(F32(12, "c64s")),
    Bytes(13, "bf16s"),
    Rep(I64(14, "sparse_indices")),
    Bytes(15, "s8s"),
    Bytes(16, "u16s"),
    Bytes(17, "s16s"),
    Rep(F64(18, "c128s")),
    Bytes(19, "f8e5m2s"),
    Bytes(20, "f8e4m3fns"),
    Bytes(21, "s4s"),
    Bytes(22, "u4s"),
    Bytes(23, "f8e4m3b11fnuzs"),
    Bytes(24, "f8e5m2fnuzs"),
    Bytes(25, "f8e4m3fnuzs"),
    Bytes(26, "s2s"),
    Bytes(27, "u2s"),
    Bytes(28, "f8e4m3s"),
    Bytes(29, "f8e3m4s"),
    Bytes(30, "s1s"),
    Bytes(31, "u1s"),
    Bytes(32, "f4e2m1fns"),
    Bytes(33, "f8e8m0fnus"),
    Rep(I32(34, "dynamic_sizes")),
    Bytes(35, "f6e3m2fns"),
    Bytes(36, "f6e2m3fns"),
};

// --- Metadata (kept where it hangs on a sharding) and attributes ---

constexpr FieldSchema kOpMetadata[] = {
    Str(1, "op_type"),
    Str(2, "op_name"),
    Str(3, "source_file"),
    I32(4, "source_line"),
    Rep(Enum(5, "profile_type")),
    I64(8, "size_of_generated_code_in_bytes"),
    I64(9, "size_of_memory_working_set_in_bytes"),
    Msg(10, M::kOpProfileInfo, "profile_info"),
    Str(12, "deduplicated_name"),
    I32(15, "stack_frame_id"),
    Str(16, "scheduling_name"),
    I32(17, "source_end_line"),
    I32(18, "source_column"),
    I32(19, "source_end_column"),
    As(kResolve, Msg(20, M::kPayload, "metadata_payload")),
};
constexpr FieldSchema kOpProfileInfo[] = {
    Rep(Enum(1, "profile_type")),
    F64(2, "relative_speedup"),
    Enum(3, "profile_source"),
    Enum(4, "compilation_event"),
    Enum(5, "profile_generation_strategy"),
};
constexpr FieldSchema kFrontendAttributes[] = {
    As(kMap, Rep(Msg(1, M::kMapEntry, "map"))),
};

// --- Shardings and groups of devices ---

constexpr FieldSchema kOpSharding[] = {
    Enum(1, "type"),
    Msg(2, M::kShape, "tile_shape"),
    Rep(I64(3, "tile_assignment_dimensions")),
    Rep(I64(4, "tile_assignment_devices")),
    Rep(Msg(5, M::kOpSharding, "tuple_shardings")),
    Bool(6, "replicate_on_last_tile_dim"),
    Rep(Msg(7, M::kOpMetadata, "metadata")),  // May select a reduction.
    Rep(Enum(8, "last_tile_dims")),
    Rep(I64(9, "iota_reshape_dims")),
    Rep(I32(10, "iota_transpose_perm")),
    Bool(11, "is_shard_group"),
    I64(12, "shard_group_id"),
    Enum(13, "shard_group_type"),
    Msg(14, M::kNamedSharding, "named_sharding"),
};
constexpr FieldSchema kNamedSharding[] = {
    Msg(2, M::kMesh, "mesh"),
    Rep(Msg(3, M::kDimensionSharding, "dim_shardings")),
    Rep(Msg(4, M::kAxisRef, "replicated_axes")),
    Rep(Msg(5, M::kAxisRef, "unreduced_axes")),
    Rep(Msg(6, M::kOpMetadata, "metadata")),  // May select a reduction.
    Rep(Msg(7, M::kAxisRef, "manual_axes")),
    Opt(Enum(8, "reduction_op")),
};
constexpr FieldSchema kDimensionSharding[] = {
    Rep(Msg(1, M::kAxisRef, "axes")),
    Bool(2, "is_closed"),
};
constexpr FieldSchema kMesh[] = {
    Rep(Msg(1, M::kMeshAxis, "axes")),
    Rep(I64(2, "device_ids")),
    Msg(3, M::kIotaTransform, "iota_transform"),
};
constexpr FieldSchema kMeshAxis[] = {
    Str(1, "name"),
    I64(2, "size"),
};
constexpr FieldSchema kIotaTransform[] = {
    Rep(I64(1, "reshape_dims")),
    Rep(I64(2, "transpose_perm")),
};
constexpr FieldSchema kAxisRef[] = {
    I64(1, "mesh_axis_index"),
    Msg(2, M::kSubAxis, "sub_axis_info"),
};
constexpr FieldSchema kSubAxis[] = {
    I64(1, "pre_size"),
    I64(2, "size"),
};
constexpr FieldSchema kReplicaGroup[] = {
    Rep(I64(1, "replica_ids")),
};
constexpr FieldSchema kCollectiveDeviceList[] = {
    Rep(Msg(1, M::kReplicaGroup, "replica_groups")),
    Msg(2, M::kIotaReplicaGroupList, "iota_replica_group_list"),  // Until 2026.
};
constexpr FieldSchema kIotaReplicaGroupList[] = {
    I64(1, "num_replica_groups"),
    I64(2, "num_devices_per_group"),
    Rep(I64(3, "iota_reshape_dims")),
    Rep(I32(4, "iota_transpose_perm")),
};
constexpr FieldSchema kMeshAxesReplicaGroupList[] = {
    Msg(1, M::kMesh, "mesh"),
    Rep(Msg(2, M::kAxisRef, "axes")),
};
constexpr FieldSchema kSourceTarget[] = {
    I64(1, "source"),
    I64(2, "target"),
};

// --- Attributes of single opcodes ---

constexpr FieldSchema kWindow[] = {
    Rep(Msg(1, M::kWindowDimension, "dimensions")),
};
constexpr FieldSchema kWindowDimension[] = {
    I64(1, "size"),
    I64(2, "stride"),
    I64(3, "padding_low"),
    I64(4, "padding_high"),
    I64(5, "window_dilation"),
    I64(6, "base_dilation"),
    Bool(7, "window_reversal"),
};
constexpr FieldSchema kConvolutionDimensionNumbers[] = {
    I64(3, "kernel_input_feature_dimension"),  I64(4, "kernel_output_feature_dimension"),
    Rep(I64(6, "kernel_spatial_dimensions")),  I64(7, "input_batch_dimension"),
    I64(8, "input_feature_dimension"),         I64(9, "output_batch_dimension"),
    I64(10, "output_feature_dimension"),       Rep(I64(11, "input_spatial_dimensions")),
    Rep(I64(12, "output_spatial_dimensions")),
};
constexpr FieldSchema kSliceDimensions[] = {
    I64(1, "start"),
    I64(2, "limit"),
    I64(3, "stride"),
};
constexpr FieldSchema kPaddingConfig[] = {
    Rep(Msg(1, M::kPaddingConfigDimension, "dimensions")),
};
constexpr FieldSchema kPaddingConfigDimension[] = {
    I64(1, "edge_padding_low"),
    I64(2, "edge_padding_high"),
    I64(3, "interior_padding"),
};
constexpr FieldSchema kDotDimensionNumbers[] = {
    Rep(I64(1, "lhs_contracting_dimensions")),
    Rep(I64(2, "rhs_contracting_dimensions")),
    Rep(I64(3, "lhs_batch_dimensions")),
    Rep(I64(4, "rhs_batch_dimensions")),
};
constexpr FieldSchema kRaggedDotDimensionNumbers[] = {
    Msg(1, M::kDotDimensionNumbers, "dot_dimension_numbers"),
    Rep(I64(2, "lhs_ragged_dimensions")),
    Rep(I64(3, "rhs_group_dimensions")),
};
constexpr FieldSchema kGatherDimensionNumbers[] = {
    Rep(I64(1, "offset_dims")),           Rep(I64(2, "collapsed_slice_dims")),
    Rep(I64(3, "start_index_map")),       I64(4, "index_vector_dim"),
    Rep(I64(5, "operand_batching_dims")), Rep(I64(6, "start_indices_batching_dims")),
};
constexpr FieldSchema kScatterDimensionNumbers[] = {
    Rep(I64(1, "update_window_dims")),           Rep(I64(2, "inserted_window_dims")),
    Rep(I64(3, "scatter_dims_to_operand_dims")), I64(4, "index_vector_dim"),
    Rep(I64(5, "input_batching_dims")),          Rep(I64(6, "scatter_indices_batching_dims")),
};
constexpr FieldSchema kPrecisionConfig[] = {
    Rep(Enum(1, "operand_precision")),
    Enum(2, "algorithm"),
};
constexpr FieldSchema kTriangularSolveOptions[] = {
    Bool(1, "left_side"),
    Bool(2, "lower"),
    Bool(3, "unit_diagonal"),
    Enum(4, "transpose_a"),
};
constexpr FieldSchema kCholeskyOptions[] = {
    Bool(1, "lower"),
};
constexpr FieldSchema kParameterReplication[] = {
    Rep(Bool(1, "replicated_at_leaf_buffers")),
};
constexpr FieldSchema kOutputOperandAliasing[] = {
    Rep(I64(1, "output_shape_index")),
    I64(2, "operand_index"),
    Rep(I64(3, "operand_shape_index")),
};
constexpr FieldSchema kResultAccuracy[] = {
    OneOf(1, Enum(1, "mode")),
    OneOf(1, Msg(2, M::kTolerance, "tolerance")),
};
constexpr FieldSchema kTolerance[] = {
    F64(1, "atol"),
    F64(2, "rtol"),
    I64(3, "ulps"),
};
constexpr FieldSchema kSparsityConfig[] = {
    Msg(1, M::kTensorSparsityConfig, "lhs"),
    Msg(2, M::kTensorSparsityConfig, "rhs"),
};
constexpr FieldSchema kTensorSparsityConfig[] = {
    I64(1, "num_non_zero"),
    I64(2, "block_size"),
    I64(3, "dimension"),
    I64(4, "stride"),
};

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
