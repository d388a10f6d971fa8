// Complex numbers as real and imaginary parts with separate bounds. A complex operation is a computation on the parts
// and has its bounds (docs/comparison.md#sums). Where a formula overflows, divides by 0 or is on a branch cut, the
// interpreter computes the element, so that two compared modules have equal values. It also computes other functions
// and decompositions.
//
// A computed complex array has the two parts as `elements`. A complex literal has no parts and is exact.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <optional>

#include "ir/analysis/movement.h"
#include "ir/markers.h"
#include "judge/bounds/complex_parts.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {
namespace {

bool IsStructural(const Instruction& inst) {
  if (inst.Is(Opcode::kCopy)) return inst.shape().type() == inst.operand(0).shape().type();
  if (inst.Is(Opcode::kCustomCall)) return IsIdentityMarker(inst);
  return inst.Is(kHandsOn) || inst.Is(kControl) || inst.Is(Opcode::kFusion) || inst.Is(Opcode::kMap) ||
         inst.Is(Opcode::kConstant) || inst.Is(Opcode::kParameter);
}

bool IsOfTuples(const Instruction& inst) {
  return !inst.shape().IsArray() ||
         std::ranges::any_of(inst.operands(), [](const Instruction* operand) { return !operand->shape().IsArray(); });
}

// A branch cut, where the sign of a zero decides: the points of an axis up to `below` or from `above`.
struct Cut {
  Opcode opcode;
  double below, above;
  bool is_imaginary = false;
};
constexpr Cut kCuts[] = {
    {Opcode::kLog, 0, kInfinity},   {Opcode::kLog2, 0, kInfinity},  {Opcode::kLog1p, -1, kInfinity},
    {Opcode::kSqrt, 0, kInfinity},  {Opcode::kRsqrt, 0, kInfinity}, {Opcode::kPower, 0, kInfinity},
    {Opcode::kAsin, -1, 1},         {Opcode::kAcos, -1, 1},         {Opcode::kAsinh, -1, 1, true},
    {Opcode::kAcosh, 1, kInfinity}, {Opcode::kAtanh, -1, 1},
};

std::span<ShadowValue> PartsOf(ShadowValue& value) {
  return value.elements.empty() ? std::span(&value, 1) : std::span(value.elements);
}
std::span<const ShadowValue> PartsOf(const ShadowValue& value) {
  return value.elements.empty() ? std::span(&value, 1) : std::span(value.elements);
}

Mask OfInfinite(const Instruction& inst, Operands operands) {
  Mask infinite(inst.shape().NumElements());
  for (const ShadowValue* operand : operands) {
    const ShadowValue split = SplitComplex(*operand);
    const bool is_scalar = split.shape.NumElements() == 1;
    for (const ShadowValue& part : PartsOf(split)) {
      for (size_t i = 0; i < infinite.size(); ++i) infinite[i] |= !std::isfinite(Values(part.value)[is_scalar ? 0 : i]);
    }
  }
  return infinite;
}

// Elements for which the formula does not hold: an operand or the result has an infinite or NaN part, a bound is
// infinite, or the operand is on a branch cut.
Mask OffFormula(const Instruction& inst, Operands operands, const ShadowValue& value) {
  Mask off = OfInfinite(inst, operands);
  for (const ShadowValue& part : PartsOf(value)) {
    const double* bound = BoundsOrNull(part.bound);
    for (size_t i = 0; i < off.size(); ++i)
      off[i] |= !std::isfinite(Values(part.value)[i]) || (bound != nullptr && !std::isfinite(bound[i]));
  }
  const auto cut = std::ranges::find(kCuts, inst.opcode(), &Cut::opcode);
  if (cut == std::end(kCuts)) return off;
  const ShadowValue base = SplitComplex(*operands[0]);
  const ShadowValue &along = base.elements[cut->is_imaginary], &across = base.elements[!cut->is_imaginary];
  const double* across_bound = BoundsOrNull(across.bound);
  const bool is_scalar = base.shape.NumElements() == 1;
  for (size_t i = 0; i < off.size(); ++i) {
    const size_t at = is_scalar ? 0 : i;
    const double x = Values(along.value)[at], most = across_bound == nullptr ? 0 : across_bound[at];
    off[i] |= std::fabs(Values(across.value)[at]) <= most && (x <= cut->below || x >= cut->above);
  }
  return off;
}

void Take(const Mask& which, const ShadowValue& from, ShadowValue& value) {
  for (size_t i = 0; i < value.elements.size(); ++i) Take(which, from.elements[i], value.elements[i]);
  if (!value.elements.empty()) return;
  if (!value.HasBound()) value.bound = Zeros(value.shape);
  value.likely = Literal();
  auto values = value.value.mutable_data<double>(), bounds = value.bound.mutable_data<double>();
  const double* bound = BoundsOrNull(from.bound);
  for (size_t i = 0; i < which.size(); ++i) {
    if (!which[i]) continue;
    values[i] = Values(from.value)[i];
    bounds[i] = bound == nullptr ? 0 : bound[i];
  }
}

// Error of a kernel's formula in f64: some tens of roundings of the result, and a multiple of the interval's error,
// which grows with the amplification of the function.
constexpr double kOwnFormula = 0x1p-46, kOfEnclosure = 8;

// Eight roundings of an exponent: of a logarithm, an angle, two products and their sum, with a function off by an ulp.
// The absolute error of the exponent is a relative error of the power.
constexpr double kOfExponent = 0x1p-50;

// `exact` is the interval for operands without bounds.
void RoundFunction(const ShadowValue& exact, bool ftz, ShadowValue& value) {
  std::vector<double> formula(value.shape.NumElements());
  for (const ShadowValue& part : PartsOf(exact)) {
    const double* bound = BoundsOrNull(part.bound);
    for (size_t i = 0; i < formula.size(); ++i)
      formula[i] += kOwnFormula * std::fabs(Values(part.value)[i]) + (bound == nullptr ? 0 : kOfEnclosure * bound[i]);
  }
  for (ShadowValue& part : PartsOf(value)) {
    const Rounding rounding = RoundingTo(part.shape.type(), ftz);
    if (!part.HasBound()) part.bound = Zeros(part.shape);
    part.likely = Literal();
    part.held = part.shape.type();
    auto bound = part.bound.mutable_data<double>();
    for (size_t i = 0; i < formula.size(); ++i) {
      const double before = bound[i] + formula[i], size = (std::fabs(Values(part.value)[i]) + before) * kUp;
      bound[i] = size >= rounding.overflow ? kUndetermined : (before + HalfUlp(rounding, size)) * kUp;
    }
  }
}

// For a power, at least |y log x|, the size of the exponent if the power is computed as exp(y log x). 0 for other
// functions.
std::vector<double> SizesOfExponents(const Instruction& inst, Operands operands) {
  std::vector<double> sizes(inst.shape().NumElements(), 0);
  if (!inst.Is(Opcode::kPower)) return sizes;
  const ShadowValue base = SplitComplex(*operands[0]), exponent = SplitComplex(*operands[1]);
  const auto number = [](const ShadowValue& z, size_t i) {
    const size_t at = z.shape.NumElements() == 1 ? 0 : i;
    return std::complex(Values(z.elements[0].value)[at], Values(z.elements[1].value)[at]);
  };
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double log = std::fabs(std::log(std::abs(number(base, i)))) + std::numbers::pi;
    if (std::isfinite(log)) sizes[i] = std::abs(number(exponent, i)) * log;
  }
  return sizes;
}

