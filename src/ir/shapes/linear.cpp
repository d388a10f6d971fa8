// Shape rules of linear algebra, transforms, normalisation and random numbers.
#include "base/text.h"
#include "ir/shapes/shape_checks.h"

namespace hlo {
namespace {

bool IsFloatOrComplex(PrimitiveType type) { return IsFloat(type) || IsComplex(type); }

// Expects floats, then `vectors` operands with one element per feature. Returns their shape. Errors: V123, V124.
Result<Shape> CheckBatchNorm(const Instruction& inst, int64_t vectors) {
  TRY(CheckArrays(inst));
  const Shape& x = inst.operand(0).shape();
  const int64_t feature = inst.attrs<BatchNormAttrs>().feature_index;
  if (!IsFloat(x.type()) || x.rank() == 0)
    FAIL(ErrorAtOperand(inst, 0, "V123", Str("operand is ", x, ", expected floats of rank 1 or more")));
  if (feature < 0 || feature >= x.rank())
    FAIL(ErrorAtAttribute(inst, "feature_index", "V123",
                          Str("feature_index is ", feature, ", but ", NoDimension(x, feature))));
  Shape per_feature(x.type(), {x.dim(feature)});
  for (int64_t i = 1; i <= vectors; ++i) {
    const Shape& vector = inst.operand(i).shape();
    if (SameSizes(vector.dims(), per_feature.dims()) && SameOrBothFloat(vector.type(), x.type())) continue;
    FAIL(ErrorAtOperand(inst, i, "V124", Str("operand ", i, " is ", vector, ", expected ", per_feature)));
  }
  return per_feature;
}

}  // namespace

Result<Shape> ShapeOfBatchNormTraining(const Instruction& inst) {
  const Shape per_feature = TRY(CheckBatchNorm(inst, 2));
  return Shape::Tuple({inst.operand(0).shape(), per_feature, per_feature});
}

Result<Shape> ShapeOfBatchNormInference(const Instruction& inst) {
  TRY(CheckBatchNorm(inst, 2));
  return inst.operand(0).shape();
}

Result<Shape> ShapeOfBatchNormGrad(const Instruction& inst) {
  const Shape per_feature = TRY(CheckBatchNorm(inst, 3));
  const Shape& x = inst.operand(0).shape();
  const Shape& gradient = inst.operand(4).shape();
  if (!IsFloat(gradient.type()) || !SameSizes(gradient.dims(), x.dims())) {
    FAIL(ErrorAtOperand(
        inst, 4, "V125",
        Str("output gradient is ", gradient, ", expected floats with the dimensions of the operand ", x)));
  }
  return Shape::Tuple({x, per_feature, per_feature});
}

Result<Shape> ShapeOfCholesky(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const Shape& a = inst.operand(0).shape();
  const bool square = a.rank() >= 2 && SameSize(a.dim(a.rank() - 1), a.dim(a.rank() - 2));
  if (!IsFloatOrComplex(a.type()) || !square)
    FAIL(ErrorAtOperand(inst, 0, "V122", Str("operand is ", a, ", expected square float or complex matrices")));
  return a;
}

Result<Shape> ShapeOfTriangularSolve(const Instruction& inst) {
  TRY(CheckArrays(inst));
  const Shape& a = inst.operand(0).shape();
  const Shape& b = inst.operand(1).shape();
  const TriangularSolveAttrs& attrs = inst.attrs<TriangularSolveAttrs>();
  if (!IsFloatOrComplex(a.type()) || a.type() != b.type()) {
    FAIL(ErrorAtOperand(inst, 1, "V120", Str("operands are ", a, " and ", b, ", expected one float or complex type")));
  }
  if (attrs.transpose_a == TransposeKind::kInvalid)
    FAIL(ErrorAtOpcode(inst, "V121", "'triangular-solve' needs transpose_a"));
  const int64_t rank = a.rank();
  bool fits = rank >= 2 && b.rank() == rank && SameSize(a.dim(rank - 1), a.dim(rank - 2)) &&
              SameSize(a.dim(rank - 1), b.dim(attrs.left_side ? rank - 2 : rank - 1));
  for (int64_t i = 0; fits && i < rank - 2; ++i) fits = SameSize(a.dim(i), b.dim(i));
  if (!fits)
    FAIL(ErrorAtOperand(
        inst, 1, "V121",
        Str("a is ", a, " and b is ", b, ", expected square matrices a, and b with their batch dims and as many ",
            attrs.left_side ? "rows" : "columns")));
  return b;
}

Result<Shape> ShapeOfFft(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const FftAttrs& a = inst.attrs<FftAttrs>();
  Shape shape = inst.operand(0).shape();
  const auto lengths = static_cast<int64_t>(a.fft_length.size());
  const int64_t rank = shape.rank();
  if (lengths < 1 || lengths > 3 || rank < lengths)
    FAIL(ErrorAtAttribute(inst, "fft_length", "V112",
                          Str("fft_length has ", lengths, lengths == 1 ? " entry for " : " entries for ", shape,
                              ", expected 1 to 3 entries, and at most one for each dimension")));
  const bool real = a.fft_type == FftType::kRfft;
  const bool double_precision = shape.type() == PrimitiveType::kF64 || shape.type() == PrimitiveType::kC128;
  if (real ? shape.type() != PrimitiveType::kF32 && shape.type() != PrimitiveType::kF64 : !IsComplex(shape.type())) {
    FAIL(ErrorAtOperand(
        inst, 0, "V113",
        Str("operand of ", a.fft_type, " is ", shape, ", expected ", real ? "f32 or f64" : "a complex type")));
  }
  if (a.fft_type == FftType::kFft || a.fft_type == FftType::kIfft) return shape;
  for (int64_t i = 0; i < lengths; ++i) {
    const int64_t length = a.fft_length[i];
    const bool last = i + 1 == lengths;
    const int64_t expected = !real && last ? length / 2 + 1 : length;
    const int64_t dim = shape.dim(rank - lengths + i);
    if (!SameSize(dim, expected))
      FAIL(
          ErrorAtAttribute(inst, "fft_length", "V114",
                           Str("dim ", rank - lengths + i, " of ", shape, " has size ", dim, ", expected ", expected)));
  }
  shape.SetDim(rank - 1, real ? a.fft_length.back() / 2 + 1 : a.fft_length.back());
  if (real) return shape.WithType(double_precision ? PrimitiveType::kC128 : PrimitiveType::kC64);
  return shape.WithType(double_precision ? PrimitiveType::kF64 : PrimitiveType::kF32);
}

Result<Shape> ShapeOfRng(const Instruction& inst) {
  TRY(CheckArrays(inst));
  const Shape& a = inst.operand(0).shape();
  const Shape& b = inst.operand(1).shape();
  if (a.rank() != 0 || b.rank() != 0 || !SameOrBothFloat(a.type(), b.type())) {
    FAIL(ErrorAtOperand(inst, a.rank() != 0 ? 0 : 1, "V126",
                        Str("operands are ", a, " and ", b, ", expected two scalars of one type")));
  }
  if (!inst.shape().IsArray() || !SameOrBothFloat(inst.shape().type(), a.type()))
    FAIL(ErrorAtResult(inst, "V127", Str("result is ", inst.shape(), ", but the operands are ", a.type())));
  if (IsComplex(a.type()) ||
      (inst.attrs<RngAttrs>().distribution == RandomDistribution::kNormal && !IsFloat(a.type()))) {
    FAIL(ErrorAtAttribute(
        inst, "distribution", "V128",
        Str(inst.attrs<RngAttrs>().distribution, " draws ", a.type(), ", expected floats",
            inst.attrs<RngAttrs>().distribution == RandomDistribution::kNormal ? "" : ", integers or pred")));
  }
  return inst.shape();
}

Result<Shape> ShapeOfRngBitGenerator(const Instruction& inst) {
  const Shape& shape = inst.shape();
  const bool fits =
      !shape.IsTuple() || (shape.elements().size() == 2 && Compatible(shape.element(0), inst.operand(0).shape()));
  if (!fits)
    FAIL(ErrorAtResult(inst, "V129", Str("result is ", shape, ", expected (", inst.operand(0).shape(), ", bits)")));
  return shape;
}

Result<Shape> ShapeOfRngState(const Instruction& inst) {
  const Shape expected(PrimitiveType::kU64, {2});
  if (!Compatible(inst.shape(), expected))
    FAIL(ErrorAtResult(inst, "V130", Str("result is ", inst.shape(), ", expected ", expected)));
  return inst.shape();
}

Result<Shape> ShapeOfReducePrecision(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const ReducePrecisionAttrs& a = inst.attrs<ReducePrecisionAttrs>();
  const Shape& shape = inst.operand(0).shape();
  if (!IsFloat(shape.type()))
    FAIL(ErrorAtOperand(inst, 0, "V048", Str("operand is ", shape, ", expected a float type")));
  if (a.exponent_bits < 1 || a.mantissa_bits < 0) {
    FAIL(ErrorAtAttribute(inst, a.exponent_bits < 1 ? "exponent_bits" : "mantissa_bits", "V048",
                          Str("exponent_bits is ", a.exponent_bits, " and mantissa_bits is ", a.mantissa_bits,
                              ", expected at least 1 and at least 0")));
  }
  return shape;
}

Result<Shape> ShapeOfStochasticConvert(const Instruction& inst) {
  TRY(CheckArrays(inst));
  const Shape& x = inst.operand(0).shape();
  const Shape& random = inst.operand(1).shape();
  const bool fits = IsFloat(x.type()) && IsUnsigned(random.type()) && BitWidth(x.type()) == BitWidth(random.type()) &&
                    SameSizes(x.dims(), random.dims());
  if (!fits)
    FAIL(ErrorAtOperand(inst, 1, "V047",
                        Str("operands are ", x, " and ", random,
                            ", expected floats and unsigned integers of the same width and dims")));
  if (!inst.shape().IsArray())
    FAIL(ErrorAtResult(inst, "V047", Str("result is ", inst.shape(), ", expected an array")));
  return x.WithType(inst.shape().type());
}

Result<Shape> ShapeOfProcessId(const Instruction& inst) {
  const bool written = inst.shape() != Shape();
  return written ? inst.shape() : Shape::Scalar(PrimitiveType::kU32);
}

}  // namespace hlo
