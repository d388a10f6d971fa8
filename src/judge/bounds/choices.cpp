// Reducers that return one of several elements, such as an argmax. The order of combining decides among equal elements
// and NaNs, and roundings decide among close ones. All possible elements are found, so that others are wrong
// (docs/comparison.md#decisions).
//
// Movements and elementwise operations with one operand propagate choices, others only the bound.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "judge/bounds/picking_reducers.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {
namespace {

// In a round, an element of each result is combined with all others.
constexpr int kMostRounds = 16;

// The combined elements as [result, row]. The last row is the initial value.
class Elements {
 public:
  static Result<Elements> Of(Context& context, const Instruction& inst, Operands operands, int64_t results) {
    const size_t arity = operands.size() / 2;
    Elements elements;
    elements.results_ = results;
    elements.rows_ = operands[0]->shape.NumElements() / results + 1;
    for (size_t k = 0; k < arity; ++k) {
      elements.places_.push_back(TRY(ReducedLast(context, *operands[k], inst.attrs<ReduceAttrs>().dimensions)));
      elements.starts_.push_back(*operands[arity + k]);
    }
    return elements;
  }

  int64_t results() const { return results_; }
  int64_t rows() const { return rows_; }
  size_t arity() const { return places_.size(); }

  // Index in the operands, or -1 for the initial value.
  int64_t IndexOf(int64_t element) const {
    const int64_t row = element % rows_;
    return row == rows_ - 1 ? -1 : element / rows_ * (rows_ - 1) + row;
  }
  ShadowValue Places(size_t k, std::span<const int64_t> elements, const std::vector<int64_t>& dims) const {
    std::vector<int64_t> at;
    at.reserve(elements.size());
    for (const int64_t element : elements) at.push_back(IndexOf(element));
    return Take(places_[k], at, dims, &starts_[k]);
  }
  const ShadowValue& Place(size_t k) const { return places_[k]; }
  const ShadowValue& Start(size_t k) const { return starts_[k]; }

  bool HasBothZeros(size_t k, int64_t result) const {
    bool positive = false, negative = false;
    for (int64_t element = result * rows_; element < (result + 1) * rows_; ++element) {
      const auto& [x, i] = Find(k, element);
      const double value = Values(x.value)[i];
      if (value == 0) (std::signbit(value) ? negative : positive) = true;
    }
    return positive && negative;
  }

  Elements WithoutBounds() const {
    Elements exact = *this;
    for (std::vector<ShadowValue>* values : {&exact.places_, &exact.starts_}) {
      for (ShadowValue& value : *values) {
        value = DropBounds(std::move(value));
        value.open = Literal();
      }
    }
    return exact;
  }

  Result<std::vector<ShadowValue>> Meet(Context& context, const Computation& body, std::span<const int64_t> left,
                                        std::span<const int64_t> right) const {
    const std::vector<int64_t> dims{static_cast<int64_t>(left.size())};
    std::vector<ShadowValue> sides;
    for (const auto& at : {left, right}) {
      for (size_t k = 0; k < arity(); ++k) sides.push_back(Places(k, at, dims));
    }
    std::vector<const ShadowValue*> args;
    for (const ShadowValue& side : sides) args.push_back(&side);
    ShadowValue met = TRY(Lifted(body, dims)(context, args));
    if (met.shape.IsTuple()) return std::move(met.elements);
    std::vector<ShadowValue> one;
    one.push_back(std::move(met));
    return one;
  }

  bool MayHaveLeft(const std::vector<ShadowValue>& met, int64_t i, int64_t at) const {
    for (size_t k = 0; k < arity(); ++k) {
      const auto& [x, j] = Find(k, at);
      if (!MayBe(met[k], i, x, j)) return false;
    }
    return true;
  }

  bool IsExact(int64_t element) const {
    for (size_t k = 0; k < arity(); ++k) {
      const auto& [x, i] = Find(k, element);
      if (x.IsFloat() ? At(x, i).bound != 0 : IsOpen(x, i)) return false;
    }
    return true;
  }

