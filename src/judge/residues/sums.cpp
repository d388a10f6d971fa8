// Ops that combine elements. Sums are evaluated on limbs of residues, other combiners for all results at once.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "interp/strided.h"
#include "ir/component_type.h"
#include "ir/reducer.h"
#include "judge/bounds/window_places.h"
#include "judge/residues/rules.h"

namespace hlo::residue {
namespace {

Literal Like(const Value& value, PrimitiveType type) { return Literal::Uninitialized(value.shape.WithType(type)); }

template <class F>
Literal EachOf(const Value& value, F&& f) {
  Literal all = Like(value, PrimitiveType::kF64);
  std::ranges::transform(value.numbers(), all.mutable_data<double>().begin(), f);
  return all;
}

Literal LimbOf(const Value& value, int shift, int bits) {
  Literal limb = Like(value, PrimitiveType::kU64);
  std::ranges::transform(value.numbers(), limb.mutable_data<uint64_t>().begin(),
                         [&](const Number& number) { return number.residue() >> shift & ((uint64_t{1} << bits) - 1); });
  return limb;
}

Literal OpenOf(const Value& value) {
  Literal open = Like(value, PrimitiveType::kPred);
  std::ranges::transform(value.numbers(), open.mutable_data<bool>().begin(), &Number::open);
  return open;
}

// The value is finite only if all terms are.
Number SumOf(double value, double error, uint64_t residue, bool open) {
  const bool is_exact = std::isfinite(value) && Of(value) == residue;
  // An error may be NaN if terms have infinite errors.
  return Arithmetic(value,
                    is_exact            ? 0
                    : std::isnan(error) ? std::numeric_limits<double>::infinity()
                                        : error,
                    residue, true, open);
}

// ---- Sums ----------------------------------------------------------------------------------------------------------

// The most terms of one result element, with the initial value.
int64_t MostTermsOf(const Instruction& inst) {
  if (inst.Is(Opcode::kReduceWindow)) {
    int64_t terms = 1;
    for (const WindowDim& dim : inst.attrs<ReduceWindowAttrs>().window.dims) terms *= dim.size;
    return terms + 1;
  }
  if (inst.Is(Opcode::kReduce))
    return inst.operand(0).shape().NumElements() / std::max<int64_t>(1, inst.shape().NumElements()) + 1;
  return inst.operand(inst.operand_count() - 1).shape().NumElements() + 1;
}

Result<Value> Linear(const Instruction& inst, Operands operands) {
  constexpr int kBits = 31;  // Sums of up to 2^33 limbs do not overflow.
  const auto evaluate = [&](PrimitiveType type, Opcode op, auto&& literal_of) {
    std::vector<Literal> literals;
    for (const Value* operand : operands) literals.push_back(operand->IsFloat() ? literal_of(*operand) : operand->data);
    return EvaluateAs(inst, literals, inst.shape().WithType(type), op);
  };
  const Literal low =
      TRY(evaluate(PrimitiveType::kU64, Opcode::kAdd, [&](const Value& value) { return LimbOf(value, 0, kBits); }));
  const Literal high =
      TRY(evaluate(PrimitiveType::kU64, Opcode::kAdd, [&](const Value& value) { return LimbOf(value, kBits, kBits); }));
  const Literal values = TRY(evaluate(PrimitiveType::kF64, Opcode::kAdd, ValuesOf));
  // Each of n terms is rounded n - 1 times at most.
  const double rounding = static_cast<double>(MostTermsOf(inst)) * kUnit;
  const Literal errors = TRY(evaluate(PrimitiveType::kF64, Opcode::kAdd, [&](const Value& value) {
    return EachOf(value, [&](const Number& x) { return x.error() + rounding * std::fabs(x.value); });
  }));
  Literal open(inst.shape().WithType(PrimitiveType::kPred));
  if (std::ranges::any_of(operands, [](const Value* operand) { return operand->IsFloat() && AnyOpen(*operand); }))
    open = TRY(evaluate(PrimitiveType::kPred, Opcode::kOr, OpenOf));
  Value result = NewNumbers(inst.shape());
  const std::span<Number> out = MutableNumbers(result);
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t residue =
        Sum(Reduced(low.data<uint64_t>()[i]), TimesPowerOf2(Reduced(high.data<uint64_t>()[i]), kBits));
    out[i] = SumOf(values.data<double>()[i], 2 * errors.data<double>()[i], residue, open.data<bool>()[i]);
  }
  if (std::ranges::any_of(operands, [](const Value* v) { return !v->IsFloat() && AnyOpen(*v); }))
    result = Opened(std::move(result));
  return result;
}

int64_t TermsOf(const Instruction& inst) {
  const Shape& right = inst.operand(1).shape();
  if (!inst.Is(Opcode::kDot)) return right.NumElements();
  int64_t terms = 1;
  for (const int64_t d : inst.attrs<DotAttrs>().rhs_contracting) terms *= right.dim(d);
  return terms;
}

// `rest` has the operands that follow x and y.
Result<Value> Bilinear(const Instruction& inst, const Value& x, const Value& y, std::span<const Literal> rest) {
  constexpr int kBits = 21, kLimbs = 3;
  constexpr int64_t kMostTerms = int64_t{1} << 22;  // Sums of fewer products of limbs do not overflow.
  if (TermsOf(inst) >= kMostTerms)
    FAIL(UnsupportedAt(inst, "U043",
                       Str("no residues for '", inst.opcode(), "' that adds up ", TermsOf(inst),
                           " products, because the limit is ", kMostTerms)));
  const auto evaluate = [&](PrimitiveType type, const Literal& a, const Literal& b) {
    std::vector<Literal> literals{a, b};
    literals.insert(literals.end(), rest.begin(), rest.end());
    return EvaluateAs(inst, literals, inst.shape().WithType(type));
  };
  const Shape shape = inst.shape().WithType(ComponentType(inst.shape().type()));
  Value result = NewNumbers(shape);
  const std::span<Number> out = MutableNumbers(result);
  std::array<Literal, kLimbs> a, b;
  for (int i = 0; i < kLimbs; ++i) {
    a[i] = LimbOf(x, i * kBits, kBits);
    b[i] = LimbOf(y, i * kBits, kBits);
  }
  std::vector<uint64_t> residues(out.size());
  for (int i = 0; i < kLimbs; ++i) {
    for (int j = 0; j < kLimbs; ++j) {
      const Literal part = TRY(evaluate(PrimitiveType::kU64, a[i], b[j]));
      for (size_t k = 0; k < out.size(); ++k)
        residues[k] = Sum(residues[k], TimesPowerOf2(Reduced(part.data<uint64_t>()[k]), (i + j) * kBits));
    }
  }
  const Literal values = TRY(evaluate(PrimitiveType::kF64, ValuesOf(x), ValuesOf(y)));
  // Let numbers with the values a and b have at most the magnitudes A and B. Their product is within A * B - |a * b| of
  // a * b. The sums of A * B and of |a * b| are rounded, too.
  const auto size = [](const Number& number) { return std::fabs(number.value); };
  const auto most = [](const Number& number) { return std::fabs(number.value) + number.error(); };
  const Literal sizes = TRY(evaluate(PrimitiveType::kF64, EachOf(x, size), EachOf(y, size)));
  const bool is_exact =
      std::ranges::none_of(x.numbers(), &Number::IsInexact) && std::ranges::none_of(y.numbers(), &Number::IsInexact);
  const Literal bounds = is_exact ? sizes : TRY(evaluate(PrimitiveType::kF64, EachOf(x, most), EachOf(y, most)));
  const double rounding = 4 * static_cast<double>(TermsOf(inst) + 1) * kUnit;
  for (size_t k = 0; k < out.size(); ++k) {
    const double bound = bounds.data<double>()[k], error = bound - sizes.data<double>()[k] + rounding * bound;
    out[k] = SumOf(values.data<double>()[k], error, residues[k], false);
  }
  for (const bool of_x : {true, false}) {
    const Value& factor = of_x ? x : y;
    if (!AnyOpen(factor)) continue;
    Literal open = Like(factor, PrimitiveType::kU64), ones = Like(of_x ? y : x, PrimitiveType::kU64);
    std::ranges::transform(factor.numbers(), open.mutable_data<uint64_t>().begin(), &Number::open);
    std::ranges::fill(ones.mutable_data<uint64_t>(), uint64_t{1});
    const Literal count = TRY(evaluate(PrimitiveType::kU64, of_x ? open : ones, of_x ? ones : open));
    for (size_t k = 0; k < out.size(); ++k) out[k].bits |= count.data<uint64_t>()[k] > 0 ? Number::kOpen : 0;
  }
  return result;
}

Value AddedTo(Value a, const Value& b, bool subtracts) {
  const std::span<Number> out = MutableNumbers(a);
  for (size_t i = 0; i < out.size(); ++i) out[i] = subtracts ? out[i] - b.numbers()[i] : out[i] + b.numbers()[i];
  return a;
}

// ---- Other combiners -----------------------------------------------------------------------------------------------

std::vector<Value> Apart(Value value) {
  if (value.shape.IsTuple()) return std::move(value.parts);
  std::vector<Value> one;
  one.push_back(std::move(value));
  return one;
}

Result<std::vector<Value>> Combined(Context& context, const Computation& body, const std::vector<Value>& accumulators,
                                    const std::vector<Value>& elements) {
  std::vector<const Value*> args;
  for (const Value& value : accumulators) args.push_back(&value);
  for (const Value& value : elements) args.push_back(&value);
  return Apart(TRY(RunLifted(context, body, args, accumulators[0].shape.dims())));
}

std::vector<Value> PickedAll(const std::vector<Value>& values, std::span<const int64_t> at) {
  std::vector<Value> picked;
  for (const Value& value : values) picked.push_back(Picked(value, at));
  return picked;
}

Value ResultOf(const Instruction& inst, std::vector<Value> values) {
  const auto shaped = [](Value value, const Shape& shape) {
    value = WithDims(std::move(value), shape.dims());
    value.shape = shape;
    return value;
  };
  if (!inst.shape().IsTuple()) return shaped(std::move(values[0]), inst.shape());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = shaped(std::move(values[i]), inst.shape().element(static_cast<int64_t>(i)));
  return TupleOf(inst.shape(), std::move(values));
}

bool IsSumOfNumbers(Operands operands, const Computation& reducer, const Shape& result) {
  return operands[0]->IsFloat() && IsFloat(result.type()) && ReducerOp(reducer) == Opcode::kAdd;
}

const Shape& FirstLeaf(const Shape& shape) { return shape.IsTuple() ? shape.element(0) : shape; }

}  // namespace

