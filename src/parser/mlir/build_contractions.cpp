#include <algorithm>

#include "base/text.h"
#include "parser/mlir/builders.h"

namespace hlo::mlir {
namespace {

// Empty if all operands have the default precision.
Result<std::vector<Precision>> PrecisionsOf(const Operation& op) {
  std::vector<Precision> precisions;
  const Attribute* const attribute = op.Find("precision_config");
  if (attribute == nullptr) return precisions;
  for (const Attribute& item : attribute->items) precisions.push_back(TRY(EnumIn<Precision>(item)));
  if (std::ranges::count(precisions, Precision::kDefault) == std::ssize(precisions)) precisions.clear();
  return precisions;
}

// The algorithm with these element types and this number of products.
Result<DotAlgorithm> AlgorithmOf(const Operation& op) {
  const Attribute* const attribute = op.Find("algorithm");
  if (attribute == nullptr || attribute->kind == Attribute::Kind::kUnit) return DotAlgorithm::kUnset;
  const auto text = [&](std::string_view field) {
    const Attribute* const value = attribute->Find(field);
    return value == nullptr ? std::string() : value->text;
  };
  const int64_t products = TRY(IntOfField(*attribute, "num_primitive_operations", 1));
  const std::string lhs = text("lhs_precision_type");
  Attribute word = *attribute;
  if (lhs.starts_with("f8")) {
    const Attribute* const fast = attribute->Find("allow_imprecise_accumulation");
    word.text = fast != nullptr && fast->integer != 0 ? "any_f8_any_f8_f32_fast_accum" : "any_f8_any_f8_f32";
  } else {
    word.text = Str(lhs, "_", text("rhs_precision_type"), "_", text("accumulation_type"),
                    products > 1 ? Str("_x", products) : "");
  }
  return EnumIn<DotAlgorithm>(word, "dot_");
}

// The labels between three pairs of brackets: [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f].
Result<DimLabels> DimLabelsOf(const Attribute& attribute) {
  const auto wrong = [&] {
    return Rejected("P037", "expected dimensions such as [b, 0, f]x[0, i, o]->[b, 0, f]", attribute.range);
  };
  DimLabels labels;
  struct Side {
    char batch, feature;
    int64_t *batch_dim, *feature_dim;
    std::vector<int64_t>* spatial;
  };
  const Side sides[] = {{'b', 'f', &labels.lhs_batch, &labels.lhs_feature, &labels.lhs_spatial},
                        {'i', 'o', &labels.rhs_input_feature, &labels.rhs_output_feature, &labels.rhs_spatial},
                        {'b', 'f', &labels.out_batch, &labels.out_feature, &labels.out_spatial}};
  std::string_view text = attribute.text;
  for (const Side& side : sides) {
    const size_t open = text.find('['), close = text.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) FAIL(wrong());
    const std::vector<std::string_view> items = Split(text.substr(open + 1, close - open - 1), ',');
    text.remove_prefix(close + 1);
    const auto count = static_cast<int64_t>(items.size());
    if (count < 2) FAIL(wrong());
    *side.batch_dim = *side.feature_dim = -1;
    side.spatial->assign(count - 2, -1);
    for (int64_t dim = 0; dim < count; ++dim) {
      const std::string_view item = Trim(items[dim]);
      int64_t number = -1;
      if (item == std::string_view(&side.batch, 1)) *side.batch_dim = dim;
      else if (item == std::string_view(&side.feature, 1)) *side.feature_dim = dim;
      else if (ParseInt(item, &number) && number >= 0 && number < count - 2) (*side.spatial)[number] = dim;
    }
    if (*side.batch_dim < 0 || *side.feature_dim < 0 || std::ranges::count(*side.spatial, -1) > 0) FAIL(wrong());
  }
  return labels;
}

}  // namespace

