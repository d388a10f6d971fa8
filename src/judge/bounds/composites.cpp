// Ops that passes expand, and library calls, in a comparison of two modules. Expansions of passes are not used here,
// because the judge has to find wrong ones.
#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>

#include "interp/contraction.h"
#include "interp/interpreter.h"
#include "interp/library_call.h"
#include "judge/bounds/contract.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {
namespace {

class Alone {
 public:
  explicit Alone(const std::vector<Shape>& shapes) : module_("alone"), entry_(module_.AddComputation("entry")) {
    module_.SetEntry(entry_);
    for (const Shape& shape : shapes) parameters_.push_back(&entry_.AddParameter(std::ssize(parameters_), shape));
  }
  Computation& entry() { return entry_; }
  const std::vector<Instruction*>& parameters() const { return parameters_; }

 private:
  Module module_;
  Computation& entry_;
  std::vector<Instruction*> parameters_;
};

Dims Without(const Dims& dims, int64_t d) {
  Dims fewer = dims;
  fewer.erase(fewer.begin() + d);
  return fewer;
}

// ---- scan -----------------------------------------------------------------------------------------------------------

class ElementOf {
 public:
  ElementOf(const Shape& shape, int64_t d) : alone_({shape, Shape::Scalar(PrimitiveType::kS64)}) {
    Computation& entry = alone_.entry();
    Dims one = shape.dims();
    one[d] = 1;
    Instruction& zero = entry.AddConstant(Literal::Scalar(PrimitiveType::kS64, int64_t{0}));
    std::vector<Instruction*> operands(1 + shape.rank(), &zero);
    operands[0] = alone_.parameters()[0];
    operands[1 + d] = alone_.parameters()[1];
    Instruction& part =
        entry.Add(Opcode::kDynamicSlice, shape.WithDims(one), operands, DynamicSliceAttrs{{one.begin(), one.end()}});
    entry.SetRoot(entry.Add(Opcode::kReshape, shape.WithDims(Without(shape.dims(), d)), {&part}, ReshapeAttrs()));
  }
  Result<ShadowValue> operator()(Context& context, const ShadowValue& x, int64_t i) {
    const ShadowValue index = ToShadow(Literal::Scalar(PrimitiveType::kS64, i));
    const ShadowValue* const args[] = {&x, &index};
    return Run(context, alone_.entry(), args);
  }

 private:
  Alone alone_;
};

Result<ShadowValue> Stacked(Context& context, const std::vector<ShadowValue>& values, const Shape& shape, int64_t d) {
  if (values.empty()) return ToShadow(Literal(shape));
  Alone alone(std::vector<Shape>(values.size(), shape.WithDims(Without(shape.dims(), d))));
  Dims one = shape.dims();
  one[d] = 1;
  std::vector<Instruction*> parts;
  std::vector<const ShadowValue*> args;
  for (size_t i = 0; i < values.size(); ++i) {
    parts.push_back(&alone.entry().Add(Opcode::kReshape, shape.WithDims(one), {alone.parameters()[i]}, ReshapeAttrs()));
    args.push_back(&values[i]);
  }
  alone.entry().SetRoot(alone.entry().Add(Opcode::kConcatenate, shape, parts, OneDimensionAttrs{{d}}));
  return Run(context, alone.entry(), args);
}

Result<ShadowValue> Scan(Context& context, const Instruction& inst, Operands operands) {
  const ScanAttrs& attrs = inst.attrs<ScanAttrs>();
  const size_t carries = attrs.num_carries, arrays = operands.size() - carries;
  const int64_t d = attrs.dimension.value, steps = arrays == 0 ? 0 : operands[0]->shape.dim(d);
  std::vector<Shape> shapes = {inst.shape()};
  if (inst.shape().IsTuple()) shapes.assign(inst.shape().elements().begin(), inst.shape().elements().end());
  const size_t stacked = shapes.size() - carries;

  std::deque<ElementOf> elements;
  for (size_t i = 0; i < arrays; ++i) elements.emplace_back(operands[i]->shape, d);
  std::vector<ShadowValue> carried;
  for (size_t i = 0; i < carries; ++i) carried.push_back(*operands[arrays + i]);
  std::vector<std::vector<ShadowValue>> made(stacked, std::vector<ShadowValue>(steps));
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t at = attrs.is_reverse ? steps - 1 - step : step;
    std::vector<ShadowValue> given;
    for (size_t i = 0; i < arrays; ++i) given.push_back(TRY(elements[i](context, *operands[i], at)));
    std::vector<const ShadowValue*> args;
    for (const ShadowValue& value : given) args.push_back(&value);
    for (const ShadowValue& value : carried) args.push_back(&value);
    ShadowValue results = TRY(Run(context, *attrs.to_apply, args));
    const auto result = [&](size_t i) -> ShadowValue& {
      return results.shape.IsTuple() ? results.elements[i] : results;
    };
    for (size_t i = 0; i < stacked; ++i) made[i][at] = std::move(result(i));
    for (size_t i = 0; i < carries; ++i) carried[i] = std::move(result(stacked + i));
  }
  std::vector<ShadowValue> parts;
  for (size_t i = 0; i < stacked; ++i) parts.push_back(TRY(Stacked(context, made[i], shapes[i], d)));
  std::ranges::move(carried, std::back_inserter(parts));
  if (!inst.shape().IsTuple()) return std::move(parts[0]);
  ShadowValue tuple;
  tuple.shape = inst.shape();
  tuple.elements = std::move(parts);
  return tuple;
}

// ---- ragged-dot and scaled-dot --------------------------------------------------------------------------------------