// The interpreter's value for exact operands whose formula gives no interval, rounded once from f64 like a kernel's.
// Infinite and NaN results are undetermined. So are powers and angles of such operands, except for powers that are 0:
// of these, only the signs of the zeros are.
Result<ShadowValue> Judged(Context& context, const Instruction& inst, Operands operands) {
  ShadowValue value = SplitComplex(TRY(ThroughInterpreter(context, inst, operands)));
  const bool is_free = inst.Is(Opcode::kPower) || inst.Is(Opcode::kAtan2);
  const Mask open = is_free ? OfInfinite(inst, operands) : Mask(inst.shape().NumElements());
  const std::vector<double> exponent = SizesOfExponents(inst, operands);
  std::vector<double> size(value.shape.NumElements());
  for (const ShadowValue& part : PartsOf(value)) {
    for (size_t i = 0; i < size.size(); ++i) size[i] += std::fabs(Values(part.value)[i]);
  }
  for (ShadowValue& part : PartsOf(value)) {
    const Rounding rounding = RoundingTo(part.shape.type(), context.ftz());
    part.bound = Zeros(part.shape);
    auto bound = part.bound.mutable_data<double>();
    for (size_t i = 0; i < size.size(); ++i) {
      bound[i] = (2 * HalfUlp(rounding, std::fabs(Values(part.value)[i])) +
                  (kOwnFormula + kOfExponent * exponent[i]) * size[i]) *
                 kUp;
      if (open[i] || !std::isfinite(size[i])) bound[i] = kUndetermined;
    }
  }
  return value;
}

}  // namespace

