// Bounds of what combines many elements into one: reduce, reduce-window, select-and-scatter, scatter. Source of the
// rules: spec/testing.md 5.2.
//
// A permitted implementation may combine in any order, so every rule is one that no order can break; the shadow is then
// free to use the order that is fastest.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "base/parallel.h"
#include "interp/shadow_rules.h"

namespace hlo::shadow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();

int64_t Product(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

// ---- Folding
// ---------------------------------------------------------------------------------------------------------

// What is kept of the elements combined so far. For sums: the sum of values, of bounds, of likely bounds, of the finite
// magnitudes. For maxima: the largest value, value + bound, value - bound (`bounds`, `magnitudes`). For products: of
// values, of magnitudes |v| + e (`magnitudes`), of the finite ones of 1 and more (`bounds`; NaN once a factor is), and
// of the least magnitudes |v| - e below 1 (`likely`; NaN once a factor is undetermined), zeros left out.
struct Total {
  double value, bounds, likely, magnitudes;
};

// The larger, and NaN once there was one.
inline double Larger(double a, double b) { return a > b || a != a ? a : b; }

struct Add {
  static constexpr Total kNothing{-0.0, 0, 0, 0};  // -0 + x is x, for -0 too.
  static void Take(Total& t, double v, double e, double l) {
    t.value += v;
    t.bounds += e;
    t.likely += l;
    t.magnitudes += std::fabs(v) < kInfinity ? std::fabs(v) + e : 0;
  }
  static void Merge(Total& t, const Total& o) {
    t.value += o.value;
    t.bounds += o.bounds;
    t.likely += o.likely;
    t.magnitudes += o.magnitudes;
  }
};

struct Multiply {
  static constexpr Total kNothing{1, 1, 1, 1};
  static void Take(Total& t, double v, double e, double) {
    const double size = std::fabs(v);
    t.value *= v;
    t.magnitudes *= size + e;
    t.bounds *= std::isnan(v) ? v : size < kInfinity ? std::max(1.0, size + e) : 1;
    t.likely *= !std::isfinite(e) ? kUndetermined : v == 0 && e == 0 ? 1 : std::clamp(size - e, 0.0, 1.0);
  }
  static void Merge(Total& t, const Total& o) {
    t.value *= o.value;
    t.magnitudes *= o.magnitudes;
    t.bounds *= o.bounds;
    t.likely *= o.likely;
  }
};

template <bool kMinimum>
struct Extreme {
  static constexpr Total kNothing{-kInfinity, -kInfinity, 0, -kInfinity};
  static void Take(Total& t, double v, double e, double) {
    if constexpr (kMinimum) v = -v;
    t.value = Larger(t.value, v);
    t.bounds = Larger(t.bounds, v + e);
    t.magnitudes = Larger(t.magnitudes, v - e);
  }
  static void Merge(Total& t, const Total& o) {
    t.value = Larger(t.value, o.value);
    t.bounds = Larger(t.bounds, o.bounds);
    t.magnitudes = Larger(t.magnitudes, o.magnitudes);
  }
};

struct Bounds {
  double value, bound, likely;
};

// A sum of terms: see SumRule. Infinite and NaN terms decide the sum in any order, unless the finite ones could
// overflow on the way, to the other infinity; so does nothing else once the terms could.
Bounds FinishSum(const SumRule& rule, double overflow, const Total& t) {
  if (!std::isfinite(t.bounds)) return {0, kUndetermined, kUndetermined};
  if (!std::isfinite(t.value)) {
    const bool decided = t.magnitudes < (std::isnan(t.value) ? kInfinity : overflow);
    return {t.value, decided ? 0 : kUndetermined, decided ? 0 : kUndetermined};
  }
  const double worst = rule.Worst(t.value, t.bounds, t.magnitudes);
  const double likely = std::min(worst, rule.Likely(t.value, t.likely, t.magnitudes));
  const Pair pair = AfterOverflow(rule.finish, t.value, worst);
  if (OverflowIsOpen(t.value, worst, t.magnitudes, overflow)) return {t.value, kUndetermined, kUndetermined};
  return {pair.value, pair.bound, std::isfinite(pair.bound) ? std::min(likely, pair.bound) : kUndetermined};
}

// Each of n - 1 products is rounded: |t| <= prod(|v| + e) (1 + u)^(n-1), and t has the sign of v unless a factor may be
// 0. One that underflows is off by half a step at most, which the factors of 1 and more magnify; if those alone
// overflow, so may a product on the way. An infinite factor decides, unless the factors below 1 could come to 0 before
// they meet it: above `normal` they cannot, since roundings are relative there. When the product of the finite factors
// is beyond f64, where an infinity comes from is not known; if no factor is below 1, it comes in any order.
Bounds FinishProduct(const SumRule& rule, const Rounding& accumulator, int64_t terms, const Total& t) {
  constexpr Bounds kOpen{0, kUndetermined, kUndetermined};
  if (std::isnan(t.bounds)) return {kUndetermined, 0, 0};  // A NaN among the factors.
  if (std::isnan(t.likely)) return kOpen;
  if (!std::isfinite(t.value)) {
    const double normal = accumulator.least / accumulator.relative;
    const bool vanishes = t.likely * (1 - rule.worst) < normal;
    const bool decided = std::isfinite(t.bounds) ? !vanishes : !std::isnan(t.value) && t.likely == 1;
    return decided ? Bounds{t.value, 0, 0} : kOpen;
  }
  if (t.bounds >= accumulator.overflow && std::fabs(t.value) < accumulator.overflow) return kOpen;
  const double underflow = static_cast<double>(terms) * accumulator.least;
  const double before = t.magnitudes * (1 + rule.worst) - std::fabs(t.value) + underflow * t.bounds;
  const double size = (std::fabs(t.value) + before) * kUp;
  const double worst = (before + HalfStep(rule.finish.target, size)) * kUp;
  const Pair pair = AfterOverflow(rule.finish, t.value, worst);
  return {pair.value, pair.bound, pair.bound};
}

// The largest of t_i lies between the largest lower end and the largest upper end.
Bounds FinishExtreme(bool minimum, const Total& t) {
  const double value = minimum ? -t.value : t.value;
  if (std::isnan(t.value)) return {value, 0, 0};
  if (!std::isfinite(t.bounds) && !std::isinf(t.value)) return {value, kUndetermined, kUndetermined};
  double bound = std::isinf(t.value) ? 0 : std::max(t.bounds - t.value, t.value - t.magnitudes) * kUp;
  if (t.value == 0) bound = std::max(bound, kTiny);  // 0 and -0 may come out as either.
  return {value, bound, bound};
}

// Finishes totals by the combiner's rule.
class Closing {
 public:
  // `integers`: all terms are.
  Closing(const Context& context, const Instruction& inst, Combiner combiner, int64_t terms, bool integers = false)
      : combiner_(combiner), rule_(SumRuleOf(context, inst, terms)), terms_(terms) {
    rule_.integers = integers;
    const InstructionPlan* plan = context.PlanOf(inst);
    const PrimitiveType accumulator = context.options.widened  ? PrimitiveType::kF64
                                      : plan && plan->sum      ? plan->sum->accumulator
                                      : inst.shape().IsArray() ? inst.shape().type()
                                                               : PrimitiveType::kF32;
    accumulator_ = RoundingTo(accumulator, context.ftz());
  }

  const SumRule& rule() const { return rule_; }
  bool HasLikely() const { return combiner_ == Combiner::kAdd && rule_.HasLikely(); }

  Bounds operator()(const Total& total) const {
    switch (combiner_) {
      case Combiner::kAdd: return FinishSum(rule_, accumulator_.overflow, total);
      case Combiner::kMultiply: return FinishProduct(rule_, accumulator_, terms_, total);
      case Combiner::kMaximum: return FinishExtreme(false, total);
      default: return FinishExtreme(true, total);
    }
  }

 private:
  Combiner combiner_;
  SumRule rule_;
  Rounding accumulator_;
  int64_t terms_;
};

// f(Rule) with the rule of a combiner.
template <class F>
void WithRule(Combiner combiner, F&& f) {
  switch (combiner) {
    case Combiner::kAdd: return f(Add());
    case Combiner::kMultiply: return f(Multiply());
    case Combiner::kMaximum: return f(Extreme<false>());
    case Combiner::kMinimum: return f(Extreme<true>());
    default: CHECK(false, "no rule");
  }
}

// Element i of a value with its bounds.
struct Source {
  const double* value;
  const double* bound;
  const double* likely;

  explicit Source(const ShadowValue& from)
      : value(Values(from.value)),
        bound(BoundsOrNull(from.bound)),
        likely(from.HasLikely() ? BoundsOrNull(from.likely) : bound) {}
  double Bound(int64_t i) const { return bound ? bound[i] : 0; }
  double Likely(int64_t i) const { return likely ? likely[i] : 0; }
};

// Results being written; the arrays exist as far as they are needed.
class Sink {
 public:
  Sink(const Shape& shape, PrimitiveType held, bool likely) {
    result_.shape = shape;
    result_.held = held;
    result_.value = NewBuffer(shape);
    result_.bound = NewBuffer(shape);
    if (likely) result_.likely = NewBuffer(shape);
    value_ = result_.value.mutable_data<double>().data();
    bound_ = result_.bound.mutable_data<double>().data();
    likely_ = likely ? result_.likely.mutable_data<double>().data() : nullptr;
  }

  void Put(int64_t i, const Bounds& x) const {
    value_[i] = x.value;
    bound_[i] = x.bound;
    if (likely_) likely_[i] = x.likely;
  }
  ShadowValue Take() {
    if (std::ranges::all_of(result_.bound.data<double>(), [](double e) { return e == 0; }))
      result_.bound = result_.likely = Literal();
    return std::move(result_);
  }

 private:
  ShadowValue result_;
  double* value_;
  double* bound_;
  double* likely_;
};

// ---- reduce
// ----------------------------------------------------------------------------------------------------------

constexpr int64_t kLanes = 32;

// totals[k] takes the `rows` elements at k, k + stride, ...; all of them side by side.
template <class Rule>
void FoldColumns(const Source& from, int64_t at, int64_t rows, int64_t stride, int64_t width, Total* totals) {
  for (int64_t r = 0; r < rows; ++r, at += stride) {
    for (int64_t k = 0; k < width; ++k)
      Rule::Take(totals[k], from.value[at + k], from.Bound(at + k), from.Likely(at + k));
  }
}

// The sum of exact elements, which is most of what there is: four plain accumulators.
void FoldExactRow(const double* v, int64_t count, Total& total) {
  constexpr int kWays = 16;
  double sum[kWays], size[kWays] = {};
  std::ranges::fill(sum, -0.0);
  int64_t i = 0;
  for (; i + kWays <= count; i += kWays) {
    for (int k = 0; k < kWays; ++k) {
      sum[k] += v[i + k];
      size[k] += std::fabs(v[i + k]) < kInfinity ? std::fabs(v[i + k]) : 0;
    }
  }
  for (int k = 0; k < kWays; ++k) {
    total.value += sum[k];
    total.magnitudes += size[k];
  }
  for (; i < count; ++i) Add::Take(total, v[i], 0, 0);
}

// As [outer, reduced, inner]: the reduced dimensions lie side by side.
struct Grouping {
  int64_t outer, reduced, inner;
};

bool GroupsSideBySide(const Shape& shape, const std::vector<int64_t>& dimensions, Grouping* grouping) {
  *grouping = {1, 1, 1};
  int phase = 0;  // 0: before, 1: in, 2: after the reduced run.
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) == 1) continue;
    const bool reduced = std::ranges::find(dimensions, d) != dimensions.end();
    if (reduced && phase == 2) return false;
    if (reduced) phase = 1;
    if (!reduced && phase == 1) phase = 2;
    (phase == 0 ? grouping->outer : phase == 1 ? grouping->reduced : grouping->inner) *= shape.dim(d);
  }
  return true;
}

}  // namespace

