#pragma once

// The fields of XLA's xla_data.proto, by what they describe, and the small messages of single
// opcodes. Each line is one field, with its name there.

#include "graph/schema/field.h"

namespace neffcache::schema {

// --- Shapes and literals ---

inline constexpr FieldSchema kProgramShape[] = {
    Rep(Msg(1, M::kShape, "parameters")),
    Msg(2, M::kShape, "result"),
    Dropped(Rep(Str(3, "parameter_names"))),
};
inline constexpr FieldSchema kShape[] = {
    Enum(2, "element_type"),
    Rep(I64(3, "dimensions")),
    Rep(Msg(4, M::kShape, "tuple_shapes")),
    Msg(5, M::kLayout, "layout"),
    As(kDropAllZero, Rep(Bool(6, "is_dynamic_dimension"))),
};
inline constexpr FieldSchema kLayout[] = {
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
inline constexpr FieldSchema kTile[] = {
    Rep(I64(1, "dimensions")),
};
inline constexpr FieldSchema kSplitConfig[] = {
    I64(1, "dimension"),
    Rep(I64(2, "split_indices")),
};
inline constexpr FieldSchema kLiteral[] = {
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

inline constexpr FieldSchema kOpMetadata[] = {
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
inline constexpr FieldSchema kOpProfileInfo[] = {
    Rep(Enum(1, "profile_type")),
    F64(2, "relative_speedup"),
    Enum(3, "profile_source"),
    Enum(4, "compilation_event"),
    Enum(5, "profile_generation_strategy"),
};
inline constexpr FieldSchema kFrontendAttributes[] = {
    As(kMap, Rep(Msg(1, M::kMapEntry, "map"))),
};

// --- Shardings and groups of devices ---

inline constexpr FieldSchema kDeviceAssignment[] = {
    I32(1, "replica_count"),
    I32(2, "computation_count"),
    Rep(Msg(3, M::kComputationDevice, "computation_devices")),
};
inline constexpr FieldSchema kComputationDevice[] = {
    Rep(I64(1, "replica_device_ids")),
};
inline constexpr FieldSchema kOpSharding[] = {
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
inline constexpr FieldSchema kNamedSharding[] = {
    Msg(2, M::kMesh, "mesh"),
    Rep(Msg(3, M::kDimensionSharding, "dim_shardings")),
    Rep(Msg(4, M::kAxisRef, "replicated_axes")),
    Rep(Msg(5, M::kAxisRef, "unreduced_axes")),
    Rep(Msg(6, M::kOpMetadata, "metadata")),  // May select a reduction.
    Rep(Msg(7, M::kAxisRef, "manual_axes")),
    Opt(Enum(8, "reduction_op")),
};
inline constexpr FieldSchema kDimensionSharding[] = {
    Rep(Msg(1, M::kAxisRef, "axes")),
    Bool(2, "is_closed"),
};
inline constexpr FieldSchema kMesh[] = {
    Rep(Msg(1, M::kMeshAxis, "axes")),
    Rep(I64(2, "device_ids")),
    Msg(3, M::kIotaTransform, "iota_transform"),
};
inline constexpr FieldSchema kMeshAxis[] = {
    Str(1, "name"),
    I64(2, "size"),
};
inline constexpr FieldSchema kIotaTransform[] = {
    Rep(I64(1, "reshape_dims")),
    Rep(I64(2, "transpose_perm")),
};
inline constexpr FieldSchema kAxisRef[] = {
    I64(1, "mesh_axis_index"),
    Msg(2, M::kSubAxis, "sub_axis_info"),
};
inline constexpr FieldSchema kSubAxis[] = {
    I64(1, "pre_size"),
    I64(2, "size"),
};
inline constexpr FieldSchema kReplicaGroup[] = {
    Rep(I64(1, "replica_ids")),
};
inline constexpr FieldSchema kCollectiveDeviceList[] = {
    Rep(Msg(1, M::kReplicaGroup, "replica_groups")),
    Msg(2, M::kIotaReplicaGroupList, "iota_replica_group_list"),  // Until 2026.
};
inline constexpr FieldSchema kIotaReplicaGroupList[] = {
    I64(1, "num_replica_groups"),
    I64(2, "num_devices_per_group"),
    Rep(I64(3, "iota_reshape_dims")),
    Rep(I32(4, "iota_transpose_perm")),
};
inline constexpr FieldSchema kMeshAxesReplicaGroupList[] = {
    Msg(1, M::kMesh, "mesh"),
    Rep(Msg(2, M::kAxisRef, "axes")),
};
inline constexpr FieldSchema kSourceTarget[] = {
    I64(1, "source"),
    I64(2, "target"),
};

// --- Attributes of single opcodes ---

inline constexpr FieldSchema kWindow[] = {
    Rep(Msg(1, M::kWindowDimension, "dimensions")),
};
inline constexpr FieldSchema kWindowDimension[] = {
    I64(1, "size"),
    I64(2, "stride"),
    I64(3, "padding_low"),
    I64(4, "padding_high"),
    I64(5, "window_dilation"),
    I64(6, "base_dilation"),
    Bool(7, "window_reversal"),
};
inline constexpr FieldSchema kConvolutionDimensionNumbers[] = {
    I64(3, "kernel_input_feature_dimension"),  I64(4, "kernel_output_feature_dimension"),
    Rep(I64(6, "kernel_spatial_dimensions")),  I64(7, "input_batch_dimension"),
    I64(8, "input_feature_dimension"),         I64(9, "output_batch_dimension"),
    I64(10, "output_feature_dimension"),       Rep(I64(11, "input_spatial_dimensions")),
    Rep(I64(12, "output_spatial_dimensions")),
};
inline constexpr FieldSchema kSliceDimensions[] = {
    I64(1, "start"),
    I64(2, "limit"),
    I64(3, "stride"),
};
inline constexpr FieldSchema kPaddingConfig[] = {
    Rep(Msg(1, M::kPaddingConfigDimension, "dimensions")),
};
inline constexpr FieldSchema kPaddingConfigDimension[] = {
    I64(1, "edge_padding_low"),
    I64(2, "edge_padding_high"),
    I64(3, "interior_padding"),
};
inline constexpr FieldSchema kDotDimensionNumbers[] = {
    Rep(I64(1, "lhs_contracting_dimensions")),
    Rep(I64(2, "rhs_contracting_dimensions")),
    Rep(I64(3, "lhs_batch_dimensions")),
    Rep(I64(4, "rhs_batch_dimensions")),
};
inline constexpr FieldSchema kRaggedDotDimensionNumbers[] = {
    Msg(1, M::kDotDimensionNumbers, "dot_dimension_numbers"),
    Rep(I64(2, "lhs_ragged_dimensions")),
    Rep(I64(3, "rhs_group_dimensions")),
};
inline constexpr FieldSchema kGatherDimensionNumbers[] = {
    Rep(I64(1, "offset_dims")),           Rep(I64(2, "collapsed_slice_dims")),
    Rep(I64(3, "start_index_map")),       I64(4, "index_vector_dim"),
    Rep(I64(5, "operand_batching_dims")), Rep(I64(6, "start_indices_batching_dims")),
};
inline constexpr FieldSchema kScatterDimensionNumbers[] = {
    Rep(I64(1, "update_window_dims")),           Rep(I64(2, "inserted_window_dims")),
    Rep(I64(3, "scatter_dims_to_operand_dims")), I64(4, "index_vector_dim"),
    Rep(I64(5, "input_batching_dims")),          Rep(I64(6, "scatter_indices_batching_dims")),
};
inline constexpr FieldSchema kPrecisionConfig[] = {
    Rep(Enum(1, "operand_precision")),
    Enum(2, "algorithm"),
};
inline constexpr FieldSchema kTriangularSolveOptions[] = {
    Bool(1, "left_side"),
    Bool(2, "lower"),
    Bool(3, "unit_diagonal"),
    Enum(4, "transpose_a"),
};
inline constexpr FieldSchema kCholeskyOptions[] = {
    Bool(1, "lower"),
};
inline constexpr FieldSchema kParameterReplication[] = {
    Rep(Bool(1, "replicated_at_leaf_buffers")),
};
inline constexpr FieldSchema kOutputOperandAliasing[] = {
    Rep(I64(1, "output_shape_index")),
    I64(2, "operand_index"),
    Rep(I64(3, "operand_shape_index")),
};
inline constexpr FieldSchema kResultAccuracy[] = {
    OneOf(1, Enum(1, "mode")),
    OneOf(1, Msg(2, M::kTolerance, "tolerance")),
};
inline constexpr FieldSchema kTolerance[] = {
    F64(1, "atol"),
    F64(2, "rtol"),
    I64(3, "ulps"),
};
inline constexpr FieldSchema kSparsityConfig[] = {
    Msg(1, M::kTensorSparsityConfig, "lhs"),
    Msg(2, M::kTensorSparsityConfig, "rhs"),
};
inline constexpr FieldSchema kTensorSparsityConfig[] = {
    I64(1, "num_non_zero"),
    I64(2, "block_size"),
    I64(3, "dimension"),
    I64(4, "stride"),
};

}  // namespace neffcache::schema
