// sort and topk with several possible orders: keys are close, or equal in an unstable sort. The numbers of elements
// that are certainly before and after an element limit its positions. An element takes one position, with its key and
// payload (judge/compare/choices.cpp).
#include <algorithm>
#include <numeric>

#include "judge/bounds/rules.h"

namespace hlo::shadow {
namespace {

// Longer lines are compared with the interpreter's result.
constexpr int64_t kLongestLine = 1024;
constexpr int64_t kMostPairs = int64_t{1} << 24, kPairsAtOnce = int64_t{1} << 20;
constexpr int64_t kMostCandidates = int64_t{1} << 22;

bool IsDecidedEverywhere(const ShadowValue& x) {
  if (!x.IsFloat() || !x.HasBound()) return true;
  return std::ranges::all_of(x.bound.data<double>(), [](double e) { return std::isfinite(e); });
}

// less[i * count + j]: 1 if i is before j, 0 if not, 2 if undetermined.
using Relation = std::vector<uint8_t>;

// As in sort, the computation has a left and a right parameter for each operand.
class Comparator {
 public:
  Comparator(const Computation& body, std::vector<ShadowValue> operands, int64_t count)
      : body_(body), operands_(std::move(operands)), count_(count) {}

  Result<std::vector<Relation>> Relations(Context& context, int64_t first, int64_t lines, bool bounded) const {
    const int64_t square = count_ * count_;
    std::vector<int64_t> left, right;
    for (int64_t line = first; line < first + lines; ++line) {
      for (int64_t pair = 0; pair < square; ++pair) {
        left.push_back(line * count_ + pair / count_);
        right.push_back(line * count_ + pair % count_);
      }
    }
    const std::vector<int64_t> dims{lines * square};
    std::vector<ShadowValue> sides;
    for (const ShadowValue& operand : operands_) {
      for (const auto& at : {left, right}) {
        sides.push_back(Take(operand, at, dims));
        if (!bounded) sides.back().bound = sides.back().open = Literal();
      }
    }
    std::vector<const ShadowValue*> args;
    for (const ShadowValue& side : sides) args.push_back(&side);
    const ShadowValue met = TRY(Lifted(body_, dims)(context, args));
    std::vector<Relation> relations;
    for (int64_t line = 0; line < lines; ++line) {
      Relation& less = relations.emplace_back(square);
      for (int64_t pair = 0; pair < square; ++pair) {
        const int64_t at = line * square + pair;
        less[pair] = met.HasOpen() && met.open.GetInt(at) != 0 ? 2 : static_cast<uint8_t>(met.exact.GetInt(at) != 0);
      }
    }
    return relations;
  }

 private:
  const Computation& body_;
  std::vector<ShadowValue> operands_;
  int64_t count_;
};

// The stable order. Empty if `less` is not an order.
std::vector<int64_t> OrderBy(const Relation& less, int64_t count) {
  std::vector<int64_t> before(count), order(count);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < count; ++j) before[j] += less[i * count + j];
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      if (less[i * count + j] != (before[i] < before[j] ? 1 : 0)) return {};
    }
  }
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return before[a] < before[b]; });
  return order;
}

std::vector<std::vector<int64_t>> MayStandAt(const Relation& less, int64_t count, int64_t places, bool stable) {
  std::vector<std::vector<int64_t>> may(places);
  for (int64_t i = 0; i < count; ++i) {
    int64_t first = 0, last = count - 1;
    for (int64_t j = 0; j < count; ++j) {
      const uint8_t after = less[j * count + i], before = less[i * count + j];
      const bool tie = stable && i != j && after == 0 && before == 0;
      first += after == 1 || (tie && j < i) ? 1 : 0;
      last -= before == 1 || (tie && j > i) ? 1 : 0;
    }
    for (int64_t place = first; place <= std::min(last, places - 1); ++place) may[place].push_back(i);
  }
  return may;
}

// For each place of each line: the element that the interpreter puts there, and the elements that may be there.
struct Ranks {
  std::vector<int64_t> winners, candidates, of;
  Decisions decisions{.first = {0}};
};

struct LineSizes {
  int64_t lines, count, places;
};