Result<ShadowValue> ReducedLast(Context& context, const ShadowValue& x, const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> order, dims;
  for (const bool reduced : {false, true}) {
    for (int64_t d = 0; d < x.shape.rank(); ++d) {
      if ((std::ranges::find(dimensions, d) != dimensions.end()) == reduced) order.push_back(d);
    }
  }
  for (const int64_t d : order) dims.push_back(x.shape.dim(d));
  Module module("transpose");
  Computation& entry = module.AddComputation("entry");
  Instruction& parameter = entry.AddParameter(0, x.shape.WithDefaultLayout());
  Instruction& transpose = entry.Add(Opcode::kTranspose, x.shape.WithDims(dims), {&parameter}, DimensionsAttrs{order});
  entry.SetRoot(transpose);
  module.SetEntry(entry);
  const ShadowValue* operands[] = {&x};
  return Move(context, transpose, operands);
}

namespace {

ShadowValue Fold(const Context& context, const Instruction& inst, const ShadowValue& x, const ShadowValue& init,
                 Combiner combiner, const Grouping& g) {
  const Closing close(context, inst, combiner, g.reduced + (init.HasBound() || Values(init.value)[0] != 0 ? 1 : 0),
                      AreIntegers(x) && AreIntegers(init));
  const Source from(x), start(init);
  const bool extreme = combiner == Combiner::kMaximum || combiner == Combiner::kMinimum;
  Sink sink(inst.shape(), extreme ? x.held : context.Held(inst), close.HasLikely() || x.HasLikely());
  WithRule(combiner, [&]<class Rule>(Rule) {
    const auto finish = [&](int64_t output, Total total) {
      Rule::Take(total, start.value[0], start.Bound(0), start.Likely(0));
      sink.Put(output, close(total));
    };
    if (g.inner == 1) {
      ParallelFor(g.outer, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, g.reduced)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t o = begin; o < end; ++o) {
                      const int64_t at = o * g.reduced;
                      Total total = Rule::kNothing;
                      if (std::is_same_v<Rule, Add> && from.bound == nullptr) {
                        FoldExactRow(from.value + at, g.reduced, total);
                        finish(o, total);
                        continue;
                      }
                      std::array<Total, 8> lanes;
                      lanes.fill(Rule::kNothing);
                      FoldColumns<Rule>(from, at, g.reduced / 8, 8, 8, lanes.data());
                      for (const Total& lane : lanes) Rule::Merge(total, lane);
                      for (int64_t i = g.reduced / 8 * 8; i < g.reduced; ++i)
                        Rule::Take(total, from.value[at + i], from.Bound(at + i), from.Likely(at + i));
                      finish(o, total);
                    }
                  });
      return;
    }
    const int64_t strips = (g.inner + kLanes - 1) / kLanes;
    ParallelFor(g.outer * strips, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, g.reduced * kLanes)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t s = begin; s < end; ++s) {
                    const int64_t outer = s / strips, first = s % strips * kLanes;
                    const int64_t width = std::min(kLanes, g.inner - first);
                    std::array<Total, kLanes> totals;
                    totals.fill(Rule::kNothing);
                    FoldColumns<Rule>(from, outer * g.reduced * g.inner + first, g.reduced, g.inner, width,
                                      totals.data());
                    for (int64_t k = 0; k < width; ++k) finish(outer * g.inner + first + k, totals[k]);
                  }
                });
  });
  return sink.Take();
}

