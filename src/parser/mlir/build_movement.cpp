// Elementwise operations and movements of data.
#include <algorithm>
#include <numeric>

#include "ir/dimensions.h"
#include "parser/mlir/builders.h"
#include "parser/mlir/stablehlo_ops.h"

namespace hlo::mlir {
namespace {

Status ExpectSize(const Operation& op, std::string_view name, const std::vector<int64_t>& values, int64_t size) {
  if (static_cast<int64_t>(values.size()) == size) return {};
  FAIL(ErrorAtOp(op, "P037", Str("the attribute '", name, "' has ", values.size(), " entries, expected ", size)));
}

Status ExpectOperands(const Operation& op, size_t least) {
  if (op.operands.size() >= least) return {};
  FAIL(ErrorAtOp(op, "V001", Str("'", op.name, "' has ", op.operands.size(), " operands, expected ", least)));
}

ComparisonDirection Mirrored(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kLt: return ComparisonDirection::kGt;
    case ComparisonDirection::kLe: return ComparisonDirection::kGe;
    case ComparisonDirection::kGt: return ComparisonDirection::kLt;
    case ComparisonDirection::kGe: return ComparisonDirection::kLe;
    default: return direction;
  }
}

}  // namespace

Status Plain(Lowering& to, const Operation& op) { return to.Build(op, to.AllOperands(op)); }

// A constant with equal elements becomes a broadcast scalar, as in XLA.
Status BuildConstant(Lowering& to, const Operation& op) {
  const Attribute& value = *TRY(Need(op, "value"));
  if (value.kind != Attribute::Kind::kElements || op.result_count != 1)
    FAIL(Rejected("P037", "expected dense<...>", value.range));
  to.SetResult(op, 0, to.Constant(op, value.elements->value, value.elements->shape));
  return {};
}

// As in XLA, the numbers of an array are a broadcast vector, and a single number is a constant.
Status BuildIota(Lowering& to, const Operation& op) {
  const int64_t dim = TRY(IntOf(op, "iota_dimension"));
  if (op.result_count != 1) FAIL(ErrorAtOp(op, "V001", "an iota has one result"));
  const Shape& shape = to.ResultShape(op);
  const bool is_valid = dim >= 0 && dim < shape.rank() && !shape.HasDynamicDims();
  if (is_valid && shape.dim(dim) == 1) {
    to.SetResult(op, 0, to.Constant(op, Literal::Scalar(shape.type(), int64_t{0}), shape));
    return {};
  }
  if (!is_valid || shape.rank() == 1) return to.Build(op, {}, IotaAttrs{dim});
  Instruction& numbers = to.Add(op, Opcode::kIota, Shape(shape.type(), {shape.dim(dim)}), {}, IotaAttrs{0});
  return to.SetResults(op, to.Add(op, Opcode::kBroadcast, shape, {&numbers}, DimensionsAttrs{{dim}}));
}

Status BuildCompare(Lowering& to, const Operation& op) {
  CompareAttrs attrs;
  attrs.direction = TRY(EnumIn<ComparisonDirection>(*TRY(Need(op, "comparison_direction"))));
  const Attribute* const type = op.Find("compare_type");
  if (type != nullptr && type->text != "NOTYPE") attrs.type = TRY(EnumIn<ComparisonType>(*type));
  TRY(ExpectOperands(op, 2));
  Operands operands = to.AllOperands(op);
  if (IsConstantValue(*operands[0]) && !IsConstantValue(*operands[1])) {  // As in XLA, a constant is second.
    std::swap(operands[0], operands[1]);
    attrs.direction = Mirrored(attrs.direction);
  }
  if (operands[0] == operands[1] && !IsFloat(operands[0]->shape().type()) && !IsComplex(operands[0]->shape().type())) {
    const bool is_true = attrs.direction == ComparisonDirection::kEq || attrs.direction == ComparisonDirection::kLe ||
                         attrs.direction == ComparisonDirection::kGe;
    const Literal value = Literal::Scalar(PrimitiveType::kPred, int64_t{is_true});
    to.SetResult(op, 0, to.Constant(op, value, to.ResultShape(op)));
    return {};
  }
  // A type that the elements imply is not written.
  const PrimitiveType element = to.OperandShape(op, 0).type();
  const ComparisonType natural = IsFloat(element) || IsComplex(element) ? ComparisonType::kFloat
                                 : IsSigned(element)                    ? ComparisonType::kSigned
                                                                        : ComparisonType::kUnsigned;
  if (attrs.type == natural) attrs.type = ComparisonType::kDefault;
  return to.Build(op, std::move(operands), attrs);
}