Result<Value> Dot(Context& context, const Instruction& inst, Operands operands) {
  TRY(context.Spend(inst, 10 * TermsOf(inst) * inst.shape().NumElements()));
  std::vector<Literal> rest;
  for (const Value* operand : operands.subspan(2)) {
    if (!IsExactType(operand->shape) || AnyOpen(*operand))
      FAIL(UnsupportedAt(inst, "U043",
                         Str("no residues for '", inst.opcode(), "' with this operand after lhs and rhs")));
    rest.push_back(operand->data);
  }
  std::array<Value, 2> sides;
  for (int i = 0; i < 2; ++i) {
    if (IsExactType(operands[i]->shape))
      FAIL(UnsupportedAt(inst, "U043", Str("no residues for '", inst.opcode(), "' with an integer operand")));
    sides[i] = *operands[i];
  }
  const auto& [x, y] = sides;
  if (!IsComplex(inst.shape().type())) {
    Value result = TRY(Bilinear(inst, x, y, rest));
    result.shape = inst.shape();
    return result;
  }
  if (!x.IsComplex() || !y.IsComplex())
    FAIL(UnsupportedAt(inst, "U043", "no residues for 'dot' of a real and a complex operand"));
  std::vector<Value> parts;
  parts.push_back(AddedTo(TRY(Bilinear(inst, x.parts[0], y.parts[0], rest)),
                          TRY(Bilinear(inst, x.parts[1], y.parts[1], rest)), true));
  parts.push_back(AddedTo(TRY(Bilinear(inst, x.parts[0], y.parts[1], rest)),
                          TRY(Bilinear(inst, x.parts[1], y.parts[0], rest)), false));
  return TupleOf(inst.shape(), std::move(parts));
}