// ---- Arbitrary reducers
// ----------------------------------------------------------------------------------------------

// Picks and compares but never rounds: the outcome does not depend on the type computed in.
bool NeverRounds(const Computation& computation) {
  for (const Instruction* inst : computation.Instructions()) {
    bool floats = false;
    ForEachLeaf(inst->shape(), [&](const ShapeIndex&, const Shape& leaf) {
      floats = floats || IsFloat(leaf.type()) || IsComplex(leaf.type());
    });
    if (!floats) continue;
    switch (inst->opcode()) {
      case Opcode::kParameter:
      case Opcode::kConstant:
      case Opcode::kSelect:
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kAbs:
      case Opcode::kNegate:
      case Opcode::kClamp:
      case Opcode::kCopy:
      case Opcode::kTuple:
      case Opcode::kGetTupleElement: continue;
      default: return false;
    }
  }
  return true;
}

bool AllExact(Operands operands) {
  return std::ranges::all_of(operands, [](const ShadowValue* v) { return !v->HasBound() && !v->HasOpen(); });
}

// Elements [.., at, ..] of [outer, reduced, inner], as an array of `shape`.
ShadowValue SliceAt(const ShadowValue& x, const Shape& shape, const Grouping& g, int64_t at) {
  ShadowValue slice;
  slice.shape = shape;
  slice.held = x.held;
  const auto take = [&](const Literal& from, PrimitiveType type) {
    if (from.byte_size() == 0 && x.shape.NumElements() != 0) return Literal();
    Literal to(shape.WithType(type));
    const int64_t width = ByteWidth(type) * g.inner;
    for (int64_t o = 0; o < g.outer; ++o)
      std::memcpy(to.mutable_raw() + o * width, from.raw() + (o * g.reduced + at) * width, width);
    return to;
  };
  if (x.IsFloat()) {
    slice.value = take(x.value, PrimitiveType::kF64);
    slice.bound = take(x.bound, PrimitiveType::kF64);
    slice.likely = take(x.likely, PrimitiveType::kF64);
    return slice;
  }
  slice.exact = take(x.exact, shape.type());
  slice.open = take(x.open, PrimitiveType::kPred);
  return slice;
}