  bool AlikeIn(const std::vector<int64_t>& places, int64_t a, int64_t b) const {
    return std::ranges::all_of(places, [&](int64_t k) {
      const auto& [x, i] = Find(k, a);
      const auto& [y, j] = Find(k, b);
      return Alike(x, i, y, j);
    });
  }

 private:
  std::pair<const ShadowValue&, int64_t> Find(size_t k, int64_t element) const {
    const int64_t index = IndexOf(element);
    return index < 0 ? std::pair<const ShadowValue&, int64_t>(starts_[k], 0)
                     : std::pair<const ShadowValue&, int64_t>(places_[k], index);
  }

  int64_t results_ = 0, rows_ = 0;
  std::vector<ShadowValue> places_, starts_;
};

// The element that each result is if bounds are ignored. Elements are combined in a tree.
Result<std::vector<int64_t>> Winners(Context& context, const Computation& body, const Elements& elements) {
  const Elements exact = elements.WithoutBounds();
  int64_t width = elements.rows();
  std::vector<int64_t> still(elements.results() * width);
  for (size_t i = 0; i < still.size(); ++i) still[i] = static_cast<int64_t>(i);
  while (width > 1) {
    const int64_t pairs = width / 2, next_width = width - pairs;
    std::vector<int64_t> left, right;
    for (int64_t r = 0; r < elements.results(); ++r) {
      left.insert(left.end(), &still[r * width], &still[r * width + pairs]);
      right.insert(right.end(), &still[r * width + pairs], &still[r * width + 2 * pairs]);
    }
    const std::vector<ShadowValue> met = TRY(exact.Meet(context, body, left, right));
    std::vector<int64_t> next;
    for (int64_t r = 0; r < elements.results(); ++r) {
      for (int64_t p = r * pairs; p < (r + 1) * pairs; ++p)
        next.push_back(exact.MayHaveLeft(met, p, left[p]) ? left[p] : right[p]);
      if (next_width > pairs) next.push_back(still[r * width + width - 1]);
    }
    still = std::move(next);
    width = next_width;
  }
  return still;
}

// Marks all elements that may be the result. In any order, the reducer returned each intermediate winner for that
// winner and the previous one. So combining each known winner with all other elements finds all of them. Nullopt after
// kMostRounds rounds.
Result<std::optional<Mask>> MayBeLeft(Context& context, const Computation& body, const Elements& elements,
                                      const std::vector<int64_t>& winners) {
  const int64_t rows = elements.rows();
  const std::vector<int64_t> deciding = DecidingPlaces(body, static_cast<int64_t>(elements.arity()));
  Mask may(elements.results() * rows), seen(may.size());
  for (const int64_t winner : winners) may[winner] = 1;
  for (int round = 0;; ++round) {
    std::vector<int64_t> next, others;
    for (int64_t r = 0; r < elements.results(); ++r) {
      int64_t one = -1;
      bool all = true;
      for (int64_t i = r * rows; i < (r + 1) * rows; ++i) {
        all = all && may[i] != 0;
        if (one < 0 && may[i] != 0 && seen[i] == 0) one = i;
      }
      if (one < 0 || all) continue;
      for (int64_t i = r * rows; i < (r + 1) * rows; ++i) {
        next.push_back(one);
        others.push_back(i);
        if (may[i] != 0 && elements.AlikeIn(deciding, one, i)) seen[i] = 1;
      }
      seen[one] = 1;
    }
    if (next.empty()) return std::optional(std::move(may));
    if (round == kMostRounds) return std::optional<Mask>();
    for (const bool first : {true, false}) {
      const auto met = TRY(elements.Meet(context, body, first ? next : others, first ? others : next));
      for (size_t i = 0; i < others.size(); ++i) {
        if (elements.MayHaveLeft(met, static_cast<int64_t>(i), others[i])) may[others[i]] = 1;
      }
    }
  }
}

class Ordered {
 public:
  Ordered(const ShadowValue& values, const ShadowValue& start)
      : kind_(values.IsFloat()                              ? Kind::kFloat
              : values.shape.type() == PrimitiveType::kPred ? Kind::kPred
              : IsUnsigned(values.shape.type())             ? Kind::kUnsigned
                                                            : Kind::kSigned),
        values_(kind_ == Kind::kFloat ? values.value : values.exact),
        start_(kind_ == Kind::kFloat ? start.value : start.exact) {}