bool IsFinite(const ShadowValue& x) {
  return std::ranges::all_of(x.value.data<double>(), [](double v) { return std::isfinite(v); });
}
bool AllComputed(const ShadowValue& x) {
  return !x.HasBound() || std::ranges::all_of(x.bound.data<double>(), [](double e) { return IsComputed(e); });
}

// Magnitudes, or magnitudes plus bounds. With bounds, undetermined elements are NaN.
Literal Sizes(const ShadowValue& x, bool with_bounds) {
  Literal sizes = x.value;
  const double* const bounds = with_bounds ? BoundsOrNull(x.bound) : nullptr;
  auto data = sizes.mutable_data<double>();
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = bounds == nullptr ? std::fabs(data[i]) : (std::fabs(data[i]) + bounds[i]) * kUp;
  return sizes;
}

// The interpreter evaluates the op in f64 on values, on magnitudes, and on magnitudes with bounds. The bound follows
// from the rule for sums (contract.cpp).
Result<ShadowValue> SumsOfProducts(Context& context, const Instruction& inst, Operands operands) {
  const bool is_ragged = inst.Is(Opcode::kRaggedDot);
  int64_t terms = 1;
  for (const int64_t d :
       is_ragged ? inst.attrs<RaggedDotAttrs>().lhs_contracting : inst.attrs<DotAttrs>().lhs_contracting)
    terms *= operands[0]->shape.dim(d);
  std::vector<Shape> shapes;
  std::vector<ShadowValue> factors;
  bool is_exact = true, is_finite = true, is_computed = true;
  for (size_t i = 0; i < operands.size(); ++i) {
    const ShadowValue& x = *operands[i];
    if (is_ragged && i == 2) {
      if (AnyOpen(x)) return Interpreted(context, inst, operands);
      shapes.push_back(x.shape);
      continue;
    }
    const bool is_one = !is_ragged && i >= 2 && !IsScaled(operands[i - 2]->shape, x.shape);
    factors.push_back(is_one ? ToShadow(Splat(Literal::Scalar(PrimitiveType::kF64, 1.0), x.shape)) : AsFloats(x));
    shapes.push_back(x.shape.WithType(PrimitiveType::kF64));
    is_exact &= !factors.back().HasBound();
    is_finite &= IsFinite(factors.back());
    is_computed &= AllComputed(factors.back());
  }
  Alone alone(shapes);
  const Instruction& wide =
      alone.entry().AddClone(inst, inst.shape().WithType(PrimitiveType::kF64), alone.parameters());
  const auto evaluated = [&](const std::function<Literal(const ShadowValue&)>& of) -> Result<Literal> {
    std::vector<Literal> literals;
    for (const ShadowValue& factor : factors) literals.push_back(of(factor));
    if (is_ragged) literals.push_back(operands[2]->exact);
    return Evaluate(wide, literals);
  };
  const double undetermined = is_computed ? kUndeterminedButComputed : kUndetermined;
  ShadowValue result;
  result.shape = inst.shape();
  result.held = context.Held(inst);
  result.value = TRY(evaluated([](const ShadowValue& x) { return x.value; }));
  const Literal sizes = TRY(evaluated([](const ShadowValue& x) { return Sizes(x, false); }));
  const Literal wide_sizes = is_exact ? sizes : TRY(evaluated([](const ShadowValue& x) { return Sizes(x, true); }));
  // Scales add two products to each term.
  const SumRule rule = SumRuleOf(context, inst, terms + 2, 106);
  result.bound = Zeros(inst.shape());
  auto bounds = result.bound.mutable_data<double>();
  for (int64_t i = 0; i < inst.shape().NumElements(); ++i) {
    const double value = Values(result.value)[i], exact = Values(sizes)[i], size = Values(wide_sizes)[i];
    // Every order of exact terms gives this infinity or NaN.
    if (!std::isfinite(value)) bounds[i] = is_exact && !is_finite ? 0 : undetermined;
    else if (!std::isfinite(size)) bounds[i] = undetermined;
    else bounds[i] = rule.Worst(value, std::max(0.0, size - exact), size);
  }
  DropZeroBound(result);
  return result;
}

}  // namespace

bool IsComposite(const Instruction& inst) {
  if (inst.Is(Opcode::kScan)) return true;
  return (inst.Is(Opcode::kRaggedDot) || inst.Is(Opcode::kScaledDot)) && SumsAsFloats(inst);
}

Result<ShadowValue> Composite(Context& context, const Instruction& inst, Operands operands) {
  if (!inst.Is(Opcode::kScan)) return SumsOfProducts(context, inst, operands);
  // Cut points hold for one evaluation, but the body is evaluated at every step.
  const ShadowOptions options = {
      .widened = true, .max_loop_iterations = context.options.max_loop_iterations, .meter = context.options.meter};
  Context inner = {.options = options, .depth = context.depth};
  ShadowValue result = TRY(Scan(inner, inst, operands));
  context.heuristic |= inner.heuristic;
  return result;
}

// Workspace results are zeros.
Result<ShadowValue> LibraryCall(Context& context, const Instruction& inst, Operands operands) {
  const auto meaning = TRY(MeaningOf(inst));
  ShadowOptions options = {.widened = context.options.widened,
                           .max_loop_iterations = context.options.max_loop_iterations};
  Context inner = {.options = options, .top = &meaning->entry(), .depth = context.depth};
  ShadowValue result = TRY(Run(inner, meaning->entry(), operands));
  context.heuristic |= inner.heuristic;
  if (!inst.shape().IsTuple()) return std::move(result.elements.front());
  result.shape = inst.shape();
  for (auto i = std::ssize(result.elements); i < std::ssize(inst.shape().elements()); ++i)
    result.elements.push_back(ToShadow(Literal(inst.shape().element(i))));
  return result;
}

}  // namespace hlo::shadow