// Reducers that are not sums combine neighbours, then neighbouring results. This keeps the order of elements, as passes
// do if a reducer selects one.
Result<Value> Reduce(Context& context, const Instruction& inst, Operands operands) {
  const auto& attrs = inst.attrs<ReduceAttrs>();
  if (operands.size() == 2 && inst.shape().IsArray() && IsSumOfNumbers(operands, *attrs.to_apply, inst.shape()))
    return Linear(inst, operands);
  const size_t arrays = operands.size() / 2;
  const Shape& shape = operands[0]->shape;
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(attrs.dimensions, d) == attrs.dimensions.end()) kept.push_back(d);
  }
  const std::vector<int64_t> terms = OffsetsOf(shape, attrs.dimensions), results = OffsetsOf(shape, kept);
  std::vector<int64_t> at;
  for (const int64_t term : terms) {
    for (const int64_t result : results) at.push_back(term + result);
  }
  std::vector<Value> rows, behind, accumulators;
  for (size_t i = 0; i < arrays; ++i) {
    rows.push_back(Picked(*operands[i], at));
    accumulators.push_back(Splat(*operands[arrays + i], {std::ssize(results)}));
  }
  // Row i is begin + step * i.
  const int64_t width = std::ssize(results);
  const auto every = [&](int64_t begin, int64_t step, int64_t count) {
    std::vector<int64_t> elements;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < width; ++k) elements.push_back((begin + step * i) * width + k);
    }
    return elements;
  };
  for (int64_t count = std::ssize(terms); count > 0; count /= 2) {
    TRY(context.Spend(inst, count * width));
    if (count % 2 != 0) {
      std::vector<Value> last = PickedAll(rows, every(count - 1, 1, 1));
      behind = behind.empty() ? std::move(last) : TRY(Combined(context, *attrs.to_apply, last, behind));
    }
    if (count == 1) break;
    rows = TRY(Combined(context, *attrs.to_apply, PickedAll(rows, every(0, 2, count / 2)),
                        PickedAll(rows, every(1, 2, count / 2))));
  }
  if (!behind.empty()) accumulators = TRY(Combined(context, *attrs.to_apply, accumulators, behind));
  return ResultOf(inst, std::move(accumulators));
}

