"""Every message of HloModuleProto and every field that is looked at: hlo_keys.md 1.1-1.5.

One message a block: its name, then NUMBER NAME TYPE MARKS for each field, TYPE* being repeated. All kinds of text are
`bytes`. Marks:

  drop          not in the description (3.4, "Dropped fields"); the content is not looked into
  special       written by the code of its message, see description.py
  present       a scalar or message with presence of its own: kept when zero
  oneof=GROUP   member of a oneof
  unless-empty, unless-zeros, unless-ones, unless-one     left out then (1.4, 1.9)
  set, map      order does not matter
  guarded       (of a message) an unknown field in it might hold an id, a name or a payload index (3.4)
"""

TABLE = """
HloModule guarded
  1 name bytes drop
  2 entry_computation_name bytes drop
  3 computations HloComputation* special
  4 host_program_shape ProgramShape
  5 id int64 drop
  6 entry_computation_id int64 special
  7 schedule HloSchedule special
  8 input_output_alias HloInputOutputAlias unless-empty
  10 cross_program_prefetches CrossProgramPrefetch*
  11 is_dynamic bool
  12 spmd_output_sharding OpSharding
  13 profile_info ProfileInfo*
  14 spmd_parameters_shardings OpSharding*
  15 device_assignment DeviceAssignment
  16 use_auto_spmd_partitioning bool
  17 stack_frame_index bytes drop
  18 buffer_donor HloBufferDonor unless-empty
  19 frontend_attributes FrontendAttributes unless-empty
  20 original_value_recovery_table bytes special
  21 device_type bytes
  22 payloads bytes* special
  23 pjrt_id int64 drop present
  24 debug_attributes bytes* special

HloComputation guarded
  1 name bytes special
  2 instructions HloInstruction* special
  4 program_shape ProgramShape
  5 id int64 drop
  6 root_id int64 special
  7 is_fusion_computation bool
  8 execution_thread bytes

HloInstruction guarded
  1 name bytes drop
  2 opcode bytes
  3 shape Shape
  7 metadata InstructionMetadata drop
  8 literal Literal
  9 parameter_number int64
  11 fusion_kind bytes
  13 tuple_index int64
  14 dimensions int64*
  15 window Window
  16 convolution_dimension_numbers ConvolutionDimensionNumbers
  17 slice_dimensions SliceDimensions*
  18 exponent_bits int32
  19 mantissa_bits int32
  20 dynamic_slice_sizes int64*
  21 padding_config PaddingConfig
  22 outfeed_config bytes
  23 distribution enum
  24 epsilon float
  25 feature_index int64
  26 channel_id int64
  27 infeed_config bytes
  28 custom_call_target bytes
  29 outfeed_shape Shape
  30 dot_dimension_numbers DotDimensionNumbers
  31 fft_type enum
  32 fft_length int64*
  33 gather_dimension_numbers GatherDimensionNumbers
  34 gather_slice_sizes int64*
  35 id int64 drop
  36 operand_ids int64* special
  37 control_predecessor_ids int64* special
  38 called_computation_ids int64* special
  40 sharding OpSharding
  43 backend_config bytes special
  45 all_reduce_id int64
  47 is_host_transfer bool
  48 scatter_dimension_numbers ScatterDimensionNumbers
  49 replica_groups ReplicaGroup*
  50 feature_group_count int64
  51 precision_config PrecisionConfig
  52 source_target_pairs SourceTarget*
  54 domain_entry_sharding OpSharding
  55 domain_exit_sharding OpSharding
  56 constrain_layout bool
  57 operand_shapes_with_layout Shape*
  58 batch_group_count int64
  59 triangular_solve_options TriangularSolveOptions
  60 is_stable bool
  61 parameter_replication ParameterReplication
  62 cholesky_options CholeskyOptions
  63 comparison_direction bytes
  65 custom_call_has_side_effect bool
  66 delta int64
  67 indices_are_sorted bool
  68 frontend_attributes FrontendAttributes unless-empty
  69 unique_indices bool
  70 rng_algorithm enum
  71 use_global_device_ids bool
  72 comparison_type bytes
  73 is_cross_program_prefetch bool
  74 output_operand_aliasing OutputOperandAliasing*
  75 padding_type enum
  76 custom_call_schedule enum
  77 custom_call_api_version enum
  79 async_execution_thread bytes
  80 cross_program_prefetch_index int32 present
  81 k int64
  82 statistics_viz bytes drop
  85 largest bool
  87 collective_device_list CollectiveDeviceList oneof=replica_group_list
  88 original_value bytes drop
  89 is_composite bool
  90 ragged_dot_dimension_numbers RaggedDotDimensionNumbers
  91 result_accuracy ResultAccuracy
  92 iota_collective_device_list IotaReplicaGroupList oneof=replica_group_list
  93 mesh_axes_replica_group_list MeshAxesReplicaGroupList oneof=replica_group_list
  94 is_reverse bool
  95 num_carries int64
  96 is_associative enum
  97 conv_kind enum
  98 sparsity_config SparsityConfig
  99 backend_config_payload Payload special
  100 has_dynamic_root bool

Shape
  2 element_type enum
  3 dimensions int64*
  4 tuple_shapes Shape*
  5 layout Layout
  6 is_dynamic_dimension bool* unless-zeros

Layout
  1 minor_to_major int64*
  6 tiles Tile*
  7 element_size_in_bits int64
  8 memory_space int64
  9 dim_level_types enum* unless-zeros
  10 physical_shape Shape
  11 index_primitive_type enum
  12 pointer_primitive_type enum
  13 dim_unique bool* unless-ones
  14 dim_ordered bool* unless-ones
  15 dynamic_shape_metadata_prefix_bytes int64
  16 tail_padding_alignment_in_elements int64 unless-one
  17 split_configs SplitConfig*

Tile
  1 dimensions int64*

SplitConfig
  1 dimension int64
  2 split_indices int64*

Literal
  1 shape Shape
  2 preds bool*
  3 u8s bytes
  4 s32s int32*
  5 s64s int64*
  6 u32s uint32*
  7 u64s uint64*
  8 f32s float*
  9 f64s double*
  10 tuple_literals Literal*
  11 f16s bytes
  12 c64s float*
  13 bf16s bytes
  14 sparse_indices int64*
  15 s8s bytes
  16 u16s bytes
  17 s16s bytes
  18 c128s double*
  19 f8e5m2s bytes
  20 f8e4m3fns bytes
  21 s4s bytes
  22 u4s bytes
  23 f8e4m3b11fnuzs bytes
  24 f8e5m2fnuzs bytes
  25 f8e4m3fnuzs bytes
  26 s2s bytes
  27 u2s bytes
  28 f8e4m3s bytes
  29 f8e3m4s bytes
  30 s1s bytes
  31 u1s bytes
  32 f4e2m1fns bytes
  33 f8e8m0fnus bytes
  34 dynamic_sizes int32*
  35 f6e3m2fns bytes
  36 f6e2m3fns bytes

Window
  1 dimensions WindowDimension*

WindowDimension
  1 size int64
  2 stride int64
  3 padding_low int64
  4 padding_high int64
  5 window_dilation int64
  6 base_dilation int64
  7 window_reversal bool

ConvolutionDimensionNumbers
  3 kernel_input_feature_dimension int64
  4 kernel_output_feature_dimension int64
  6 kernel_spatial_dimensions int64*
  7 input_batch_dimension int64
  8 input_feature_dimension int64
  9 output_batch_dimension int64
  10 output_feature_dimension int64
  11 input_spatial_dimensions int64*
  12 output_spatial_dimensions int64*

SliceDimensions
  1 start int64
  2 limit int64
  3 stride int64

PaddingConfig
  1 dimensions PaddingConfigDimension*

PaddingConfigDimension
  1 edge_padding_low int64
  2 edge_padding_high int64
  3 interior_padding int64

DotDimensionNumbers
  1 lhs_contracting_dimensions int64*
  2 rhs_contracting_dimensions int64*
  3 lhs_batch_dimensions int64*
  4 rhs_batch_dimensions int64*

GatherDimensionNumbers
  1 offset_dims int64*
  2 collapsed_slice_dims int64*
  3 start_index_map int64*
  4 index_vector_dim int64
  5 operand_batching_dims int64*
  6 start_indices_batching_dims int64*

OpSharding
  1 type enum
  2 tile_shape Shape
  3 tile_assignment_dimensions int64*
  4 tile_assignment_devices int64*
  5 tuple_shardings OpSharding*
  6 replicate_on_last_tile_dim bool
  7 metadata OpMetadata*
  8 last_tile_dims enum*
  9 iota_reshape_dims int64*
  10 iota_transpose_perm int32*
  11 is_shard_group bool
  12 shard_group_id int64
  13 shard_group_type enum
  14 named_sharding NamedSharding present

OpMetadata
  1 op_type bytes
  2 op_name bytes
  3 source_file bytes
  4 source_line int32
  5 profile_type enum*
  8 size_of_generated_code_in_bytes int64
  9 size_of_memory_working_set_in_bytes int64
  10 profile_info MetadataProfileInfo
  12 deduplicated_name bytes
  15 stack_frame_id int32
  16 scheduling_name bytes
  17 source_end_line int32
  18 source_column int32
  19 source_end_column int32
  20 metadata_payload Payload

MetadataProfileInfo
  1 profile_type enum*
  2 relative_speedup double
  3 profile_source enum
  4 compilation_event enum
  5 profile_generation_strategy enum

Payload guarded
  1 value bytes oneof=payload_source
  2 id int64 oneof=payload_source

NamedSharding
  2 mesh Mesh
  3 dim_shardings DimensionSharding*
  4 replicated_axes AxisRef*
  5 unreduced_axes AxisRef*
  6 metadata OpMetadata*
  7 manual_axes AxisRef*
  8 reduction_op enum present

Mesh
  1 axes MeshAxis*
  2 device_ids int64*
  3 iota_transform IotaTransform present

MeshAxis
  1 name bytes
  2 size int64

IotaTransform
  1 reshape_dims int64*
  2 transpose_perm int64*

DimensionSharding
  1 axes AxisRef*
  2 is_closed bool

AxisRef
  1 mesh_axis_index int64
  2 sub_axis_info SubAxis present

SubAxis
  1 pre_size int64
  2 size int64

ScatterDimensionNumbers
  1 update_window_dims int64*
  2 inserted_window_dims int64*
  3 scatter_dims_to_operand_dims int64*
  4 index_vector_dim int64
  5 input_batching_dims int64*
  6 scatter_indices_batching_dims int64*

ReplicaGroup
  1 replica_ids int64*

PrecisionConfig
  1 operand_precision enum*
  2 algorithm enum

SourceTarget
  1 source int64
  2 target int64

TriangularSolveOptions
  1 left_side bool
  2 lower bool
  3 unit_diagonal bool
  4 transpose_a enum

ParameterReplication
  1 replicated_at_leaf_buffers bool*

CholeskyOptions
  1 lower bool

FrontendAttributes
  1 map MapEntry* map

MapEntry guarded
  1 key bytes
  2 value bytes

OutputOperandAliasing
  1 output_shape_index int64*
  2 operand_index int64
  3 operand_shape_index int64*

CollectiveDeviceList
  1 replica_groups ReplicaGroup*

RaggedDotDimensionNumbers
  1 dot_dimension_numbers DotDimensionNumbers
  2 lhs_ragged_dimensions int64*
  3 rhs_group_dimensions int64*

ResultAccuracy
  1 mode enum oneof=specs
  2 tolerance Tolerance oneof=specs

Tolerance
  1 atol double
  2 rtol double
  3 ulps int64

IotaReplicaGroupList
  1 num_replica_groups int64
  2 num_devices_per_group int64
  3 iota_reshape_dims int64*
  4 iota_transpose_perm int32*

MeshAxesReplicaGroupList
  1 mesh Mesh
  2 axes AxisRef*

SparsityConfig
  1 lhs TensorSparsityConfig
  2 rhs TensorSparsityConfig

TensorSparsityConfig
  1 num_non_zero int64
  2 block_size int64
  3 dimension int64
  4 stride int64

ProgramShape
  1 parameters Shape*
  2 result Shape
  3 parameter_names bytes* drop

HloSchedule guarded
  1 sequences SequencesEntry*

SequencesEntry guarded
  1 key int64
  2 value InstructionSequence

InstructionSequence guarded
  1 instruction_ids int64*

HloInputOutputAlias guarded
  1 entries AliasEntry* set

AliasEntry guarded
  1 output_shape_index int64*
  2 parameter_number int64
  3 parameter_shape_index int64*
  4 kind enum

CrossProgramPrefetch
  1 parameter int64
  2 index int64*
  3 offset int64

ProfileInfo
  1 profile_type enum
  2 relative_speedup double
  3 profile_source enum
  4 compilation_event enum
  5 fingerprint bytes
  6 profile_generation_strategy enum
  7 original_changelist int64
  8 changelist int64

DeviceAssignment
  1 replica_count int32
  2 computation_count int32
  3 computation_devices ComputationDevice*

ComputationDevice
  1 replica_device_ids int64*

HloBufferDonor guarded
  1 entries BufferDonorEntry* set

BufferDonorEntry guarded
  1 parameter_number int64
  2 parameter_shape_index int64*

InstructionMetadata
  20 metadata_payload Payload
"""
