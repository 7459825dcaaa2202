#include "graph/explain/enum_names.h"

#include "absl/types/span.h"

namespace neffcache {
namespace {

using M = HloMessage;

constexpr absl::string_view kPrimitiveTypes[] = {
    "invalid",    "pred",       "s8",    "s16",    "s32",      "s64",    "u8",     "u16",
    "u32",        "u64",        "f16",   "f32",    "f64",      "tuple",  "opaque", "c64",
    "bf16",       "token",      "c128",  "f8e5m2", "f8e4m3fn", "s4",     "u4",     "f8e4m3b11fnuz",
    "f8e5m2fnuz", "f8e4m3fnuz", "s2",    "u2",     "f8e4m3",   "f8e3m4", "s1",     "u1",
    "f4e2m1fn",   "f8e8m0fnu",  "buffer"};
constexpr absl::string_view kAliasKinds[] = {"undefined", "may", "must"};
constexpr absl::string_view kDistributions[] = {"invalid", "uniform", "normal"};
constexpr absl::string_view kFftTypes[] = {"fft", "ifft", "rfft", "irfft"};
constexpr absl::string_view kRngAlgorithms[] = {"default", "three_fry", "philox"};
constexpr absl::string_view kPaddingTypes[] = {"invalid", "valid", "same"};
constexpr absl::string_view kSchedules[] = {"none", "latest", "earliest"};
constexpr absl::string_view kApiVersions[] = {"unspecified", "original", "status_returning",
                                              "status_returning_unified", "typed_ffi"};
constexpr absl::string_view kPrecisions[] = {"default", "high", "highest", "packed_nibble"};
constexpr absl::string_view kTransposes[] = {"invalid", "no_transpose", "transpose", "adjoint"};
constexpr absl::string_view kShardingTypes[] = {"replicated", "maximal", "tuple",    "other",
                                                "manual",     "unknown", "unreduced"};
constexpr absl::string_view kDimLevelTypes[] = {"dense", "compressed", "singleton",
                                                "loose_compressed"};
constexpr absl::string_view kAccuracyModes[] = {"default", "highest"};

struct EnumField {
  HloMessage message;
  uint32_t number;
  absl::Span<const absl::string_view> names;
};

const EnumField kEnumFields[] = {
    {M::kShape, 2, kPrimitiveTypes},
    {M::kLayout, 9, kDimLevelTypes},
    {M::kLayout, 11, kPrimitiveTypes},
    {M::kLayout, 12, kPrimitiveTypes},
    {M::kAliasEntry, 4, kAliasKinds},
    {M::kInstruction, 23, kDistributions},
    {M::kInstruction, 31, kFftTypes},
    {M::kInstruction, 70, kRngAlgorithms},
    {M::kInstruction, 75, kPaddingTypes},
    {M::kInstruction, 76, kSchedules},
    {M::kInstruction, 77, kApiVersions},
    {M::kPrecisionConfig, 1, kPrecisions},
    {M::kTriangularSolveOptions, 4, kTransposes},
    {M::kOpSharding, 1, kShardingTypes},
    {M::kOpSharding, 8, kShardingTypes},
    {M::kResultAccuracy, 1, kAccuracyModes},
};

absl::string_view At(absl::Span<const absl::string_view> names, int64_t value) {
  if (value < 0 || static_cast<uint64_t>(value) >= names.size()) return "";
  return names[static_cast<size_t>(value)];
}

}  // namespace

absl::string_view PrimitiveTypeName(int64_t type) {
  return At(kPrimitiveTypes, type);
}

absl::string_view EnumName(HloMessage message, uint32_t number, int64_t value) {
  for (const EnumField& field : kEnumFields) {
    if (field.message == message && field.number == number) return At(field.names, value);
  }
  return "";
}

}  // namespace neffcache