// Anything between the two.
ShadowValue Hull(const ShadowValue& a, const ShadowValue& b) {
  ShadowValue hull = a;
  hull.choices = nullptr;
  if (a.shape.IsTuple()) {
    for (size_t i = 0; i < a.elements.size(); ++i) hull.elements[i] = Hull(a.elements[i], b.elements[i]);
    return hull;
  }
  const int64_t count = a.shape.NumElements();
  if (!a.IsFloat()) {
    Literal open(a.shape.WithType(PrimitiveType::kPred));
    for (int64_t i = 0; i < count; ++i) {
      const bool is_open = (a.HasOpen() && a.open.GetInt(i)) || (b.HasOpen() && b.open.GetInt(i)) ||
                           a.exact.GetInt(i) != b.exact.GetInt(i);
      open.SetInt(i, is_open);
    }
    hull.open = std::move(open);
    return hull;
  }
  const Source x(a), y(b);
  hull.likely = Literal();
  hull.bound = NewBuffer(a.shape);
  auto bound = hull.bound.mutable_data<double>();
  for (int64_t i = 0; i < count; ++i) {
    const double same = x.value[i] == y.value[i] ? 0 : std::fabs(x.value[i] - y.value[i]);
    bound[i] = std::max(x.Bound(i), same + y.Bound(i)) * kUp;
    if (std::isnan(x.Bound(i)) || std::isnan(y.Bound(i))) bound[i] = kUndetermined;
  }
  return hull;
}

// A broadcast of its own.
class Spread {
 public:
  Spread(const Shape& from, const std::vector<int64_t>& dims, const std::vector<int64_t>& along) {
    Computation& entry = module_.AddComputation("entry");
    Instruction& parameter = entry.AddParameter(0, from.WithDefaultLayout());
    inst_ = &entry.Add(Opcode::kBroadcast, Shape(from.type(), dims), {&parameter}, DimensionsAttrs{along});
    entry.SetRoot(*inst_);
    module_.SetEntry(entry);
  }
  const Instruction& inst() const { return *inst_; }

 private:
  Module module_{"broadcast"};
  Instruction* inst_;
};

Result<ShadowValue> SpreadOver(Context& context, const ShadowValue& x, const std::vector<int64_t>& dims,
                               const std::vector<int64_t>& along) {
  const Spread spread(x.shape, dims, along);
  const ShadowValue* args[] = {&x};
  return Move(context, spread.inst(), args);
}

// The body applied element after element, and in a balanced tree; the truth is taken to lie between.
Result<ShadowValue> ReduceByBody(Context& context, const Instruction& inst, const Computation& body, Operands operands,
                                 const std::vector<int64_t>& dimensions) {
  const size_t arity = operands.size() / 2;
  const Shape& first = inst.shape().IsTuple() ? inst.shape().element(0) : inst.shape();
  Grouping g;
  std::vector<ShadowValue> inputs;
  const bool side_by_side = GroupsSideBySide(operands[0]->shape, dimensions, &g);
  for (size_t i = 0; i < arity; ++i) {
    inputs.push_back(side_by_side ? *operands[i] : TRY(ReducedLast(context, *operands[i], dimensions)));
  }
  if (!side_by_side) {
    const int64_t outputs = first.NumElements();
    g = {outputs, outputs == 0 ? 0 : operands[0]->shape.NumElements() / outputs, 1};
  }
  const Lifted apply(body, first.dims());
  const auto combine = [&](const std::vector<ShadowValue>& a,
                           const std::vector<ShadowValue>& b) -> Result<std::vector<ShadowValue>> {
    std::vector<const ShadowValue*> args;
    for (const ShadowValue& x : a) args.push_back(&x);
    for (const ShadowValue& x : b) args.push_back(&x);
    ShadowValue result = TRY(apply(context, args));
    if (result.shape.IsTuple()) return std::move(result.elements);
    std::vector<ShadowValue> one;
    one.push_back(std::move(result));
    return one;
  };
  std::vector<ShadowValue> start;
  for (size_t i = 0; i < arity; ++i) {
    start.push_back(TRY(SpreadOver(context, *operands[arity + i], first.dims(), {})));
  }
  const auto at = [&](int64_t r) {
    std::vector<ShadowValue> slice;
    for (const ShadowValue& input : inputs)
      slice.push_back(SliceAt(input, Shape(input.shape.type(), first.dims()), g, r));
    return slice;
  };
  std::vector<ShadowValue> sequential = start;
  for (int64_t r = 0; r < g.reduced; ++r) sequential = TRY(combine(sequential, at(r)));
  // Subtotals of 2^k elements, largest first, as a binary counter holds them.
  std::vector<std::pair<int64_t, std::vector<ShadowValue>>> subtotals;
  for (int64_t r = 0; r < g.reduced; ++r) {
    subtotals.emplace_back(1, at(r));
    while (subtotals.size() >= 2 && subtotals.back().first == subtotals[subtotals.size() - 2].first) {
      auto last = std::move(subtotals.back());
      subtotals.pop_back();
      subtotals.back().second = TRY(combine(subtotals.back().second, last.second));
      subtotals.back().first *= 2;
    }
  }
  std::vector<ShadowValue> tree = start;
  for (const auto& [count, subtotal] : subtotals) tree = TRY(combine(tree, subtotal));
  context.heuristic = true;

  std::vector<ShadowValue> result;
  for (size_t i = 0; i < arity; ++i) result.push_back(Hull(sequential[i], tree[i]));
  if (!inst.shape().IsTuple()) {
    result[0].shape = inst.shape();
    return std::move(result[0]);
  }
  ShadowValue tuple;
  tuple.shape = inst.shape();
  tuple.elements = std::move(result);
  return tuple;
}

