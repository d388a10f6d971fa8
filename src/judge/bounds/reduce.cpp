// Bounds of reduce. Combiners with a rule in totals.h use it. For reducers that return one of their elements, all
// possible elements are found (choices.cpp). Other reducers are applied in two orders. Rules: docs/comparison.md#sums.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/parallel.h"
#include "interp/interpreter.h"
#include "interp/ops/scalar_body.h"
#include "judge/bounds/plain_body.h"
#include "judge/bounds/totals.h"

namespace hlo::shadow {
namespace {

constexpr int64_t kLanes = 32;

template <class Rule>
void FoldColumns(const Source& from, int64_t at, int64_t rows, int64_t stride, int64_t width, Total* totals) {
  for (int64_t r = 0; r < rows; ++r, at += stride) {
    for (int64_t k = 0; k < width; ++k)
      Rule::Take(totals[k], from.value[at + k], from.Bound(at + k), from.Likely(at + k));
  }
}

// A fast path for exact elements, with independent accumulators.
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

// An array as [outer, reduced, inner], if the reduced dimensions are adjacent.
struct Grouping {
  int64_t outer, reduced, inner;
};

bool GroupsSideBySide(const Shape& shape, const std::vector<int64_t>& dimensions, Grouping* grouping) {
  *grouping = {1, 1, 1};
  int phase = 0;  // 0 before, 1 inside and 2 after the reduced dimensions.
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
  for (int64_t i = 0; i < count; ++i)
    bound[i] = HullOf({x.value[i], x.Bound(i)}, {y.value[i], y.Bound(i)}, x.value[i]).bound;
  return hull;
}

bool Meet(std::span<const ShadowValue> a, std::span<const ShadowValue> b) {
  const auto meet = [](const ShadowValue& x, const ShadowValue& y) {
    if (!x.IsFloat()) return AnyOpen(x) || AnyOpen(y) || x.exact.BitEquals(y.exact);
    const Source v(x), w(y);
    for (int64_t i = 0; i < x.shape.NumElements(); ++i) {
      if (std::fabs(v.value[i] - w.value[i]) > v.Bound(i) + w.Bound(i)) return false;
    }
    return true;
  };
  return std::ranges::equal(a, b, meet);
}

ShadowValue Open(ShadowValue value) {
  for (ShadowValue& element : value.elements) element = Open(std::move(element));
  if (!value.shape.IsArray()) return value;
  if (value.IsFloat()) {
    value.bound = NewBuffer(value.shape);
    std::ranges::fill(value.bound.mutable_data<double>(), kUndetermined);
    value.likely = Literal();
    return value;
  }
  value.open = Literal(value.shape.WithType(PrimitiveType::kPred));
  std::ranges::fill(value.open.mutable_data<uint8_t>(), uint8_t{1});
  return value;
}

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

// Applies the body sequentially and in a balanced tree, and assumes that the right result is between both results. If
// samples show that the body depends on the order, there are no bounds, and two modules are compared by the
// interpreter's bits.
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
  bool any_order = true;
  constexpr int64_t kPlaces = 32;
  const int64_t last = PicksASide(body) ? -1 : g.reduced - 3;
  for (int64_t r = 0; r <= last && any_order; r += std::max<int64_t>(1, last / (kPlaces - 1))) {
    const auto a = at(r), b = at(r + 1), c = at(r + 2);
    const auto ab = TRY(combine(a, b));
    any_order = Meet(ab, TRY(combine(b, a))) && Meet(TRY(combine(ab, c)), TRY(combine(a, TRY(combine(b, c)))));
  }
  const int64_t looked_at = any_order ? g.reduced : 1;  // Without bounds, one element is enough.
  std::vector<ShadowValue> sequential = start;
  for (int64_t r = 0; r < looked_at; ++r) sequential = TRY(combine(sequential, at(r)));
  // Subtotals of 2^k elements, largest first.
  std::vector<std::pair<int64_t, std::vector<ShadowValue>>> subtotals;
  for (int64_t r = 0; r < looked_at; ++r) {
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

  const bool meet = any_order && Meet(sequential, tree);
  if (!meet && context.options.widened) return Interpreted(context, inst, operands);
  std::vector<ShadowValue> result;
  for (size_t i = 0; i < arity; ++i) {
    ShadowValue hull = Hull(sequential[i], tree[i]);
    result.push_back(meet ? std::move(hull) : Open(std::move(hull)));
  }
  if (!inst.shape().IsTuple()) {
    result[0].shape = inst.shape();
    return std::move(result[0]);
  }
  ShadowValue tuple;
  tuple.shape = inst.shape();
  tuple.elements = std::move(result);
  return tuple;
}

// A result that depends only on its own two parameters, through one op.
class Apart {
 public:
  static bool Is(const Computation& reducer, int64_t i) {
    const int64_t arity = std::ssize(reducer.parameters()) / 2;
    const Instruction& op = reducer.root().operand(i);
    const auto is = [](const Instruction& x, int64_t number) {
      return x.Is(Opcode::kParameter) && x.parameter_number() == number;
    };
    return op.operand_count() == 2 && ((is(op.operand(0), i) && is(op.operand(1), arity + i)) ||
                                       (is(op.operand(1), i) && is(op.operand(0), arity + i)));
  }

