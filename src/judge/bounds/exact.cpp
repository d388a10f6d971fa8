// Ops that the interpreter evaluates exactly. Inexact operands make the result undetermined.
#include <algorithm>
#include <string_view>

#include "interp/interpreter.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {
namespace {

uint8_t WorstOf(const Mask& lost) {
  uint8_t worst = 0;
  for (const uint8_t mark : lost) worst |= mark;
  return worst;
}

// `lost` receives kComputed for elements that are not exact or not representable, and kLost for elements without a
// value.
Literal Narrow(const ShadowValue& from, Mask& lost) {
  if (from.shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const ShadowValue& element : from.elements) {
      Mask of_element;
      elements.push_back(Narrow(element, of_element));
      lost.push_back(WorstOf(of_element));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (IsComplex(from.shape.type()) && !from.elements.empty()) {
    Mask of_imaginary;
    const Literal real = Narrow(from.elements[0], lost), imaginary = Narrow(from.elements[1], of_imaginary);
    for (size_t i = 0; i < lost.size(); ++i) lost[i] |= of_imaginary[i];
    return Interleaved(real, imaginary, from.shape);
  }
  if (!from.IsFloat()) {
    lost.assign(from.shape.IsArray() ? from.shape.NumElements() : 0, 0);
    if (from.HasOpen()) std::ranges::copy(from.open.data<uint8_t>(), lost.begin());
    return from.exact;
  }
  Literal narrow(from.shape);
  const int64_t count = from.shape.NumElements();
  lost.assign(count, 0);
  const double* value = Values(from.value);
  const double* bound = BoundsOrNull(from.bound);
  narrow.mutable_raw();
  for (int64_t i = 0; i < count; ++i) {
    SetWideElement(narrow, i, value[i]);
    const double e = bound != nullptr ? bound[i] : 0;
    if (!IsComputed(e)) lost[i] = kLost;
    else if (e != 0 || !SameNumber(narrow.GetDouble(i), value[i])) lost[i] = kComputed;
  }
  return narrow;
}

bool AnyLost(const Mask& lost) {
  return std::ranges::any_of(lost, [](uint8_t mark) { return mark != 0; });
}

void SpreadLoss(ShadowValue& to, const Mask& lost) {
  if (!to.shape.IsArray() || !AnyLost(lost)) return;
  if (!to.IsFloat()) {
    if (!to.HasOpen()) to.open = Literal(to.shape.WithType(PrimitiveType::kPred));
    auto open = to.open.mutable_data<uint8_t>();
    for (size_t i = 0; i < lost.size(); ++i) open[i] |= lost[i];
    return;
  }
  if (!to.HasBound()) to.bound = Zeros(to.shape);
  auto bound = to.bound.mutable_data<double>();
  for (size_t i = 0; i < lost.size(); ++i) {
    if (lost[i] == 0) continue;
    bound[i] = (lost[i] & kLost) == 0 && IsComputed(bound[i]) ? kUndeterminedButComputed : kUndetermined;
  }
}

void MarkUndetermined(ShadowValue& value, uint8_t mark) {
  for (ShadowValue& element : value.elements) MarkUndetermined(element, mark);
  if (value.shape.IsArray()) SpreadLoss(value, Mask(value.shape.NumElements(), mark));
}

// Values that are smaller at run time than declared have no bounds.
Result<Literal> EvaluateWhole(Context& context, const Instruction& inst, std::span<const Literal> operands) {
  Literal value = TRY(Evaluate(inst, operands, {.max_loop_iterations = context.options.max_loop_iterations}));
  if (Compatible(value.shape(), inst.shape())) return value;
  FAIL(UnsupportedAt(
      inst, "U002",
      Str("no error bounds for '", inst.name(), "', a ", inst.shape(), " which is ", value.shape(), " at run time")));
}

// Whether the value counts as exact for exact operands. Passes do not rewrite these instructions, except that
// fft-expander makes products with bounds. Decompositions become loops or library calls that round differently.
bool IsLeftAlone(const Instruction& inst) {
  constexpr std::string_view kDecompositions[] = {"Qr", "ProductOfElementaryHouseholderReflectors", "Eigh"};
  if (std::ranges::any_of(inst.operands(), [](const Instruction* operand) { return operand->shape().IsTuple(); }))
    return false;
  switch (inst.opcode()) {
    case Opcode::kFft:
    case Opcode::kTriangularSolve: return true;
    case Opcode::kCustomCall:
      return std::ranges::find(kDecompositions, inst.attrs<CustomCallAttrs>().target) == std::end(kDecompositions);
    default: return false;
  }
}

}  // namespace

Result<ShadowValue> Interpreted(Context& context, const Instruction& inst, Operands operands) {
  std::vector<Literal> literals;
  uint8_t worst = 0;
  for (const ShadowValue* operand : operands) {
    Mask lost;
    literals.push_back(Narrow(*operand, lost));
    worst |= WorstOf(lost);
  }
  ShadowValue result = ToShadow(TRY(EvaluateWhole(context, inst, literals)));
  result.shape = inst.shape();
  if (!IsLeftAlone(inst) || !AllExact(operands)) MarkUndetermined(result, (worst & kLost) != 0 ? kLost : kComputed);
  return result;
}

Result<ShadowValue> ThroughInterpreter(Context& context, const Instruction& inst, Operands operands) {
  std::vector<Literal> literals;
  std::vector<Mask> lost(operands.size());
  bool any_lost = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    literals.push_back(Narrow(*operands[i], lost[i]));
    any_lost = any_lost || AnyLost(lost[i]);
  }
  const bool one_to_one =
      inst.Is(kElementwise) ||
      (inst.Is(Opcode::kBitcastConvert) && BitWidth(inst.shape().type()) == BitWidth(operands[0]->shape.type()));
  if (any_lost && !one_to_one)
    return context.options.widened ? Interpreted(context, inst, operands) : Undetermined(inst.shape());
  ShadowValue result = ToShadow(TRY(EvaluateWhole(context, inst, literals)));
  result.shape = inst.shape();
  const int64_t count = inst.shape().IsArray() ? inst.shape().NumElements() : 0;
  for (const Mask& mask : lost) {
    if (static_cast<int64_t>(mask.size()) == count) {
      SpreadLoss(result, mask);
    } else if (AnyLost(mask)) {
      SpreadLoss(result, Mask(count, WorstOf(mask)));
    }
  }
  return result;
}