  bool is_float() const { return kind_ == Kind::kFloat; }
  // Index of the pair's order in OrdersOf. Equal elements have order 2, for pred also order 3, and two NaNs have order
  // 5.
  int64_t OrderOf(int64_t i, int64_t j) const {
    if (kind_ == Kind::kFloat) {
      const double a = FloatAt(i), b = FloatAt(j);
      if (a < b) return 0;
      if (a > b) return 1;
      if (a == b) return 2;
      return std::isnan(a) ? (std::isnan(b) ? 5 : 3) : 4;
    }
    const int64_t a = IntAt(i), b = IntAt(j);
    if (a == b) return kind_ == Kind::kPred && a == 0 ? 3 : 2;
    const bool less = kind_ == Kind::kUnsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
    return less ? 0 : 1;
  }

 private:
  enum class Kind { kFloat, kSigned, kUnsigned, kPred };
  double FloatAt(int64_t i) const { return i < 0 ? Values(start_)[0] : Values(values_)[i]; }
  int64_t IntAt(int64_t i) const {
    if (i < 0) return start_.GetInt(0);
    return values_.shape().type() == PrimitiveType::kS32 ? values_.data<int32_t>()[i] : values_.GetInt(i);
  }

  Kind kind_;
  const Literal &values_, &start_;
};

// Winners and MayBeLeft for exact elements. False if there are too many possible elements.
bool PickExact(const Elements& elements, const Computation& body, const PairOutcomes& outcomes,
               std::vector<int64_t>& winners, std::vector<std::vector<int64_t>>& left) {
  std::vector<Ordered> places;
  for (size_t k = 0; k < elements.arity(); ++k) places.emplace_back(elements.Place(k), elements.Start(k));
  const std::vector<int64_t> deciding = DecidingPlaces(body, static_cast<int64_t>(elements.arity()));
  const int64_t rows = elements.rows();
  const auto meet = [&](int64_t a, int64_t b) {
    int64_t state = 0;
    for (size_t k = 0; k < places.size(); ++k) state += places[k].OrderOf(a, b) * outcomes.stride[k];
    return state;
  };
  std::atomic<bool> too_many = false;
  ParallelFor(elements.results(), std::max<int64_t>(1, (1 << 14) / rows), [&](int64_t begin, int64_t end) {
    Mask may(rows), seen(rows);
    for (int64_t r = begin; r < end && !too_many; ++r) {
      const int64_t first = r * rows;
      const auto at = [&](int64_t row) { return row == rows - 1 ? -1 : r * (rows - 1) + row; };
      int64_t winner = 0;
      for (int64_t row = 1; row < rows; ++row) {
        if (outcomes.left[meet(at(winner), at(row))] == 0) winner = row;
      }
      winners[r] = first + winner;
      std::ranges::fill(may, 0);
      std::ranges::fill(seen, 0);
      may[winner] = 1;
      std::vector<int64_t> pending{winner};
      for (int round = 0; !pending.empty(); ++round) {
        const int64_t one = pending.back();
        pending.pop_back();
        if (seen[one] != 0) continue;
        if (round == kMostRounds) {
          too_many = true;
          return;
        }
        seen[one] = 1;
        for (int64_t row = 0; row < rows; ++row) {
          if (row == one) continue;
          const int64_t state = meet(at(one), at(row)), turned = meet(at(row), at(one));
          const bool stays = outcomes.right[state] != 0 || outcomes.left[turned] != 0;
          if (stays && may[row] == 0) {
            may[row] = 1;
            pending.push_back(row);
          }
          const bool alike = may[row] != 0 && std::ranges::all_of(deciding, [&](int64_t k) {
                               const int64_t order = places[k].OrderOf(at(one), at(row));
                               return order == 2 || order == 3 + 2 * (places[k].is_float() ? 1 : 0);
                             });
          if (alike) seen[row] = 1;
        }
      }
      for (int64_t row = 0; row < rows; ++row) {
        if (may[row] != 0) left[r].push_back(first + row);
      }
    }
  });
  return !too_many;
}

}  // namespace