// Of what ReduceByPicking does not follow. A reducer that picks the better of its sides leaves one that no other is
// better than. There are several where it does not tell equals apart, or NaNs, and then it is the order that decides:
// what is left in row-major order, or anything that stays in its place when the two meet, on either side.
Status OpenTies(Context& context, const Instruction& inst, Operands operands, ShadowValue& result) {
  const ReduceAttrs& attrs = inst.attrs<ReduceAttrs>();
  const size_t arity = operands.size() / 2;
  const bool tuple = inst.shape().IsTuple();
  const auto place = [&](size_t k) -> ShadowValue& { return tuple ? result.elements[k] : result; };
  const std::vector<int64_t> dims = operands[0]->shape.dims();
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (std::ranges::find(attrs.dimensions, d) == attrs.dimensions.end()) kept.push_back(d);
  }
  std::vector<ShadowValue> winners;
  for (size_t k = 0; k < arity; ++k) winners.push_back(place(k));

  // Elements with these dims meet the winner at their index of the dimensions `along`.
  const auto meet = [&](const std::vector<ShadowValue>& elements, const std::vector<int64_t>& sizes,
                        const std::vector<int64_t>& along) -> Status {
    std::vector<ShadowValue> spread;
    for (const ShadowValue& winner : winners) spread.push_back(TRY(SpreadOver(context, winner, sizes, along)));
    const Literal outputs = TRY(SourceOf(Spread(winners[0].shape, sizes, along).inst(), 0, {}));
    const Lifted apply(*attrs.to_apply, sizes);
    for (const bool left : {true, false}) {
      std::vector<const ShadowValue*> args;
      for (const ShadowValue& x : left ? spread : elements) args.push_back(&x);
      for (const ShadowValue& x : left ? elements : spread) args.push_back(&x);
      const ShadowValue met = TRY(apply(context, args));
      for (size_t k = 0; k < arity; ++k) OpenTo(tuple ? met.elements[k] : met, outputs.data<int64_t>(), place(k));
    }
    return {};
  };
  std::vector<ShadowValue> elements, starts;
  for (size_t k = 0; k < arity; ++k) {
    elements.push_back(*operands[k]);
    starts.push_back(TRY(SpreadOver(context, *operands[arity + k], winners[0].shape.dims(), {})));
  }
  std::vector<int64_t> all(winners[0].shape.rank());
  std::iota(all.begin(), all.end(), 0);
  TRY(meet(starts, winners[0].shape.dims(), all));
  return meet(elements, dims, kept);
}

bool HasRule(Combiner combiner) {
  return combiner == Combiner::kAdd || combiner == Combiner::kMultiply || combiner == Combiner::kMaximum ||
         combiner == Combiner::kMinimum;
}

// ---- Windows
// ---------------------------------------------------------------------------------------------------------

// Where windows lie: for each result index, the base elements that its window covers (spec/ops.md 0.9).
class Windows {
 public:
  Windows(const Window& window, std::span<const int64_t> base, std::span<const int64_t> result)
      : base_strides_(RowMajorStrides(base)), result_(result.begin(), result.end()) {
    for (size_t d = 0; d < result.size(); ++d) {
      const WindowDim& w = window.dims[d];
      std::vector<int64_t> offsets;
      for (int64_t o = 0; o < result[d]; ++o) {
        for (int64_t k = 0; k < w.size; ++k) {
          const int64_t dilated = o * w.stride + k * w.window_dilation - w.pad_low;
          const int64_t at = dilated % w.base_dilation == 0 ? dilated / w.base_dilation : -1;
          offsets.push_back(dilated >= 0 && at >= 0 && at < base[d] ? at * base_strides_[d] : -1);
        }
      }
      offsets_.push_back(std::move(offsets));
      sizes_.push_back(w.size);
    }
  }

  int64_t size() const { return Product(sizes_); }

