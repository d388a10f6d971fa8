// Shape rules of elementwise ops. Classes of types: docs/ops.md#type-classes.
#include <algorithm>

#include "base/text.h"
#include "ir/component_type.h"
#include "ir/shapes/shape_checks.h"

namespace hlo {
namespace {

// `code` is one of V033 to V038.
template <class Allowed>
Status CheckType(const Instruction& inst, int64_t i, const char* code, Allowed allowed, const char* expected) {
  TRY(CheckArray(inst, i));
  const Shape& shape = inst.operand(i).shape();
  if (allowed(shape.type())) return {};
  FAIL(ErrorAtOperand(inst, i, code, Str("operand of '", inst.opcode(), "' is ", shape, ", expected ", expected)));
}

bool IsFloatOrComplex(PrimitiveType type) { return IsFloat(type) || IsComplex(type); }

// Errors: V030, V032. As in XLA, scalars and sizes of 1 are broadcast here and rejected later (V031).
Result<Shape> BinaryShape(const Instruction& inst) {
  TRY(CheckArrays(inst));
  const Shape& lhs = inst.operand(0).shape();
  const Shape& rhs = inst.operand(1).shape();
  if (!SameOrBothFloat(lhs.type(), rhs.type())) {
    FAIL(ErrorAtOperand(inst, 1, "V032",
                        Str("operands of '", inst.opcode(), "' differ in element type: ", lhs, " and ", rhs)));
  }
  const PrimitiveType type = HigherPrecision(lhs.type(), rhs.type());
  if (lhs.dims() == rhs.dims()) {
    Shape shape = lhs.WithType(type);
    for (int64_t i = 0; i < shape.rank(); ++i) {
      if (rhs.IsDynamic(i)) shape.SetDynamic(i, true);
    }
    return shape;
  }
  if (lhs.rank() == 0) return rhs.WithType(type);
  if (rhs.rank() == 0) return lhs.WithType(type);
  Shape shape = lhs.WithType(type);
  for (int64_t i = 0; i < std::max(lhs.rank(), rhs.rank()); ++i) {
    const bool fits =
        lhs.rank() == rhs.rank() && (SameSize(lhs.dim(i), rhs.dim(i)) || lhs.dim(i) == 1 || rhs.dim(i) == 1);
    if (!fits)
      FAIL(ErrorAtOperand(inst, 1, "V030",
                          Str("operands of '", inst.opcode(), "' differ in shape: ", lhs, " and ", rhs)));
    if (lhs.dim(i) == 1 || lhs.dim(i) == Shape::kUnbounded) shape.SetDim(i, rhs.dim(i));
  }
  return shape;
}

}  // namespace

Result<Shape> ShapeOfFloatUnary(const Instruction& inst) {
  TRY(CheckType(inst, 0, "V033", IsFloat, "a float type"));
  return inst.operand(0).shape();
}

Result<Shape> ShapeOfComplexUnary(const Instruction& inst) {
  TRY(CheckType(inst, 0, "V034", IsFloatOrComplex, "a float or complex type"));
  return inst.operand(0).shape();
}

Result<Shape> ShapeOfAbs(const Instruction& inst) {
  const auto has_sign = [](PrimitiveType type) { return IsSigned(type) || IsFloatOrComplex(type); };
  TRY(CheckType(inst, 0, "V035", has_sign, "a signed integer, float or complex type"));
  const Shape& shape = inst.operand(0).shape();
  return inst.Is(Opcode::kAbs) ? shape.WithType(ComponentType(shape.type())) : shape;
}

Result<Shape> ShapeOfNegate(const Instruction& inst) {
  const auto is_number = [](PrimitiveType type) { return type != PrimitiveType::kPred; };
  TRY(CheckType(inst, 0, "V036", is_number, "an integer, float or complex type"));
  return inst.operand(0).shape();
}

Result<Shape> ShapeOfIntegerUnary(const Instruction& inst) {
  TRY(CheckType(inst, 0, "V037", IsInteger, "an integer type"));
  return inst.operand(0).shape();
}

Result<Shape> ShapeOfBitwise(const Instruction& inst) {
  const auto has_bits = [](PrimitiveType type) { return IsInteger(type) || type == PrimitiveType::kPred; };
  for (int64_t i = 0; i < inst.operand_count(); ++i)
    TRY(CheckType(inst, i, "V037", has_bits, "an integer type or pred"));
  if (inst.operand_count() == 1) return inst.operand(0).shape();
  return BinaryShape(inst);
}

Result<Shape> ShapeOfRealImag(const Instruction& inst) {
  TRY(CheckType(inst, 0, "V034", IsFloatOrComplex, "a float or complex type"));
  const Shape& shape = inst.operand(0).shape();
  return shape.WithType(ComponentType(shape.type()));
}

Result<Shape> ShapeOfIsFinite(const Instruction& inst) {
  TRY(CheckType(inst, 0, "V033", IsFloat, "a float type"));
  return inst.operand(0).shape().WithType(PrimitiveType::kPred);
}

Result<Shape> ShapeOfBinary(const Instruction& inst) { return BinaryShape(inst); }

Result<Shape> ShapeOfArithmetic(const Instruction& inst) {
  const auto is_number = [](PrimitiveType type) { return type != PrimitiveType::kPred; };
  for (int64_t i = 0; i < 2; ++i) TRY(CheckType(inst, i, "V038", is_number, "an integer, float or complex type"));
  return BinaryShape(inst);
}

Result<Shape> ShapeOfAtan2(const Instruction& inst) {
  for (int64_t i = 0; i < 2; ++i) TRY(CheckType(inst, i, "V034", IsFloatOrComplex, "a float or complex type"));
  return BinaryShape(inst);
}

Result<Shape> ShapeOfComplex(const Instruction& inst) {
  TRY(CheckArrays(inst));
  const PrimitiveType type = inst.operand(0).shape().type();
  if ((type != PrimitiveType::kF32 && type != PrimitiveType::kF64) || inst.operand(1).shape().type() != type) {
    FAIL(ErrorAtOperand(inst, type == PrimitiveType::kF32 || type == PrimitiveType::kF64 ? 1 : 0, "V039",
                        Str("operands of 'complex' are ", inst.operand(0).shape(), " and ", inst.operand(1).shape(),
                            ", expected both f32 or both f64")));
  }
  const Shape shape = TRY(BinaryShape(inst));
  return shape.WithType(type == PrimitiveType::kF32 ? PrimitiveType::kC64 : PrimitiveType::kC128);
}

Result<Shape> ShapeOfCompare(const Instruction& inst) {
  const Shape shape = TRY(BinaryShape(inst));
  const ComparisonType type = inst.attrs<CompareAttrs>().type;
  const PrimitiveType element = inst.operand(0).shape().type();
  const bool floats = IsFloat(element) || IsComplex(element);
  const ComparisonType natural = floats              ? ComparisonType::kFloat
                                 : IsSigned(element) ? ComparisonType::kSigned
                                                     : ComparisonType::kUnsigned;
  const bool total = IsFloat(element) && type == ComparisonType::kTotalOrder;
  if (type != ComparisonType::kDefault && type != natural && !total) {
    FAIL(
        ErrorAtAttribute(inst, "type", "V040", Str("type=", type, " does not suit ", element, ", expected ", natural)));
  }
  return shape.WithType(PrimitiveType::kPred);
}

Result<Shape> ShapeOfClamp(const Instruction& inst) {
  TRY(CheckArrays(inst));
  const Shape& x = inst.operand(1).shape();
  for (const int64_t i : {0, 2}) {
    const Shape& bound = inst.operand(i).shape();
    if (!SameOrBothFloat(bound.type(), x.type()) || (bound.rank() != 0 && !SameSizes(bound.dims(), x.dims()))) {
      FAIL(
          ErrorAtOperand(inst, i, "V041",
                         Str(i == 0 ? "minimum" : "maximum", " is ", bound, ", expected ", x, " or ", x.type(), "[]")));
    }
  }
  return x;
}

Result<Shape> ShapeOfSelect(const Instruction& inst) {
  TRY(CheckArrays(inst));
  const Shape& predicate = inst.operand(0).shape();
  const Shape& on_true = inst.operand(1).shape();
  const Shape& on_false = inst.operand(2).shape();
  if (!SameOrBothFloat(on_true.type(), on_false.type()) || !SameSizes(on_true.dims(), on_false.dims())) {
    FAIL(ErrorAtOperand(inst, 2, "V043",
                        Str("operands 1 and 2 of 'select' differ in shape: ", on_true, " and ", on_false)));
  }
  if (predicate.type() != PrimitiveType::kPred ||
      (predicate.rank() != 0 && !SameSizes(predicate.dims(), on_true.dims()))) {
    FAIL(ErrorAtOperand(
        inst, 0, "V042",
        Str("predicate is ", predicate, ", expected pred[] or ", on_true.WithType(PrimitiveType::kPred))));
  }
  return on_true.WithType(HigherPrecision(on_true.type(), on_false.type()));
}

Result<Shape> ShapeOfConvert(const Instruction& inst) {
  const Shape& operand = inst.operand(0).shape();
  if (!operand.IsArray())
    FAIL(ErrorAtOperand(inst, 0, "V044", Str("operand of 'convert' is ", operand, ", expected an array")));
  if (!inst.shape().IsArray())
    FAIL(ErrorAtResult(inst, "V044", Str("result of 'convert' is ", inst.shape(), ", expected an array")));
  return operand.WithType(inst.shape().type());
}

bool TakesPredsForBits(const Shape& from, const Shape& to) {
  const bool joins = from.type() == PrimitiveType::kPred;
  const Shape &preds = joins ? from : to, &other = joins ? to : from;
  if (preds.type() != PrimitiveType::kPred || !(IsInteger(other.type()) || IsFloat(other.type()))) return false;
  std::vector<int64_t> dims = other.dims();
  dims.push_back(BitWidth(other.type()));
  return dims.back() > 1 && std::ranges::equal(preds.dims(), dims);
}

// If the bit widths differ, the last dimension is added or removed: docs/ops.md#bits.
Result<Shape> ShapeOfBitcastConvert(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const Shape& from = inst.operand(0).shape();
  if (!inst.shape().IsArray())
    FAIL(ErrorAtResult(inst, "V046", Str("result of 'bitcast-convert' is ", inst.shape(), ", expected an array")));
  const PrimitiveType to = inst.shape().type();
  if (IsComplex(from.type()) != IsComplex(to)) {
    FAIL(ErrorAtResult(
        inst, "V045",
        Str("bitcast-convert converts ", from.type(), " to ", to, ", expected two complex types or none")));
  }
  const auto width = [](PrimitiveType type) { return type == PrimitiveType::kPred ? 8 : BitWidth(type); };
  const int from_bits = width(from.type());
  const int to_bits = width(to);
  if (TakesPredsForBits(from, inst.shape())) return inst.shape();
  if (from_bits == to_bits) return from.WithType(to);
  if (std::max(from_bits, to_bits) % std::min(from_bits, to_bits) != 0) {
    FAIL(ErrorAtOperand(inst, 0, "V046",
                        Str("neither of the widths of ", from.type(), " and ", to, " is a multiple of the other")));
  }
  std::vector<int64_t> dims = from.dims();
  if (from_bits > to_bits) {
    dims.push_back(from_bits / to_bits);
    return Shape(to, dims);
  }
  const int64_t ratio = to_bits / from_bits;
  if (dims.empty() || dims.back() != ratio) {
    FAIL(ErrorAtOperand(inst, 0, "V046",
                        Str("operand is ", from, ", but its last dimension must be ", ratio, " to become ", to)));
  }
  dims.pop_back();
  return Shape(to, dims);
}

}  // namespace hlo
