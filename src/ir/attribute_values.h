// Values that attributes hold (ir/attrs.h). Text: docs/language.md#attribute-values.
#ifndef HLO_IR_ATTRIBUTE_VALUES_H_
#define HLO_IR_ATTRIBUTE_VALUES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/interned.h"
#include "ir/fields.h"
#include "ir/literal.h"
#include "ir/shape.h"
#include "ir/sharding.h"

namespace hlo {

#define HLO_ENUM(Name, ...) enum class Name : uint8_t { __VA_ARGS__ };
HLO_ENUM(ComparisonDirection, kEq, kNe, kGe, kGt, kLe, kLt)
HLO_ENUM(ComparisonType, kDefault, kFloat, kTotalOrder, kSigned, kUnsigned)
HLO_ENUM(FusionKind, kLoop, kInput, kOutput, kCustom)
HLO_ENUM(FftType, kFft, kIfft, kRfft, kIrfft)
HLO_ENUM(RandomDistribution, kUniform, kNormal)
HLO_ENUM(RandomAlgorithm, kDefault, kThreeFry, kPhilox)
HLO_ENUM(TransposeKind, kInvalid, kNoTranspose, kTranspose, kAdjoint)
HLO_ENUM(Precision, kDefault, kHigh, kHighest)
HLO_ENUM(PaddingType, kInvalid, kValid, kSame)
HLO_ENUM(CustomCallSchedule, kNone, kLatest, kEarliest)
HLO_ENUM(ApiVersion, kUnspecified, kOriginal, kStatusReturning, kStatusReturningUnified, kTypedFfi)
HLO_ENUM(ConvolutionKind, kUnset, kFprop, kWgrad, kDgrad)
HLO_ENUM(ShuffleMode, kRotate)
HLO_ENUM(GroupMode, kCrossReplica, kCrossPartition, kCrossReplicaAndPartition, kFlattenedId)
HLO_ENUM(DotAlgorithm, kUnset, kAnyF8AnyF8F32, kAnyF8AnyF8F32FastAccum, kF16F16F16, kF16F16F32, kBF16BF16BF16,
         kBF16BF16F32, kBF16BF16F32X3, kBF16BF16F32X6, kBF16BF16F32X9, kTF32TF32F32, kTF32TF32F32X3, kF32F32F32,
         kF64F64F64)
#undef HLO_ENUM

// `dimensions={2}` with exactly one entry.
struct OneDimension {
  int64_t value = 0;
  bool operator==(const OneDimension&) const = default;
};

// pad_low and pad_high may be negative. Positions of a window: docs/ops.md#windows.
struct WindowDim {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t pad_low = 0;
  int64_t pad_high = 0;
  int64_t base_dilation = 1;    // lhs_dilate
  int64_t window_dilation = 1;  // rhs_dilate
  bool reversed = false;        // rhs_reversal
  bool operator==(const WindowDim&) const = default;
};
struct Window {
  std::vector<WindowDim> dims;
  bool operator==(const Window&) const = default;
};

// dim_labels=b01f_01io->b01f: the roles of the dimensions of lhs, rhs and result.
struct DimLabels {
  int64_t lhs_batch = 0, lhs_feature = 0;
  int64_t rhs_input_feature = 0, rhs_output_feature = 0;
  int64_t out_batch = 0, out_feature = 0;
  std::vector<int64_t> lhs_spatial, rhs_spatial, out_spatial;
  bool operator==(const DimLabels&) const = default;
};

struct PaddingDim {
  int64_t low = 0, high = 0, interior = 0;  // low and high may be negative.
  bool operator==(const PaddingDim&) const = default;
};
struct PaddingConfig {
  std::vector<PaddingDim> dims;
  bool operator==(const PaddingConfig&) const = default;
};

struct SliceDim {
  int64_t start = 0, limit = 0, stride = 1;
  bool operator==(const SliceDim&) const = default;
};
struct SliceRanges {
  std::vector<SliceDim> dims;
  bool operator==(const SliceRanges&) const = default;
};

using ListOfLists = std::vector<std::vector<int64_t>>;

struct RawText {
  Interned text;
  bool empty() const { return text.empty(); }
  bool operator==(const RawText&) const = default;
};

// Attributes that are kept as text in XLA's form. The default is empty.
struct BackendConfig : RawText {};       // A dictionary in braces, or a quoted string.
struct FrontendAttributes : RawText {};  // {a="text",b={"json": 1}}, sorted by key.
struct Statistics : RawText {};          // {visualizing_index=0,nan_count=3}
struct ResultAccuracy : RawText {};      // {mode=highest}, {tolerance={atol=0.5,rtol=0,ulps=2}}
struct Origin : RawText {};              // {({"t" {0}}, {})}
struct LeafFlags : RawText {};           // {true,false}: parameter_replication.
struct PropagationFlags : RawText {};    // {true,false}. {false} is stored as empty.

// sparsity_config={rhs={sparsity=1x2 dimension=2 stride=1 idx=2}} of a contraction.
struct SparsePattern {
  int64_t non_zeros = 0, block_size = 0;
  bool operator==(const SparsePattern&) const = default;
};
struct OperandSparsity {
  SparsePattern pattern;
  int64_t dimension = 0, stride = 0;
  int64_t indices = 0;
  static constexpr auto Fields() {
    return FieldList(Always("sparsity", &OperandSparsity::pattern), Always("dimension", &OperandSparsity::dimension),
                     Always("stride", &OperandSparsity::stride), Always("idx", &OperandSparsity::indices));
  }
  bool operator==(const OperandSparsity&) const = default;
};
struct OperandScaling {
  int64_t scale = 0;
  static constexpr auto Fields() { return FieldList(Always("scale_idx", &OperandScaling::scale)); }
  bool operator==(const OperandScaling&) const = default;
};
template <class Side>
struct ForEachSide {
  std::optional<Side> lhs, rhs;
  static constexpr auto Fields() {
    return FieldList(Optional("lhs", &ForEachSide::lhs), Optional("rhs", &ForEachSide::rhs));
  }
  bool empty() const { return !lhs && !rhs; }
  bool operator==(const ForEachSide&) const = default;
};
using SparsityConfig = ForEachSide<OperandSparsity>;
using BlockScalingConfig = ForEachSide<OperandScaling>;

// `mode=` of a collective has no effect, so all modes compare equal.
struct GroupModeWord {
  GroupMode mode = GroupMode::kCrossReplica;
  bool operator==(const GroupModeWord&) const { return true; }
};

struct OperandAlias {
  ShapeIndex output;
  int64_t operand = 0;
  ShapeIndex operand_index;
  bool operator==(const OperandAlias&) const = default;
};
using OperandAliases = std::vector<OperandAlias>;

struct ShapeList {
  std::vector<Shape> shapes;
  bool operator==(const ShapeList&) const = default;
};

struct LiteralValue {
  std::optional<Literal> value;
  bool operator==(const LiteralValue& other) const {
    return value.has_value() == other.value.has_value() && (!value || value->BitEquals(*other.value));
  }
};

// The words of an enum in the order of its enumerators, and whether readers ignore case. An enumerator with an empty
// word is never written.
template <class Enum>
struct EnumWords;

#define HLO_WORDS(Enum, ignore_case, ...)                       \
  template <>                                                   \
  struct EnumWords<Enum> {                                      \
    static constexpr std::string_view kWords[] = {__VA_ARGS__}; \
    static constexpr bool kIgnoreCase = ignore_case;            \
  };                                                            \
  inline std::string_view ToString(Enum value) { return EnumWords<Enum>::kWords[static_cast<int>(value)]; }

HLO_WORDS(ComparisonDirection, false, "EQ", "NE", "GE", "GT", "LE", "LT")
HLO_WORDS(ComparisonType, false, "", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
HLO_WORDS(FusionKind, false, "kLoop", "kInput", "kOutput", "kCustom")
HLO_WORDS(FftType, false, "FFT", "IFFT", "RFFT", "IRFFT")
HLO_WORDS(RandomDistribution, true, "rng_uniform", "rng_normal")
HLO_WORDS(RandomAlgorithm, true, "rng_default", "rng_three_fry", "rng_philox")
HLO_WORDS(TransposeKind, false, "", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
HLO_WORDS(Precision, true, "default", "high", "highest")
HLO_WORDS(PaddingType, false, "PADDING_INVALID", "PADDING_VALID", "PADDING_SAME")
HLO_WORDS(CustomCallSchedule, true, "SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST")
HLO_WORDS(ApiVersion, true, "", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
          "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI")
HLO_WORDS(ConvolutionKind, false, "unset", "fprop", "wgrad", "dgrad")
HLO_WORDS(ShuffleMode, false, "rotate")
HLO_WORDS(ShardingKind, false, "maximal", "manual", "unknown", "unreduced", "replicated", "", "", "")
HLO_WORDS(Reduction, false, "sum", "max", "min")
HLO_WORDS(GroupMode, false, "cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id")
HLO_WORDS(DotAlgorithm, true, "unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16",
          "dot_f16_f16_f32", "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3", "dot_bf16_bf16_f32_x6",
          "dot_bf16_bf16_f32_x9", "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32", "dot_f64_f64_f64")
#undef HLO_WORDS

}  // namespace hlo

#endif  // HLO_IR_ATTRIBUTE_VALUES_H_