  // f(row-major base index), in row-major window order.
  template <class F>
  void ForEach(int64_t result_index, F&& f) const {
    const int64_t rank = static_cast<int64_t>(result_.size());
    const int64_t* tables[16];
    int64_t position[16] = {};
    CHECK(rank <= 16, "rank ", rank);
    for (int64_t d = rank - 1; d >= 0; --d) {
      tables[d] = &offsets_[d][result_index % result_[d] * sizes_[d]];
      result_index /= result_[d];
    }
    for (;;) {
      int64_t index = 0;
      bool inside = true;
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t offset = tables[d][position[d]];
        inside = inside && offset >= 0;
        index += offset;
      }
      if (inside) f(index);
      int64_t d = rank - 1;
      while (d >= 0 && ++position[d] == sizes_[d]) position[d--] = 0;
      if (d < 0) return;
    }
  }

 private:
  std::vector<int64_t> base_strides_, result_, sizes_;
  std::vector<std::vector<int64_t>> offsets_;  // [d][o * size + k]: the base offset, or -1 for padding and holes.
};

// Totals by destination, for the scatters.
class Totals {
 public:
  explicit Totals(const ShadowValue& start)
      : start_(start), from_(start), totals_(start.shape.NumElements(), Add::kNothing), terms_(totals_.size()) {}

  void Add(int64_t at, double value, double bound, double likely) {
    hlo::shadow::Add::Take(totals_[at], value, bound, likely);
    ++terms_[at];
  }
  void Loosen(int64_t at, double bound) {
    totals_[at].bounds += bound;
    totals_[at].likely += bound;
    totals_[at].magnitudes += bound;
    ++terms_[at];
  }

  // Sums the start value and the terms; what received none is left as it was.
  ShadowValue Close(const Context& context, const Instruction& inst) {
    Sink sink(inst.shape(), context.Held(inst), true);
    std::unordered_map<int64_t, Closing> closings;  // By number of terms.
    for (size_t i = 0; i < totals_.size(); ++i) {
      const Bounds start{from_.value[i], from_.Bound(i), from_.Likely(i)};
      if (terms_[i] == 0) {
        sink.Put(i, start);
        continue;
      }
      hlo::shadow::Add::Take(totals_[i], start.value, start.bound, start.likely);
      const auto close = closings.try_emplace(terms_[i], context, inst, Combiner::kAdd, terms_[i] + 1).first;
      sink.Put(i, close->second(totals_[i]));
    }
    return sink.Take();
  }

 private:
  const ShadowValue& start_;
  Source from_;
  std::vector<Total> totals_;
  std::vector<int64_t> terms_;
};

}  // namespace

Result<ShadowValue> Reduce(Context& context, const Instruction& inst, Operands operands) {
  const ReduceAttrs& attrs = inst.attrs<ReduceAttrs>();
  const Combiner combiner = CombinerOf(*attrs.to_apply);
  const bool one = operands.size() == 2;
  if (one && operands[0]->IsFloat() && HasRule(combiner)) {
    Grouping grouping;
    if (GroupsSideBySide(operands[0]->shape, attrs.dimensions, &grouping)) {
      return Fold(context, inst, *operands[0], *operands[1], combiner, grouping);
    }
    const ShadowValue moved = TRY(ReducedLast(context, *operands[0], attrs.dimensions));
    const int64_t outputs = inst.shape().NumElements();
    grouping = {outputs, outputs == 0 ? 0 : moved.shape.NumElements() / outputs, 1};
    return Fold(context, inst, moved, *operands[1], combiner, grouping);
  }
  if (auto picked = TRY(ReduceByPicking(context, inst, operands))) return std::move(*picked);
  const bool exact = NeverRounds(*attrs.to_apply) && AllExact(operands);
  ShadowValue result = exact ? TRY(ThroughInterpreter(context, inst, operands))
                             : TRY(ReduceByBody(context, inst, *attrs.to_apply, operands, attrs.dimensions));
  if (PicksASide(*attrs.to_apply)) TRY(OpenTies(context, inst, operands, result));
  return result;
}

Result<ShadowValue> ReduceWindow(Context& context, const Instruction& inst, Operands operands) {
  const ReduceWindowAttrs& attrs = inst.attrs<ReduceWindowAttrs>();
  const Combiner combiner = CombinerOf(*attrs.to_apply);
  if (operands.size() != 2 || !operands[0]->IsFloat() || !HasRule(combiner)) {
    if (NeverRounds(*attrs.to_apply) && AllExact(operands)) return ThroughInterpreter(context, inst, operands);
    FAIL(UnsupportedAt(inst, "U042", Str("no error bounds for reduce-window with '", attrs.to_apply->name(), "'")));
  }
  const ShadowValue& x = *operands[0];
  const Windows windows(attrs.window, x.shape.dims(), inst.shape().dims());
  const Closing close(context, inst, combiner, windows.size() + 1, AreIntegers(x) && AreIntegers(*operands[1]));
  const Source from(x), start(*operands[1]);
  const bool extreme = combiner == Combiner::kMaximum || combiner == Combiner::kMinimum;
  Sink sink(inst.shape(), extreme ? x.held : context.Held(inst), close.HasLikely() || x.HasLikely());
  WithRule(combiner, [&]<class Rule>(Rule) {
    ParallelFor(
        inst.shape().NumElements(), std::max<int64_t>(1, (1 << 14) / windows.size()), [&](int64_t begin, int64_t end) {
          for (int64_t o = begin; o < end; ++o) {
            Total total = Rule::kNothing;
            Rule::Take(total, start.value[0], start.Bound(0), start.Likely(0));
            windows.ForEach(o, [&](int64_t i) { Rule::Take(total, from.value[i], from.Bound(i), from.Likely(i)); });
            sink.Put(o, close(total));
          }
        });
  });
  return sink.Take();
}