ShadowValue Take(const ShadowValue& x, std::span<const int64_t> at, const std::vector<int64_t>& dims,
                 const ShadowValue* other) {
  ShadowValue taken;
  taken.shape = Shape(x.shape.type(), dims);
  taken.held = x.held;
  for (Literal ShadowValue::* part :
       {&ShadowValue::value, &ShadowValue::bound, &ShadowValue::exact, &ShadowValue::open}) {
    const Literal& from = x.*part;
    const Literal* const single = other != nullptr ? &(other->*part) : nullptr;
    if (from.byte_size() == 0 && (single == nullptr || single->byte_size() == 0)) continue;
    const PrimitiveType type = (from.byte_size() != 0 ? from : *single).shape().type();
    taken.*part = Literal(taken.shape.WithType(type));
    const int64_t width = ByteWidth(type);
    std::byte* to = (taken.*part).mutable_raw();
    for (size_t i = 0; i < at.size(); ++i) {
      const Literal& source = at[i] >= 0 ? from : *single;
      if (source.byte_size() != 0)
        std::memcpy(to + i * width, source.raw() + std::max<int64_t>(0, at[i]) * width, width);
    }
  }
  return taken;
}

void OpenTo(const ShadowValue& candidate, std::span<const int64_t> to, ShadowValue& result) {
  for (size_t i = 0; i < to.size(); ++i) {
    const auto from = static_cast<int64_t>(i);
    if (!result.IsFloat()) {
      if (SameBits(candidate.exact, from, result.exact, to[i]) && !IsOpen(candidate, from)) continue;
      if (!result.HasOpen()) result.open = Literal(result.shape.WithType(PrimitiveType::kPred));
      result.open.SetInt(to[i], 1);
      continue;
    }
    const Pair other = At(candidate, from);
    const double value = Values(result.value)[to[i]];
    const bool same = SameNumber(value, other.value);
    double bound = same ? other.bound : std::fabs(other.value - value) + other.bound;  // A NaN means undetermined.
    if (same && std::signbit(value) != std::signbit(other.value) && value == 0) bound = std::max(bound, kTiny);
    if (bound == 0) continue;
    if (!result.HasBound()) result.bound = Zeros(result.shape);
    result.likely = Literal();
    double& widest = result.bound.mutable_data<double>()[to[i]];
    const double wide = std::isinf(bound) ? kUndetermined : bound * kUp;
    if (!(wide <= widest) && !std::isnan(widest)) widest = wide;
  }
}

namespace {

// Permits both zeros in element i if reduction `of[i]` combines both.
void AllowBothZeros(const Elements& elements, size_t k, std::span<const int64_t> of, ShadowValue& x) {
  if (!x.IsFloat()) return;
  for (size_t i = 0; i < of.size(); ++i) {
    if (Values(x.value)[i] != 0 || !elements.HasBothZeros(k, of[i])) continue;
    if (!x.HasBound()) x.bound = Zeros(x.shape);
    double& bound = x.bound.mutable_data<double>()[i];
    bound = std::max(bound, kTiny);
  }
}

}  // namespace

