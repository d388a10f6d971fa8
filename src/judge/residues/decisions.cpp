#include "judge/residues/decisions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace hlo::residue {
namespace {

// Whether roundings might change how a and b compare. Sets the values that are compared.
bool IsOpenDecision(Context& context, const Number& a, const Number& b, double* of_a, double* of_b) {
  const Decider x = context.DeciderOf(a), y = context.DeciderOf(b);
  const bool same = a.residue() == b.residue() && MayBeEqual(x, y);
  *of_a = x.value;
  *of_b = same ? x.value : y.value;
  return a.open() || b.open() || (!same && AreClose(x, y));
}

Result<Value> ComparedComplex(Context& context, const Instruction& inst, Operands operands, const Shape& shape) {
  const bool equal = inst.attrs<CompareAttrs>().direction == ComparisonDirection::kEq;
  Literal result(shape), open(shape);
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    bool same = true, is_open = false;
    for (int part = 0; part < 2; ++part) {
      const Number &x = operands[0]->parts[part].numbers()[i], &y = operands[1]->parts[part].numbers()[i];
      double a, b;
      is_open |= IsOpenDecision(context, x, y, &a, &b);
      same &= a == b;
    }
    result.mutable_data<bool>()[i] = same == equal;
    open.mutable_data<bool>()[i] = is_open;
  }
  return OfExact(std::move(result), std::move(open));
}

}  // namespace

Result<Value> Compared(Context& context, const Instruction& inst, Operands operands, const Shape& shape) {
  if (!operands[0]->parts.empty()) return ComparedComplex(context, inst, operands, shape);
  Literal a = Literal::Uninitialized(shape.WithType(PrimitiveType::kF64)), b = a;
  Literal open(shape.WithType(PrimitiveType::kPred));
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    const Number &x = operands[0]->numbers()[i], &y = operands[1]->numbers()[i];
    open.mutable_data<bool>()[i] =
        IsOpenDecision(context, x, y, &a.mutable_data<double>()[i], &b.mutable_data<double>()[i]);
  }
  return OfExact(TRY(EvaluateAs(inst, std::vector{a, b}, shape)), std::move(open));
}

Value Chosen(Context& context, const Shape& shape, const Value& a, const Value& b, bool larger) {
  Value result = NewNumbers(shape);
  const std::span<Number> out = MutableNumbers(result);
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    const Number &x = a.numbers()[i], &y = b.numbers()[i];
    double of_x, of_y;
    const bool open = IsOpenDecision(context, x, y, &of_x, &of_y);
    out[i] = std::isnan(of_x) || (!std::isnan(of_y) && (larger ? of_x >= of_y : of_x <= of_y)) ? x : y;
    if (open && x.residue() != y.residue()) out[i].bits |= Number::kOpen;
  }
  return result;
}

Value BySign(Context& context, const Instruction& inst, const Shape& shape, const Value& operand) {
  Value result = NewNumbers(shape);
  const std::span<Number> out = MutableNumbers(result);
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    const Number& x = operand.numbers()[i];
    const Decider decider = context.DeciderOf(x);
    const double v = decider.value;
    const bool open = x.open() || (!decider.IsExact() && std::fabs(v) <= decider.error);
    if (std::isnan(v)) out[i] = x;
    else if (inst.Is(Opcode::kSign)) out[i] = Number::Exactly(v > 0 ? 1 : v < 0 ? -1 : 0);
    else if (std::isinf(v)) out[i] = Number::Exactly(std::fabs(v));
    else out[i] = Number::Near(std::fabs(v), decider.error, v < 0 ? Negative(x.residue()) : x.residue(), open);
    if (open) out[i].bits |= Number::kOpen;
  }
  return result;
}

Result<Value> Stepped(Context& context, const Instruction& inst, const Shape& of, const Value& x) {
  Literal values = Literal::Uninitialized(x.shape.WithType(PrimitiveType::kF64)), below = values, above = values;
  for (int64_t i = 0; i < of.NumElements(); ++i) {
    const Decider v = context.DeciderOf(x.numbers()[i]);
    const double reach = v.Reach();
    values.mutable_data<double>()[i] = v.value;
    below.mutable_data<double>()[i] = v.value - reach;
    above.mutable_data<double>()[i] = v.value + reach;
  }
  const bool to_float = IsFloat(of.type());
  const Shape shape = to_float ? of.WithType(PrimitiveType::kF64) : of;
  const Literal result = TRY(EvaluateAs(inst, std::vector{values}, shape));
  const std::array<Literal, 2> others = {TRY(EvaluateAs(inst, std::vector{below}, shape)),
                                         TRY(EvaluateAs(inst, std::vector{above}, shape))};
  Literal open(of.WithType(PrimitiveType::kPred));
  const int64_t width = ByteWidth(shape.type());
  for (int64_t i = 0; i < of.NumElements(); ++i) {
    const auto differs = [&](const Literal& other) {
      const bool nan = to_float && std::isnan(result.data<double>()[i]) && std::isnan(other.data<double>()[i]);
      return !nan && std::memcmp(result.raw() + i * width, other.raw() + i * width, width) != 0;
    };
    open.mutable_data<bool>()[i] = x.numbers()[i].open() || std::ranges::any_of(others, differs);
  }
  if (!to_float) return OfExact(result, std::move(open));
  Value numbers = NewNumbers(of);
  for (int64_t i = 0; i < of.NumElements(); ++i) {
    Number& number = MutableNumbers(numbers)[i];
    number = Number::Exactly(result.data<double>()[i]);
    if (open.data<bool>()[i]) number.bits |= Number::kOpen;
  }
  return numbers;
}

Value Remainder(Context& context, const Shape& shape, const Value& a, const Value& b) {
  Value result = NewNumbers(shape);
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    const Number &x = a.numbers()[i], &y = b.numbers()[i];
    const Decider v = context.DeciderOf(x), w = context.DeciderOf(y);
    const double rest = std::fmod(v.value, w.value), times = std::rint((v.value - rest) / w.value);
    const bool open = x.open() || y.open();
    Number& out = MutableNumbers(result)[i];
    const double error = v.error + (w.IsExact() ? 0 : std::fabs(times) * w.error);
    if ((v.IsExact() && w.IsExact()) || !std::isfinite(rest)) {
      // Another dividend or divisor within the error might have a finite remainder.
      out = Number::Exactly(rest).Opened(open || error > 0);
      continue;
    }
    const double from_tie = std::min(std::fabs(rest), std::fabs(w.value) - std::fabs(rest));
    const double reach = error + kTie * std::max(std::fabs(v.value), std::fabs(w.value));
    const bool near = !(from_tie > reach) || std::fabs(times) > 0x1p53;
    const uint64_t n = OfInteger(static_cast<int64_t>(std::clamp(times, -0x1p53, 0x1p53)));
    out = Number::Near(rest, error, Difference(x.residue(), Product(n, y.residue())), open || near);
  }
  return result;
}

}  // namespace hlo::residue