// The winner of a window is known unless another element comes within the bounds; then each of them may receive the
// source, or not.
Result<ShadowValue> SelectAndScatter(Context& context, const Instruction& inst, Operands operands) {
  const SelectAndScatterAttrs& attrs = inst.attrs<SelectAndScatterAttrs>();
  const Instruction& select = attrs.select->root();
  const bool in_order = select.Is(Opcode::kCompare) && select.operand(0).Is(Opcode::kParameter) &&
                        select.operand(1).Is(Opcode::kParameter) && select.operand(0).parameter_number() == 0 &&
                        select.operand(1).parameter_number() == 1;
  if (!operands[0]->IsFloat() || !in_order || CombinerOf(*attrs.scatter) != Combiner::kAdd) {
    if (AllExact(operands) && NeverRounds(*attrs.scatter)) return ThroughInterpreter(context, inst, operands);
    FAIL(UnsupportedAt(inst, "U042",
                       Str("no error bounds for select-and-scatter with '", attrs.select->name(), "' and '",
                           attrs.scatter->name(), "'")));
  }
  const ComparisonDirection direction = select.attrs<CompareAttrs>().direction;
  const bool largest = direction == ComparisonDirection::kGe || direction == ComparisonDirection::kGt;
  const bool earlier = direction == ComparisonDirection::kGe || direction == ComparisonDirection::kLe;
  if (direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe) {
    FAIL(UnsupportedAt(inst, "U042", "no error bounds for select-and-scatter that selects by equality"));
  }
  const ShadowValue& x = *operands[0];
  const ShadowValue& source = *operands[1];
  const Windows windows(attrs.window, x.shape.dims(), source.shape.dims());
  const Source from(x), add(source);

  ShadowValue start;
  start.shape = inst.shape();
  start.value = NewBuffer(inst.shape());
  std::ranges::fill(start.value.mutable_data<double>(), Values(operands[2]->value)[0]);
  if (operands[2]->HasBound()) {
    start.bound = NewBuffer(inst.shape());
    std::ranges::fill(start.bound.mutable_data<double>(), Values(operands[2]->bound)[0]);
  }
  Totals totals(start);
  for (int64_t s = 0; s < source.shape.NumElements(); ++s) {
    int64_t best = -1;
    double best_value = 0;
    windows.ForEach(s, [&](int64_t i) {
      const double v = largest ? from.value[i] : -from.value[i];
      const bool keep = best >= 0 && (earlier ? best_value >= v : best_value > v);
      if (keep) return;
      best = i;
      best_value = v;
    });
    if (best < 0) continue;
    totals.Add(best, add.value[s], add.Bound(s), add.Likely(s));
    if (from.bound == nullptr) continue;
    bool contested = false;
    windows.ForEach(s, [&](int64_t i) {
      const double v = largest ? from.value[i] : -from.value[i];
      if (i == best || best_value - v > from.Bound(i) + from.Bound(best) || from.Bound(i) + from.Bound(best) == 0)
        return;
      contested = true;
      totals.Loosen(i, std::fabs(add.value[s]) + add.Bound(s));
    });
    if (contested) totals.Loosen(best, std::fabs(add.value[s]) + add.Bound(s));
  }
  return totals.Close(context, inst);
}

namespace {

// The destinations of a scatter's updates (spec/ops.md 3).
class Destinations {
 public:
  Destinations(const ScatterAttrs& attrs, const Shape& operand, const Shape& indices, const Shape& updates)
      : attrs_(attrs),
        operand_(operand),
        indices_(indices),
        updates_(updates),
        strides_(RowMajorStrides(operand.dims())),
        index_strides_(RowMajorStrides(indices.dims())) {
    const auto in = [](const std::vector<int64_t>& list, int64_t d) {
      return std::ranges::find(list, d) != list.end();
    };
    std::vector<int64_t> window_operand_dims;
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (!in(attrs.inserted_window_dims, d) && !in(attrs.input_batching_dims, d)) window_operand_dims.push_back(d);
    }
    extent_.assign(operand.rank(), 1);
    window_of_.assign(updates.rank(), -1);
    for (size_t k = 0; k < attrs.update_window_dims.size(); ++k) {
      window_of_[attrs.update_window_dims[k]] = window_operand_dims[k];
      extent_[window_operand_dims[k]] = updates.dim(attrs.update_window_dims[k]);
    }
    int64_t next = 0;
    index_dim_of_.assign(updates.rank(), -1);
    for (int64_t d = 0; d < updates.rank(); ++d) {
      if (window_of_[d] >= 0) continue;
      if (next == attrs.index_vector_dim) ++next;
      index_dim_of_[d] = next++;
    }
  }

  // Row-major operand index of update `u`, or -1 when its window does not fit.
  int64_t Of(int64_t u, const Literal& indices) const {
    std::vector<int64_t> offset(operand_.rank(), 0), start(operand_.rank(), 0), at(indices_.rank(), 0);
    for (int64_t d = updates_.rank() - 1; d >= 0; --d) {
      const int64_t i = u % updates_.dim(d);
      u /= updates_.dim(d);
      if (window_of_[d] >= 0) {
        offset[window_of_[d]] = i;
      } else {
        at[index_dim_of_[d]] = i;
      }
    }
    int64_t base = 0;
    for (int64_t d = 0; d < indices_.rank(); ++d) {
      if (d != attrs_.index_vector_dim) base += at[d] * index_strides_[d];
    }
    const bool has_vector = attrs_.index_vector_dim < indices_.rank();
    for (size_t k = 0; k < attrs_.scatter_dims_to_operand_dims.size(); ++k) {
      start[attrs_.scatter_dims_to_operand_dims[k]] =
          indices.GetInt(base + (has_vector ? static_cast<int64_t>(k) * index_strides_[attrs_.index_vector_dim] : 0));
    }
    for (size_t k = 0; k < attrs_.input_batching_dims.size(); ++k)
      start[attrs_.input_batching_dims[k]] = at[attrs_.scatter_indices_batching_dims[k]];
    int64_t index = 0;
    for (int64_t d = 0; d < operand_.rank(); ++d) {
      if (start[d] < 0 || start[d] > operand_.dim(d) - extent_[d]) return -1;
      index += (start[d] + offset[d]) * strides_[d];
    }
    return index;
  }