  Apart(const Instruction& reduce, const Computation& body, int64_t i) {
    const ReduceAttrs& attrs = reduce.attrs<ReduceAttrs>();
    const int64_t arity = reduce.operand_count() / 2;
    const Instruction& op = body.root().operand(i);
    Computation& reducer = module_.AddComputation("reducer");
    Instruction* const parameters[] = {&reducer.AddParameter(0, op.shape()), &reducer.AddParameter(1, op.shape())};
    const bool turned = op.operand(0).parameter_number() != i;
    reducer.SetRoot(reducer.AddClone(op, op.shape(), {parameters[turned ? 1 : 0], parameters[turned ? 0 : 1]}));
    Computation& entry = module_.AddComputation("entry");
    Instruction& x = entry.AddParameter(0, reduce.operand(i).shape());
    Instruction& init = entry.AddParameter(1, reduce.operand(arity + i).shape());
    entry.SetRoot(entry.Add(Opcode::kReduce, reduce.shape().element(i), {&x, &init},
                            ReduceAttrs{.dimensions = attrs.dimensions, .to_apply = &reducer}));
    module_.SetEntry(entry);
  }
  const Instruction& inst() const { return module_.entry().root(); }

 private:
  Module module_{"apart"};
};

Result<std::optional<ShadowValue>> ReduceApart(Context& context, const Instruction& inst, const Computation& reducer,
                                               Operands operands) {
  const int64_t arity = std::ssize(operands) / 2;
  if (!inst.shape().IsTuple() || !reducer.root().Is(Opcode::kTuple)) return std::nullopt;
  for (int64_t i = 0; i < arity; ++i) {
    if (!Apart::Is(reducer, i)) return std::nullopt;
  }
  ShadowValue tuple;
  tuple.shape = inst.shape();
  for (int64_t i = 0; i < arity; ++i) {
    const Apart apart(inst, reducer, i);
    const ShadowValue* own[] = {operands[i], operands[arity + i]};
    tuple.elements.push_back(TRY(Reduce(context, apart.inst(), own)));
  }
  return tuple;
}

// Used if ReduceByPicking fails. No other element beats the result, and among equal elements and NaNs the order
// decides. So the reducer's results for the winner and any other element are permitted, in either order.
Status OpenTies(Context& context, const Instruction& inst, const Computation& body, Operands operands,
                ShadowValue& result) {
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

  // Combines elements with winners. `along` lists the dimensions that winners have.
  const auto meet = [&](const std::vector<ShadowValue>& elements, const std::vector<int64_t>& sizes,
                        const std::vector<int64_t>& along) -> Status {
    std::vector<ShadowValue> spread;
    for (const ShadowValue& winner : winners) spread.push_back(TRY(SpreadOver(context, winner, sizes, along)));
    const Literal outputs = TRY(SourceOf(Spread(winners[0].shape, sizes, along).inst(), 0, {}));
    const Lifted apply(body, sizes);
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

// Whether samples of integers give the same bits forwards, backwards and as a tree. All samples share each run of the
// body, because a loop repeats this check in every trip.
Result<bool> KeepsAnyOrder(const Computation& body, Operands operands) {
  constexpr int64_t kSamples = 4, kTerms = 13;
  const size_t arity = operands.size() / 2;
  const int64_t count = operands[0]->shape.NumElements();
  if (count == 0) return true;
  const auto apply = TRY(ScalarBody::Make(body, {}, 0));
  ScalarBody::Scratch scratch;
  using Elements = std::vector<Literal>;
  const auto at = [&](int64_t term) {
    Elements elements;
    for (size_t i = 0; i < arity; ++i) {
      elements.emplace_back(Shape(operands[i]->shape.type(), {kSamples}));
      for (int64_t sample = 0; sample < kSamples; ++sample)
        elements.back().SetInt(sample, operands[i]->exact.GetInt((104729 * sample + term) % count));
    }
    return elements;
  };
  const auto combine = [&](const Elements& a, const Elements& b) -> Result<Elements> {
    Elements results = a;
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    for (const Elements* side : {&a, &b}) {
      for (const Literal& each : *side) in.push_back(each.raw());
    }
    for (Literal& result : results) out.push_back(result.mutable_raw());
    TRY(apply->Run(in.data(), out.data(), kSamples, scratch));
    return results;
  };
  const std::function<Result<Elements>(int64_t, int64_t)> tree = [&](int64_t from, int64_t terms) -> Result<Elements> {
    if (terms == 1) return at(from);
    return combine(TRY(tree(from, terms / 2)), TRY(tree(from + terms / 2, terms - terms / 2)));
  };
  const auto are_equal = [](const Literal& x, const Literal& y) { return x.BitEquals(y); };
  const bool picks = PicksASide(body);
  Elements in_order = at(0), backwards = at(kTerms - 1);
  for (int64_t k = 1; k < kTerms; ++k) {
    in_order = TRY(combine(in_order, at(k)));
    if (!picks) backwards = TRY(combine(backwards, at(kTerms - 1 - k)));
  }
  return std::ranges::equal(in_order, TRY(tree(0, kTerms)), are_equal) &&
         (picks || std::ranges::equal(in_order, backwards, are_equal));
}

}  // namespace

Result<ShadowValue> Transposed(Context& context, const ShadowValue& x, const std::vector<int64_t>& order) {
  std::vector<int64_t> dims;
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

Result<ShadowValue> ReducedLast(Context& context, const ShadowValue& x, const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> order;
  for (const bool reduced : {false, true}) {
    for (int64_t d = 0; d < x.shape.rank(); ++d) {
      if ((std::ranges::find(dimensions, d) != dimensions.end()) == reduced) order.push_back(d);
    }
  }
  return Transposed(context, x, order);
}

namespace {

// `body` is the reducer's PlainBody.
Result<ShadowValue> ReduceWith(Context& context, const Instruction& inst, const Computation& body, Operands operands) {
  const ReduceAttrs& attrs = inst.attrs<ReduceAttrs>();
  const Combiner combiner = CombinerOf(body);
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
  if (auto apart = TRY(ReduceApart(context, inst, body, operands))) return std::move(*apart);
  if (auto picked = TRY(ReduceByPicking(context, inst, body, operands))) return std::move(*picked);
  const bool exact = NeverRounds(body) && AllExact(operands);
  ShadowValue result = exact ? TRY(ThroughInterpreter(context, inst, operands))
                             : TRY(ReduceByBody(context, inst, body, operands, attrs.dimensions));
  const bool integers =
      std::ranges::none_of(operands, [](const ShadowValue* x) { return x->IsFloat() || IsComplex(x->shape.type()); });
  if (exact && integers && !HasRule(combiner) && !TRY(KeepsAnyOrder(body, operands)))
    return context.options.widened ? Interpreted(context, inst, operands) : Open(std::move(result));
  if (PicksASide(body)) TRY(OpenTies(context, inst, body, operands, result));
  return result;
}

}  // namespace

Result<ShadowValue> Reduce(Context& context, const Instruction& inst, Operands operands) {
  const Computation& body = *inst.attrs<ReduceAttrs>().to_apply;
  const auto plain = PlainBody::Of(body);
  if (plain == nullptr) return ReduceWith(context, inst, body, operands);
  ShadowOptions options = context.options;
  if (options.given)
    options.given = [&](const Instruction& inside) { return context.options.given(plain->Original(inside)); };
  Context inner = {.options = options, .top = context.top, .heuristic = context.heuristic, .depth = context.depth};
  auto result = ReduceWith(inner, inst, plain->computation(), operands);
  context.heuristic = inner.heuristic;
  return result;
}

}  // namespace hlo::shadow
