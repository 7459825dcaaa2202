#pragma once

// The fields of XLA's hlo.proto, in its order: modules, computations, instructions, and what hangs
// on modules alone. Each line is one field, with its name there.

#include "graph/schema/field.h"

namespace neffcache::schema {

inline constexpr FieldSchema kModule[] = {
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
inline constexpr uint32_t kModuleInert[] = {9};

inline constexpr FieldSchema kComputation[] = {
    As(kMarkedName, Str(1, "name")),
    As(kDescend, Rep(Msg(2, M::kInstruction, "instructions"))),
    Msg(4, M::kProgramShape, "program_shape"),
    As(kNumber, I64(5, "id")),
    As(kNumber, I64(6, "root_id")),
    Bool(7, "is_fusion_computation"),
    Str(8, "execution_thread"),
};

inline constexpr FieldSchema kInstruction[] = {
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
inline constexpr uint32_t kInstructionInert[] = {41, 42, 44, 46, 53, 64, 78, 83, 84, 86};

inline constexpr FieldSchema kModuleSchedule[] = {
    As(kMap, Rep(Msg(1, M::kScheduleEntry, "sequences"))),
};
inline constexpr FieldSchema kScheduleEntry[] = {
    As(kNumber, I64(1, "key")),  // A computation's id.
    As(kNumber, Msg(2, M::kInstructionSequence, "value")),
};
inline constexpr FieldSchema kInstructionSequence[] = {
    As(kNumber, Rep(I64(1, "instruction_ids"))),
};

inline constexpr FieldSchema kInputOutputAlias[] = {
    As(kSort, Rep(Msg(1, M::kAliasEntry, "entries"))),
};
inline constexpr FieldSchema kAliasEntry[] = {
    Rep(I64(1, "output_shape_index")),
    I64(2, "parameter_number"),
    Rep(I64(3, "parameter_shape_index")),
    Enum(4, "kind"),
};
inline constexpr FieldSchema kBufferDonor[] = {
    As(kSort, Rep(Msg(1, M::kBufferDonorEntry, "entries"))),
};
inline constexpr FieldSchema kBufferDonorEntry[] = {
    I64(1, "parameter_number"),
    Rep(I64(2, "parameter_shape_index")),
};
inline constexpr FieldSchema kPayload[] = {
    OneOf(1, Bytes(1, "value")),
    As(kNumber, OneOf(1, I64(2, "id"))),
};
inline constexpr FieldSchema kMapEntry[] = {
    Str(1, "key"),
    Str(2, "value"),
};

inline constexpr FieldSchema kCrossProgramPrefetch[] = {
    I64(1, "parameter"),
    Rep(I64(2, "index")),
    I64(3, "offset"),
};
inline constexpr FieldSchema kModuleProfileInfo[] = {
    Enum(1, "profile_type"),       F64(2, "relative_speedup"),
    Enum(3, "profile_source"),     Enum(4, "compilation_event"),
    Str(5, "fingerprint"),         Enum(6, "profile_generation_strategy"),
    I64(7, "original_changelist"), I64(8, "changelist"),
};

}  // namespace neffcache::schema