ShadowValue SplitComplex(const ShadowValue& x) {
  if (!IsComplexArray(x.shape) || !x.elements.empty()) return x;
  ShadowValue split;
  split.shape = x.shape;
  const int64_t count = x.shape.NumElements();
  const int64_t width = ByteWidth(x.shape.type()) / 2;
  for (const int64_t part : {0, 1}) {
    Literal literal(x.shape.WithType(PartOf(x.shape.type())));
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(literal.mutable_raw() + i * width, x.exact.raw() + (2 * i + part) * width, width);
    ShadowValue& value = split.elements.emplace_back(ToShadow(literal));
    if (!AnyOpen(x)) continue;
    value.bound = Zeros(value.shape);
    auto bound = value.bound.mutable_data<double>();
    const auto open = x.open.data<uint8_t>();
    for (size_t i = 0; i < bound.size(); ++i) {
      if (open[i] != 0) bound[i] = (open[i] & kLost) != 0 ? kUndetermined : kUndeterminedButComputed;
    }
  }
  return split;
}

Literal Interleaved(const Literal& real, const Literal& imaginary, const Shape& shape) {
  Literal whole = Literal::Uninitialized(shape);
  const int64_t width = ByteWidth(real.shape().type());
  std::byte* to = whole.mutable_raw();
  for (int64_t i = 0; i < real.shape().NumElements(); ++i) {
    std::memcpy(to + 2 * i * width, real.raw() + i * width, width);
    std::memcpy(to + (2 * i + 1) * width, imaginary.raw() + i * width, width);
  }
  return whole;
}

bool IsOfComplex(const Instruction& inst) {
  if (IsStructural(inst)) return false;
  bool complex = false;
  const auto look = [&](const ShapeIndex&, const Shape& leaf) { complex = complex || IsComplex(leaf.type()); };
  ForEachLeaf(inst.shape(), look);
  for (const Instruction* operand : inst.operands()) ForEachLeaf(operand->shape(), look);
  return complex;
}

bool HasComplexRule(const Instruction& inst) {
  if (inst.Is(kMoves) || inst.Is(kNoKernel) || inst.Is(Opcode::kIota) || IsMovement(inst)) return true;
  if (HasMatrixRule(inst)) return true;
  return !IsOfTuples(inst) && PartsOfInstruction(inst).HasRule();
}

Result<ShadowValue> OfComplex(Context& context, const Instruction& inst, Operands operands) {
  if (IsOfTuples(inst)) return Interpreted(context, inst, operands);
  const PartsOfInstruction on_parts(inst);
  if (on_parts.HasRule() && !on_parts.is_function) return on_parts.Evaluate(context, true, operands);
  if (!on_parts.HasRule()) return Interpreted(context, inst, operands);
  ShadowValue value = TRY(on_parts.Evaluate(context, true, operands));
  const Mask off = OffFormula(inst, operands, value);
  if (std::ranges::find(off, 1) != off.end()) Take(off, SplitComplex(TRY(Interpreted(context, inst, operands))), value);
  return value;
}

Result<std::optional<ShadowValue>> OfComplexAsDeclared(Context& context, const Instruction& inst, Operands operands,
                                                       const WantedResults* wanted) {
  const bool computed =
      std::ranges::any_of(operands, [](const ShadowValue* operand) { return !operand->elements.empty(); });
  if (HasMatrixRule(inst)) return TRY(OfMatrices(context, inst, operands));
  // Nullopt: the interpreter moves exact values.
  if (!computed && (IsMovement(inst) || inst.Is(Opcode::kIota))) return std::optional<ShadowValue>();
  const auto unsupported = [&] {
    return UnsupportedAt(inst, "U041", Str("no error bounds for complex '", inst.opcode(), "'"));
  };
  if (IsOfTuples(inst)) {
    if (computed) FAIL(unsupported());
    return std::optional<ShadowValue>();
  }
  const PartsOfInstruction on_parts(inst);
  if (!on_parts.HasRule()) FAIL(unsupported());
  if (!on_parts.is_function) return TRY(on_parts.Evaluate(context, false, operands, wanted));
  ShadowValue value = TRY(on_parts.Evaluate(context, true, operands));
  std::vector<ShadowValue> exact;
  std::vector<const ShadowValue*> pointers;
  for (const ShadowValue* operand : operands) exact.push_back(DropBounds(*operand));
  for (const ShadowValue& operand : exact) pointers.push_back(&operand);
  const Mask off = OffFormula(inst, operands, value);
  RoundFunction(TRY(on_parts.Evaluate(context, true, pointers)), context.ftz(), value);
  if (std::ranges::find(off, 1) == off.end()) return value;
  Take(off, AllExact(operands) ? TRY(Judged(context, inst, operands)) : SplitComplex(Undetermined(value.shape)), value);
  return value;
}

}  // namespace hlo::shadow