Result<std::optional<ShadowValue>> ReduceByPicking(Context& context, const Instruction& inst, const Computation& body,
                                                   Operands operands) {
  const bool tuple = inst.shape().IsTuple();
  const Shape& shape = tuple ? inst.shape().element(0) : inst.shape();
  const int64_t results = shape.NumElements();
  if (results == 0) return std::nullopt;
  const std::optional<PairOutcomes> outcomes = TRY(LeavesASide(body));
  if (!outcomes) return std::nullopt;
  const Elements elements = TRY(Elements::Of(context, inst, operands, results));
  std::vector<int64_t> winners(results);
  std::vector<std::vector<int64_t>> left(results);
  if (AllExact(operands)) {
    if (!PickExact(elements, body, *outcomes, winners, left)) return std::nullopt;
  } else {
    winners = TRY(Winners(context, body, elements));
    const std::optional<Mask> may = TRY(MayBeLeft(context, body, elements, winners));
    if (!may) return std::nullopt;
    for (int64_t i = 0; i < std::ssize(*may); ++i) {
      if ((*may)[i] != 0) left[i / elements.rows()].push_back(i);
    }
  }

  Decisions decisions{.first = {0}};
  std::vector<int64_t> candidates, of;
  for (int64_t r = 0; r < results; ++r) {
    bool exact = true;
    if (left[r].size() > 1) {
      for (const int64_t element : left[r]) {
        candidates.push_back(element);
        of.push_back(r);
        exact = exact && elements.IsExact(element);
      }
    }
    decisions.first.push_back(static_cast<int64_t>(candidates.size()));
    decisions.by_order.push_back(exact ? 1 : 0);
  }
  const auto shared = std::make_shared<const Decisions>(std::move(decisions));
  std::vector<int64_t> all(results);
  std::iota(all.begin(), all.end(), 0);
  std::vector<ShadowValue> places;
  for (size_t k = 0; k < elements.arity(); ++k) {
    ShadowValue place = elements.Places(k, winners, shape.dims());
    if (outcomes->swaps_zeros) AllowBothZeros(elements, k, all, place);
    if (!candidates.empty()) {
      Choices choices{.decisions = shared};
      choices.candidates = elements.Places(k, candidates, {static_cast<int64_t>(candidates.size())});
      if (outcomes->swaps_zeros) AllowBothZeros(elements, k, of, choices.candidates);
      OpenTo(choices.candidates, of, place);
      place.choices = std::make_shared<const Choices>(std::move(choices));
    }
    places.push_back(std::move(place));
  }
  if (!tuple) {
    places[0].shape = inst.shape();
    return std::optional(std::move(places[0]));
  }
  ShadowValue result;
  result.shape = inst.shape();
  for (size_t k = 0; k < places.size(); ++k) places[k].shape = inst.shape().element(static_cast<int64_t>(k));
  result.elements = std::move(places);
  return std::optional(std::move(result));
}

Result<std::shared_ptr<const Choices>> ChoicesOfUnary(Context& context, const Instruction& inst, const ShadowValue& x) {
  if (x.choices == nullptr) return nullptr;
  Choices choices = *x.choices;
  Module module("candidates");
  Computation& entry = module.AddComputation("entry");
  module.SetEntry(entry);
  const std::vector<int64_t>& dims = choices.candidates.shape.dims();
  Instruction& parameter = entry.AddParameter(0, choices.candidates.shape);
  entry.SetRoot(entry.AddClone(inst, Shape(inst.shape().type(), dims), {&parameter}));
  // The plan is for another module.
  ShadowOptions options = context.options;
  options.plan = nullptr;
  Context alone{.options = options};
  const ShadowValue* operands[] = {&choices.candidates};
  choices.candidates = TRY(RunInstruction(alone, entry.root(), operands, nullptr));
  return std::make_shared<const Choices>(std::move(choices));
}

}  // namespace hlo::shadow