std::optional<Ranks> RankLines(Context& context, const Comparator& comparator, const std::vector<ShadowValue>& arrays,
                               const LineSizes& sizes, bool stable, bool all_exact) {
  const auto [lines, count, places] = sizes;
  Ranks ranks;
  auto& [winners, candidates, of, decisions] = ranks;
  const int64_t at_once = std::max<int64_t>(1, kPairsAtOnce / (count * count));
  for (int64_t first = 0; first < lines; first += at_once) {
    const int64_t some = std::min(at_once, lines - first);
    const auto exact = comparator.Relations(context, first, some, false);
    const auto bounded = all_exact ? exact : comparator.Relations(context, first, some, true);
    if (!exact || !bounded) return std::nullopt;
    for (int64_t line = first; line < first + some; ++line) {
      // If signs are undetermined, the algorithm determines the order.
      if (std::ranges::count(exact->at(line - first), 2) > 0) return std::nullopt;
      const std::vector<int64_t> order = OrderBy(exact->at(line - first), count);
      if (order.empty()) return std::nullopt;
      const auto may = MayStandAt(bounded->at(line - first), count, places, stable);
      const bool open = std::ranges::any_of(may, [](const auto& elements) { return elements.size() != 1; });
      for (int64_t place = 0; place < places; ++place) {
        const int64_t result = line * places + place;
        winners.push_back(line * count + order[place]);
        bool by_order = true;
        for (const int64_t element : may[place]) {
          if (!open) break;
          candidates.push_back(line * count + element);
          of.push_back(result);
          for (const ShadowValue& array : arrays)
            by_order = by_order && (!array.HasBound() || array.bound.GetDouble(candidates.back()) == 0);
        }
        decisions.first.push_back(static_cast<int64_t>(candidates.size()));
        decisions.by_order.push_back(by_order ? 1 : 0);
        decisions.line.push_back(line);
      }
      if (static_cast<int64_t>(candidates.size()) > kMostCandidates) return std::nullopt;
    }
  }
  return ranks;
}

const Computation& TotalOrder(Module& module, const Shape& scalar, bool descends) {
  Computation& order = module.AddComputation("order");
  Instruction &a = order.AddParameter(0, scalar), &b = order.AddParameter(1, scalar);
  order.SetRoot(order.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&a, &b},
                          CompareAttrs{.direction = descends ? ComparisonDirection::kGt : ComparisonDirection::kLt,
                                       .type = ComparisonType::kTotalOrder}));
  module.SetEntry(order);
  return order;
}

}  // namespace

Result<std::optional<ShadowValue>> SortByRanks(Context& context, const Instruction& inst, Operands operands) {
  const bool sort = inst.Is(Opcode::kSort);
  const bool stable = sort ? inst.attrs<SortAttrs>().is_stable : inst.attrs<TopKAttrs>().is_stable;
  const bool all_exact = AllExact(operands);
  const Shape& shape = operands[0]->shape;
  const int64_t dimension = sort ? inst.attrs<SortAttrs>().dimension.value : shape.rank() - 1;
  // The interpreter sorts exact values, unless they are held in f64.
  const bool interpreted = stable && all_exact && !context.options.widened;
  if (shape.rank() == 0 || shape.NumElements() == 0 || interpreted) return std::nullopt;
  const int64_t count = shape.dim(dimension), lines = shape.NumElements() / count;
  const int64_t places = sort ? count : inst.attrs<TopKAttrs>().k;
  if (count > kLongestLine || lines * count * count > kMostPairs) return std::nullopt;
  for (const ShadowValue* operand : operands) {
    const bool known = !IsComplex(operand->shape.type()) && BitWidth(operand->shape.type()) >= 8 &&
                       IsDecidedEverywhere(*operand) && !AnyOpen(*operand);
    if (!known) return std::nullopt;
  }

  // topk sorts by the total order of keys, with indices as payload.
  Module module("order");
  const Computation* body = sort ? inst.attrs<SortAttrs>().to_apply : nullptr;
  std::vector<ShadowValue> arrays;
  for (const ShadowValue* operand : operands) arrays.push_back(TRY(ReducedLast(context, *operand, {dimension})));
  std::vector<ShadowValue> keys = arrays;
  if (!sort) {
    body = &TotalOrder(module, Shape::Scalar(shape.type()), inst.attrs<TopKAttrs>().largest);
    Literal index(Shape(PrimitiveType::kS32, shape.dims()));
    for (int64_t i = 0; i < shape.NumElements(); ++i) index.SetInt(i, i % count);
    arrays.push_back(ToShadow(index));
  }

  const Comparator comparator(*body, std::move(keys), count);
  std::optional<Ranks> ranks = RankLines(context, comparator, arrays, {lines, count, places}, stable, all_exact);
  if (!ranks) return std::nullopt;
  auto& [winners, candidates, of, decisions] = *ranks;
  decisions.element = candidates;
  const auto shared = std::make_shared<const Decisions>(std::move(decisions));

  std::vector<int64_t> dims = arrays[0].shape.dims(), back(shape.rank());
  dims.back() = places;
  for (int64_t d = 0, next = 0; d < shape.rank(); ++d) back[d] = d == dimension ? shape.rank() - 1 : next++;
  ShadowValue result;
  result.shape = inst.shape();
  for (const ShadowValue& from : arrays) {
    ShadowValue array = Take(from, winners, dims);
    if (!candidates.empty()) {
      Choices choices{.decisions = shared};
      choices.candidates = Take(from, candidates, {static_cast<int64_t>(candidates.size())});
      OpenTo(choices.candidates, of, array);
      array.choices = std::make_shared<const Choices>(std::move(choices));
    }
    result.elements.push_back(TRY(Transposed(context, array, back)));
    const auto k = static_cast<int64_t>(result.elements.size()) - 1;
    result.elements.back().shape = inst.shape().IsTuple() ? inst.shape().element(k) : inst.shape();
  }
  if (inst.shape().IsTuple()) return std::optional(std::move(result));
  return std::optional(std::move(result.elements[0]));
}

}  // namespace hlo::shadow