 private:
  const ScatterAttrs& attrs_;
  const Shape& operand_;
  const Shape& indices_;
  const Shape& updates_;
  std::vector<int64_t> strides_, index_strides_;
  std::vector<int64_t> extent_;        // Of a window, by operand dimension.
  std::vector<int64_t> window_of_;     // By update dimension: the operand dimension, or -1.
  std::vector<int64_t> index_dim_of_;  // By update dimension that is no window: the dimension of the indices.
};

// Each destination holds its start value or one of the updates that meet there; which one is open when there are
// several.
ShadowValue Overwrite(const Instruction& inst, const ShadowValue& x, const ShadowValue& updates,
                      const std::vector<int64_t>& destination) {
  const Source from(x), with(updates);
  const bool bounded = x.HasBound() || updates.HasBound() || !inst.attrs<ScatterAttrs>().unique_indices;
  ShadowValue result = x;
  result.shape = inst.shape();
  result.likely = Literal();
  result.choices = nullptr;
  if (bounded && !x.HasBound()) result.bound = Zeros(x.shape);
  double* value = result.value.mutable_data<double>().data();
  double* bound = bounded ? result.bound.mutable_data<double>().data() : nullptr;
  std::vector<uint8_t> written(x.shape.NumElements());
  for (size_t u = 0; u < destination.size(); ++u) {
    const int64_t at = destination[u];
    if (at < 0) continue;
    const double e = with.Bound(u);
    if (written[at] && (value[at] != with.value[u] || e != 0 || bound[at] != 0)) {
      const double low = std::min(value[at] - bound[at], with.value[u] - e),
                   high = std::max(value[at] + bound[at], with.value[u] + e);
      value[at] = low + (high - low) / 2;
      bound[at] = (high - low) / 2 * kUp + kTiny;
      continue;
    }
    written[at] = 1;
    value[at] = with.value[u];
    if (bound) bound[at] = e;
  }
  return result;
}

}  // namespace

Result<ShadowValue> Scatter(Context& context, const Instruction& inst, Operands operands) {
  const ScatterAttrs& attrs = inst.attrs<ScatterAttrs>();
  const Combiner combiner = CombinerOf(*attrs.to_apply);
  if (operands.size() != 3 || !operands[0]->IsFloat()) {
    if (AllExact(operands) && NeverRounds(*attrs.to_apply)) return ThroughInterpreter(context, inst, operands);
    FAIL(UnsupportedAt(inst, "U042", Str("no error bounds for scatter with ", inst.operand_count(), " operands")));
  }
  const ShadowValue &x = *operands[0], &indices = *operands[1], &updates = *operands[2];
  if (indices.HasOpen() && std::ranges::count(indices.open.data<uint8_t>(), 1) > 0) return Undetermined(inst.shape());

  const Destinations destinations(attrs, x.shape, indices.shape, updates.shape);
  std::vector<int64_t> destination(updates.shape.NumElements());
  ParallelFor(updates.shape.NumElements(), 1 << 13, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) destination[u] = destinations.Of(u, indices.exact);
  });
  if (combiner == Combiner::kAssign) return Overwrite(inst, x, updates, destination);
  const Source add(updates);
  if (combiner == Combiner::kAdd) {
    Totals totals(x);
    for (size_t u = 0; u < destination.size(); ++u) {
      if (destination[u] >= 0) totals.Add(destination[u], add.value[u], add.Bound(u), add.Likely(u));
    }
    return totals.Close(context, inst);
  }
  if (!HasRule(combiner)) {
    if (AllExact(operands) && NeverRounds(*attrs.to_apply)) return ThroughInterpreter(context, inst, operands);
    FAIL(UnsupportedAt(inst, "U042", Str("no error bounds for scatter with '", attrs.to_apply->name(), "'")));
  }
  const Source from(x);
  ShadowValue result;
  WithRule(combiner, [&]<class Rule>(Rule) {
    std::vector<Total> totals(x.shape.NumElements(), Rule::kNothing);
    std::vector<int64_t> terms(totals.size());
    for (size_t u = 0; u < destination.size(); ++u) {
      if (destination[u] < 0) continue;
      Rule::Take(totals[destination[u]], add.value[u], add.Bound(u), add.Likely(u));
      ++terms[destination[u]];
    }
    const int64_t most = terms.empty() ? 0 : *std::ranges::max_element(terms);
    const Closing close(context, inst, combiner, most + 1);
    Sink sink(inst.shape(), context.Held(inst), false);
    for (size_t i = 0; i < totals.size(); ++i) {
      if (terms[i] == 0) {
        sink.Put(i, {from.value[i], from.Bound(i), 0});
        continue;
      }
      Rule::Take(totals[i], from.value[i], from.Bound(i), from.Likely(i));
      sink.Put(i, close(totals[i]));
    }
    result = sink.Take();
  });
  return result;
}

}  // namespace hlo::shadow
