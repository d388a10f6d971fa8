#include "judge/compare/made_constants.h"

#include <cmath>

#include "ir/module.h"
#include "judge/bounds/rules.h"

namespace hlo {
namespace {

// The hash of a splat ignores its size.
uint64_t HashOfConstant(const Literal& literal) {
  if (literal.IsSplat()) return Literal::Scalar(literal.shape().type(), literal.GetDouble(0)).Hash();
  return literal.Hash();
}

// The bound is four half steps, because the pass may have used a few operations. For a complex number it is relative to
// the modulus, because parts may cancel.
ShadowValue Rounded(const Literal& constant) {
  constexpr int kHalfSteps = 4;
  ShadowValue value = ToShadow(constant);
  const auto set_bound = [](ShadowValue& part, auto&& size_of) {
    const shadow::Rounding rounding = shadow::RoundingTo(part.shape.type(), false);
    part.bound = shadow::Zeros(part.shape);
    auto bounds = part.bound.mutable_data<double>();
    for (size_t i = 0; i < bounds.size(); ++i) {
      const double size = size_of(i);
      bounds[i] = std::isfinite(size) ? kHalfSteps * shadow::HalfUlp(rounding, size) : 0;
    }
  };
  if (IsComplex(constant.shape().type())) {
    value = shadow::SplitComplex(value);
    const Literal real = value.elements[0].value, imaginary = value.elements[1].value;
    const auto modulus = [&](size_t i) { return std::hypot(shadow::Values(real)[i], shadow::Values(imaginary)[i]); };
    for (ShadowValue& part : value.elements) set_bound(part, modulus);
    return value;
  }
  if (!value.IsFloat()) return value;
  set_bound(value, [&](size_t i) { return std::fabs(shadow::Values(value.value)[i]); });
  return value;
}

}  // namespace

MadeConstants::MadeConstants(const Module& before) { AddBefore(before); }

void MadeConstants::AddBefore(const Module& module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kConstant) && inst->shape().IsArray()) before_.insert(HashOfConstant(inst->literal()));
    }
  }
}

std::optional<ShadowValue> MadeConstants::Of(const Instruction& after) const {
  if (!after.Is(Opcode::kConstant) || !after.shape().IsArray()) return std::nullopt;
  if (before_.contains(HashOfConstant(after.literal()))) return std::nullopt;
  return Rounded(after.literal());
}

}  // namespace hlo