Result<ShadowValue> BitsOf(Context& context, const Instruction& inst, Operands operands) {
  const ShadowValue& x = *operands[0];
  if (!x.IsFloat() || inst.shape().type() == x.shape.type() || KeepsBitsOfNaN(context, inst.operand(0))) {
    return ThroughInterpreter(context, inst, operands);
  }
  ShadowValue marked = x;
  const double* value = Values(x.value);
  for (int64_t i = 0; i < x.shape.NumElements(); ++i) {
    if (!std::isnan(value[i])) continue;
    if (!marked.HasBound()) marked.bound = Zeros(x.shape);
    marked.bound.mutable_data<double>()[i] = kUndetermined;
  }
  const ShadowValue* args[] = {&marked};
  return ThroughInterpreter(context, inst, args);
}

bool NeverRounds(const Computation& computation) {
  for (const Instruction* inst : computation.Instructions()) {
    bool floats = false;
    ForEachLeaf(inst->shape(), [&](const ShapeIndex&, const Shape& leaf) {
      floats = floats || IsFloat(leaf.type()) || IsComplex(leaf.type());
    });
    if (!floats) continue;
    const bool exact = inst->Is(kChooses) || inst->Is(kHandsOn) || inst->Is(Opcode::kAbs) ||
                       inst->Is(Opcode::kNegate) || inst->Is(Opcode::kCopy);
    if (!exact && !inst->Is(Opcode::kParameter) && !inst->Is(Opcode::kConstant)) return false;
  }
  return true;
}

bool AllExact(Operands operands) {
  const auto is_exact = [](const auto& self, const ShadowValue& v) -> bool {
    return !v.HasBound() && !v.HasOpen() &&
           std::ranges::all_of(v.elements, [&](const ShadowValue& element) { return self(self, element); });
  };
  return std::ranges::all_of(operands, [&](const ShadowValue* v) { return is_exact(is_exact, *v); });
}

bool IsExactType(const Shape& shape) {
  bool exact = true;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) {
    exact = exact && !IsFloat(leaf.type()) && !IsComplex(leaf.type());
  });
  return exact;
}

}  // namespace hlo::shadow