Result<Value> ReduceWindow(Context& context, const Instruction& inst, Operands operands) {
  const auto& attrs = inst.attrs<ReduceWindowAttrs>();
  if (operands.size() == 2 && inst.shape().IsArray() && IsSumOfNumbers(operands, *attrs.to_apply, inst.shape()))
    return Linear(inst, operands);
  const size_t arrays = operands.size() / 2;
  const Shape& base = operands[0]->shape;
  const Shape& shape = FirstLeaf(inst.shape());
  const shadow::Windows windows(attrs.window, base.dims(), shape.dims());
  TRY(context.Spend(inst, shape.NumElements() * shadow::Windows::MostAtAll(attrs.window, base.dims())));
  // By step: the results with a further element in their window, and this element.
  std::vector<std::vector<int64_t>> results, elements;
  for (int64_t o = 0; o < shape.NumElements(); ++o) {
    size_t step = 0;
    windows.ForEach(o, [&](int64_t i) {
      if (step == results.size()) results.emplace_back(), elements.emplace_back();
      results[step].push_back(o);
      elements[step++].push_back(i);
    });
  }
  std::vector<Value> from, accumulators;
  for (size_t i = 0; i < arrays; ++i) {
    from.push_back(*operands[i]);
    accumulators.push_back(Splat(*operands[arrays + i], {shape.NumElements()}));
  }
  for (size_t step = 0; step < results.size(); ++step) {
    const std::vector<Value> combined = TRY(
        Combined(context, *attrs.to_apply, PickedAll(accumulators, results[step]), PickedAll(from, elements[step])));
    for (size_t i = 0; i < arrays; ++i) Put(combined[i], results[step], accumulators[i]);
  }
  return ResultOf(inst, std::move(accumulators));
}