// Matrices and vectors: the last dimension of the first operand and the first but one of the second.
Status BuildDot(Lowering& to, const Operation& op) {
  if (op.operands.size() != 2 || to.OperandShape(op, 0).rank() == 0 || to.OperandShape(op, 1).rank() == 0)
    FAIL(ErrorAtOp(op, "V001", "expected two matrices or vectors"));
  DotAttrs attrs;
  attrs.lhs_contracting = {to.OperandShape(op, 0).rank() - 1};
  attrs.rhs_contracting = {std::max<int64_t>(to.OperandShape(op, 1).rank() - 2, 0)};
  attrs.precision = TRY(PrecisionsOf(op));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildDotGeneral(Lowering& to, const Operation& op) {
  const Attribute& numbers = *TRY(Need(op, "dot_dimension_numbers"));
  DotAttrs attrs;
  attrs.lhs_batch = TRY(IntsOfField(numbers, "lhs_batching_dimensions"));
  attrs.rhs_batch = TRY(IntsOfField(numbers, "rhs_batching_dimensions"));
  attrs.lhs_contracting = TRY(IntsOfField(numbers, "lhs_contracting_dimensions"));
  attrs.rhs_contracting = TRY(IntsOfField(numbers, "rhs_contracting_dimensions"));
  attrs.precision = TRY(PrecisionsOf(op));
  attrs.algorithm = TRY(AlgorithmOf(op));
  if (op.operands.size() != 2) FAIL(ErrorAtOp(op, "V001", "expected two operands"));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildRaggedDot(Lowering& to, const Operation& op) {
  const Attribute& numbers = *TRY(Need(op, "ragged_dot_dimension_numbers"));
  RaggedDotAttrs attrs;
  attrs.lhs_batch = TRY(IntsOfField(numbers, "lhs_batching_dimensions"));
  attrs.rhs_batch = TRY(IntsOfField(numbers, "rhs_batching_dimensions"));
  attrs.lhs_contracting = TRY(IntsOfField(numbers, "lhs_contracting_dimensions"));
  attrs.rhs_contracting = TRY(IntsOfField(numbers, "rhs_contracting_dimensions"));
  attrs.lhs_ragged = TRY(IntsOfField(numbers, "lhs_ragged_dimensions"));
  attrs.rhs_group = TRY(IntsOfField(numbers, "rhs_group_dimensions"));
  attrs.precision = TRY(PrecisionsOf(op));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildConvolution(Lowering& to, const Operation& op) {
  if (op.operands.size() != 2) FAIL(ErrorAtOp(op, "V001", "expected two operands"));
  ConvolutionAttrs attrs;
  const Attribute& numbers = *TRY(Need(op, "dimension_numbers"));
  attrs.dim_labels = TRY(DimLabelsOf(numbers));
  const Shape& kernel = to.OperandShape(op, 1);
  std::vector<int64_t> sizes;
  for (const int64_t dim : attrs.dim_labels.rhs_spatial) {
    if (dim >= kernel.rank())
      FAIL(Rejected("P037", Str("the kernel ", kernel, " has no dimension ", dim), numbers.range));
    sizes.push_back(kernel.dim(dim));
  }
  attrs.window = TRY(WindowOf(op, std::move(sizes), "lhs_dilation", "rhs_dilation"));
  const std::vector<int64_t> reversed = TRY(OptionalIntsOf(op, "window_reversal"));
  for (size_t i = 0; i < reversed.size() && i < attrs.window.dims.size(); ++i)
    attrs.window.dims[i].reversed = reversed[i] != 0;
  attrs.feature_group_count = TRY(IntOf(op, "feature_group_count", 1));
  attrs.batch_group_count = TRY(IntOf(op, "batch_group_count", 1));
  attrs.precision = TRY(PrecisionsOf(op));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildFft(Lowering& to, const Operation& op) {
  FftAttrs attrs{.fft_type = TRY(EnumIn<FftType>(*TRY(Need(op, "fft_type"))))};
  attrs.fft_length = TRY(IntsOf(op, "fft_length"));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildCholesky(Lowering& to, const Operation& op) {
  return to.Build(op, to.AllOperands(op), CholeskyAttrs{TRY(BoolOf(op, "lower", false))});
}

Status BuildTriangularSolve(Lowering& to, const Operation& op) {
  TriangularSolveAttrs attrs{.left_side = TRY(BoolOf(op, "left_side", false)),
                             .lower = TRY(BoolOf(op, "lower", false)),
                             .unit_diagonal = TRY(BoolOf(op, "unit_diagonal", false)),
                             .transpose_a = TRY(EnumIn<TransposeKind>(*TRY(Need(op, "transpose_a"))))};
  return to.Build(op, to.AllOperands(op), attrs);
}

Status BuildBatchNorm(Lowering& to, const Operation& op) {
  BatchNormAttrs attrs{.epsilon = static_cast<float>(TRY(RealOf(op, "epsilon"))),
                       .feature_index = TRY(IntOf(op, "feature_index"))};
  return to.Build(op, to.AllOperands(op), attrs);
}

}  // namespace hlo::mlir