Status BuildReducePrecision(Lowering& to, const Operation& op) {
  return to.Build(op, to.AllOperands(op),
                  ReducePrecisionAttrs{TRY(IntOf(op, "exponent_bits")), TRY(IntOf(op, "mantissa_bits"))});
}

// The new dimensions are the first ones of the result.
Status BuildBroadcast(Lowering& to, const Operation& op) {
  TRY(ExpectOperands(op, 1));
  const auto added = static_cast<int64_t>(TRY(IntsOf(op, "broadcast_sizes")).size());
  DimensionsAttrs attrs;
  attrs.dimensions.resize(to.OperandShape(op, 0).rank());
  std::iota(attrs.dimensions.begin(), attrs.dimensions.end(), added);
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

// Dimensions of size 1 that grow are removed first, because a broadcast of HLO keeps the sizes of its operand.
// XLA makes the same three instructions.
Status BuildBroadcastInDim(Lowering& to, const Operation& op) {
  TRY(ExpectOperands(op, 1));
  DimensionsAttrs attrs{TRY(IntsOf(op, "broadcast_dimensions"))};
  const Shape& from = to.OperandShape(op, 0);
  const Shape& result = to.ResultShape(op);
  TRY(ExpectSize(op, "broadcast_dimensions", attrs.dimensions, from.rank()));
  std::vector<int64_t> kept_dims;
  Dims kept_sizes;
  bool grows = false, increasing = true;
  for (int64_t i = 0; i < from.rank(); ++i) {
    const int64_t dim = attrs.dimensions[i];
    if (dim < 0 || dim >= result.rank())
      FAIL(ErrorAtOp(op, "P037", Str("there is no dimension ", dim, " in the result ", result)));
    increasing = increasing && (i == 0 || dim > attrs.dimensions[i - 1]);
    if (from.dim(i) == 1 && result.dim(dim) != 1) {
      grows = true;
      continue;
    }
    kept_dims.push_back(dim);
    kept_sizes.push_back(from.dim(i));
  }
  if (!increasing) FAIL(ErrorAtOp(op, "U011", "broadcast_dimensions that do not increase are not supported"));
  Instruction& operand = to.Operand(op, 0);
  if (IsConstantValue(operand)) {
    const Literal& value = operand.Is(Opcode::kConstant) ? operand.literal() : operand.operand(0).literal();
    if (value.shape().NumElements() == 1) {
      to.SetResult(op, 0, to.Constant(op, value.WithShape(Shape::Scalar(value.shape().type())), result));
      return {};
    }
  }
  const bool keeps_elements =
      from.NumElements() == result.NumElements() && !result.HasDynamicDims() && from.type() == result.type();
  if (keeps_elements && operand.Is(Opcode::kConstant)) {
    to.SetResult(op, 0, to.Constant(op, operand.literal().WithShape(result), result));
    return {};
  }
  if (keeps_elements) return to.SetResults(op, to.Add(op, Opcode::kReshape, result, {&operand}, ReshapeAttrs()));
  if (!grows) return to.Build(op, {&operand}, std::move(attrs));
  std::vector<int64_t> same(from.rank());
  std::iota(same.begin(), same.end(), 0);
  Instruction& before = to.Add(op, Opcode::kBroadcast, from, {&operand}, DimensionsAttrs{std::move(same)});
  Instruction& squeezed = to.Add(op, Opcode::kReshape, Shape(from.type(), kept_sizes), {&before}, ReshapeAttrs());
  return to.Build(op, {&squeezed}, DimensionsAttrs{std::move(kept_dims)});
}

Status BuildConcatenate(Lowering& to, const Operation& op) {
  return to.Build(op, to.AllOperands(op), OneDimensionAttrs{OneDimension{TRY(IntOf(op, "dimension"))}});
}

Status BuildDimensionSize(Lowering& to, const Operation& op) {
  return to.Build(op, to.AllOperands(op), OneDimensionAttrs{OneDimension{TRY(IntOf(op, "dimension"))}});
}

Status BuildGetTupleElement(Lowering& to, const Operation& op) {
  return to.Build(op, to.AllOperands(op), IndexAttrs{TRY(IntOf(op, "index"))});
}

Status BuildReshape(Lowering& to, const Operation& op) {
  TRY(ExpectOperands(op, 1));
  const Instruction& operand = to.Operand(op, 0);
  const Shape& result = to.ResultShape(op);
  const bool fits = operand.shape().NumElements() == result.NumElements() && !result.HasDynamicDims();
  if (fits && IsConstantValue(operand)) {
    const Literal& value = operand.Is(Opcode::kConstant) ? operand.literal() : operand.operand(0).literal();
    const bool is_one = value.shape().NumElements() == 1;
    to.SetResult(op, 0, to.Constant(op, value.WithShape(is_one ? Shape::Scalar(result.type()) : result), result));
    return {};
  }
  return to.Build(op, to.AllOperands(op), ReshapeAttrs());
}

Status BuildReverse(Lowering& to, const Operation& op) {
  return to.Build(op, to.AllOperands(op), DimensionsAttrs{TRY(IntsOf(op, "dimensions"))});
}

// The bytes keep their order, as in XLA.
Shape TransposedShape(Shape result, const std::vector<int64_t>& permutation) {
  const int64_t rank = result.rank();
  std::vector<int16_t> place(rank, -1);
  for (int64_t i = 0; i < rank && i < std::ssize(permutation); ++i) {
    if (permutation[i] >= 0 && permutation[i] < rank) place[permutation[i]] = static_cast<int16_t>(i);
  }
  if (std::ranges::count(place, -1) > 0) return result;  // The verifier rejects it.
  Layout layout;
  for (int64_t dim = rank; dim-- > 0;) layout.minor_to_major.push_back(place[dim]);
  result.SetLayout(std::move(layout));
  return result;
}

Status BuildTranspose(Lowering& to, const Operation& op) {
  TRY(ExpectOperands(op, 1));
  DimensionsAttrs attrs{TRY(IntsOf(op, "permutation"))};
  Shape shape = TransposedShape(to.ResultShape(op), attrs.dimensions);
  return to.SetResults(op, to.Add(op, Opcode::kTranspose, std::move(shape), to.AllOperands(op), std::move(attrs)));
}

namespace {

// As in XLA, a scalar operand is broadcast to the shape of the result.
void SpreadScalar(Lowering& to, const Operation& op, Instruction*& operand) {
  const Shape& result = to.ResultShape(op);
  if (!operand->shape().IsScalar() || result.IsScalar() || !result.IsArray()) return;
  operand = &to.Add(op, Opcode::kBroadcast, result.WithType(operand->shape().type()), {operand}, DimensionsAttrs());
}

}  // namespace

Status BuildSelect(Lowering& to, const Operation& op) {
  TRY(ExpectOperands(op, 3));
  Operands operands = to.AllOperands(op);
  SpreadScalar(to, op, operands[0]);
  return to.Build(op, std::move(operands));
}

Status BuildClamp(Lowering& to, const Operation& op) {
  TRY(ExpectOperands(op, 3));
  Operands operands = to.AllOperands(op);
  SpreadScalar(to, op, operands[0]);
  SpreadScalar(to, op, operands[2]);
  return to.Build(op, std::move(operands));
}

Status BuildSlice(Lowering& to, const Operation& op) {
  const std::vector<int64_t> starts = TRY(IntsOf(op, "start_indices"));
  const std::vector<int64_t> limits = TRY(IntsOf(op, "limit_indices"));
  const std::vector<int64_t> strides = TRY(IntsOf(op, "strides"));
  TRY(ExpectSize(op, "limit_indices", limits, static_cast<int64_t>(starts.size())));
  TRY(ExpectSize(op, "strides", strides, static_cast<int64_t>(starts.size())));
  SliceAttrs attrs;
  for (size_t i = 0; i < starts.size(); ++i) attrs.slice.dims.push_back({starts[i], limits[i], strides[i]});
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildDynamicSlice(Lowering& to, const Operation& op) {
  return to.Build(op, to.AllOperands(op), DynamicSliceAttrs{TRY(IntsOf(op, "slice_sizes"))});
}

Status BuildPad(Lowering& to, const Operation& op) {
  const std::vector<int64_t> low = TRY(IntsOf(op, "edge_padding_low"));
  const std::vector<int64_t> high = TRY(IntsOf(op, "edge_padding_high"));
  const std::vector<int64_t> interior = TRY(IntsOf(op, "interior_padding"));
  TRY(ExpectSize(op, "edge_padding_high", high, static_cast<int64_t>(low.size())));
  TRY(ExpectSize(op, "interior_padding", interior, static_cast<int64_t>(low.size())));
  PadAttrs attrs;
  for (size_t i = 0; i < low.size(); ++i) attrs.padding.dims.push_back({low[i], high[i], interior[i]});
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildGather(Lowering& to, const Operation& op) {
  const Attribute& numbers = *TRY(Need(op, "dimension_numbers"));
  GatherAttrs attrs;
  attrs.offset_dims = TRY(IntsOfField(numbers, "offset_dims"));
  attrs.collapsed_slice_dims = TRY(IntsOfField(numbers, "collapsed_slice_dims"));
  attrs.start_index_map = TRY(IntsOfField(numbers, "start_index_map"));
  attrs.operand_batching_dims = TRY(IntsOfField(numbers, "operand_batching_dims"));
  attrs.start_indices_batching_dims = TRY(IntsOfField(numbers, "start_indices_batching_dims"));
  attrs.index_vector_dim = TRY(IntOfField(numbers, "index_vector_dim", 0));
  attrs.slice_sizes = TRY(IntsOf(op, "slice_sizes"));
  attrs.indices_are_sorted = TRY(BoolOf(op, "indices_are_sorted", false));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

// The shape, the third operand, is the shape of the result.
Status BuildRng(Lowering& to, const Operation& op) {
  TRY(ExpectOperands(op, 2));
  RngAttrs attrs{TRY(EnumIn<RandomDistribution>(*TRY(Need(op, "rng_distribution")), "rng_"))};
  return to.Build(op, {&to.Operand(op, 0), &to.Operand(op, 1)}, attrs);
}

Status BuildRngBitGenerator(Lowering& to, const Operation& op) {
  RngBitGeneratorAttrs attrs{TRY(EnumIn<RandomAlgorithm>(*TRY(Need(op, "rng_algorithm")), "rng_"))};
  return to.Build(op, to.AllOperands(op), attrs);
}

Status BuildTopK(Lowering& to, const Operation& op) {
  return to.Build(op, to.AllOperands(op), TopKAttrs{.k = TRY(IntOf(op, "k"))});
}

// Several operands form a tuple.
Status BuildBarrier(Lowering& to, const Operation& op) {
  if (op.operands.empty()) return {};
  Instruction& operand = to.Together(op, to.AllOperands(op));
  return to.SetResults(op, to.Add(op, Opcode::kOptimizationBarrier, operand.shape(), {&operand}));
}

}  // namespace hlo::mlir