Result<Value> Scatter(Context&, const Instruction& inst, Operands operands) {
  const Computation& reducer = *inst.attrs<ScatterAttrs>().to_apply;
  if (operands.size() != 3 || !inst.shape().IsArray() || !operands[0]->IsFloat())
    FAIL(UnsupportedAt(inst, "U043", "no residues for this kind of 'scatter'"));
  if (ReducerOp(reducer) == Opcode::kAdd) return Linear(inst, operands);
  const Instruction& root = reducer.root();
  if (!root.Is(Opcode::kParameter) || root.parameter_number() != 1)
    FAIL(UnsupportedAt(inst, "U043", "no residues for this kind of 'scatter'"));
  Value result = NewNumbers(inst.shape());
  result.data = TRY(EvaluateAs(inst, std::vector{operands[0]->data, operands[1]->data, operands[2]->data},
                               result.data.shape(), Opcode::kParameter));
  return AnyOpen(*operands[1]) ? Opened(std::move(result)) : std::move(result);
}

Result<Value> SelectAndScatter(Context& context, const Instruction& inst, Operands operands) {
  const auto& attrs = inst.attrs<SelectAndScatterAttrs>();
  const Instruction& select = attrs.select->root();
  const bool in_order = select.Is(Opcode::kCompare) && select.operand(0).Is(Opcode::kParameter) &&
                        select.operand(1).Is(Opcode::kParameter) && select.operand(0).parameter_number() == 0 &&
                        select.operand(1).parameter_number() == 1;
  const auto direction = in_order ? select.attrs<CompareAttrs>().direction : ComparisonDirection::kEq;
  if (direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe ||
      !IsSumOfNumbers(operands, *attrs.scatter, inst.shape()))
    FAIL(UnsupportedAt(inst, "U043", "no residues for this kind of 'select-and-scatter'"));
  const bool largest = direction == ComparisonDirection::kGe || direction == ComparisonDirection::kGt;
  const bool earlier = direction == ComparisonDirection::kGe || direction == ComparisonDirection::kLe;
  const Value &x = *operands[0], &source = *operands[1];
  const shadow::Windows windows(attrs.window, x.shape.dims(), source.shape.dims());
  TRY(context.Spend(inst, source.shape.NumElements() * shadow::Windows::MostAtAll(attrs.window, x.shape.dims())));
  Value result = Splat(*operands[2], inst.shape().dims());
  result.shape = inst.shape();
  const std::span<Number> out = MutableNumbers(result);
  for (int64_t s = 0; s < source.shape.NumElements(); ++s) {
    int64_t best = -1;
    double best_value = 0;
    const auto value_of = [&](int64_t i) { return (largest ? 1 : -1) * context.DeciderOf(x.numbers()[i]).value; };
    windows.ForEach(s, [&](int64_t i) {
      const double v = value_of(i);
      if (best >= 0 && (earlier ? best_value >= v : best_value > v)) return;
      best = i;
      best_value = v;
    });
    if (best < 0) continue;
    out[best] = out[best] + source.numbers()[s];
    windows.ForEach(s, [&](int64_t i) {
      const Number &a = x.numbers()[i], &b = x.numbers()[best];
      const bool close = a.residue() != b.residue() && AreClose(context.DeciderOf(a), context.DeciderOf(b));
      if (i == best || (!a.open() && !b.open() && !close)) return;
      out[i].bits |= Number::kOpen;
      out[best].bits |= Number::kOpen;
    });
  }
  return result;
}

}  // namespace hlo::residue
