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
#include <unordered_set>
#include <vector>

#include "base/parallel.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {
namespace {

// In a round, an element of each result is combined with all others.
constexpr int kMostRounds = 16;

Pair At(const ShadowValue& x, int64_t i) {
  const double* bound = BoundsOrNull(x.bound);
  return {Values(x.value)[i], bound ? bound[i] : 0};
}

bool IsOpen(const ShadowValue& x, int64_t i) { return x.HasOpen() && x.open.GetInt(i) != 0; }

bool SameBits(const Literal& a, int64_t i, const Literal& b, int64_t j) {
  const int64_t width = ByteWidth(a.shape().type());
  return std::memcmp(a.raw() + i * width, b.raw() + j * width, width) == 0;
}

// Whether element i of a may equal element j of b. 0 equals -0.
bool MayBe(const ShadowValue& a, int64_t i, const ShadowValue& b, int64_t j) {
  if (!a.IsFloat()) return IsOpen(a, i) || SameBits(a.exact, i, b.exact, j);
  const Pair x = At(a, i), y = At(b, j);
  return SameNumber(x.value, y.value) || !std::isfinite(x.bound) || std::fabs(x.value - y.value) <= x.bound * kUp;
}

bool Alike(const ShadowValue& x, int64_t i, const ShadowValue& y, int64_t j) {
  if (!x.IsFloat()) return !IsOpen(x, i) && !IsOpen(y, j) && SameBits(x.exact, i, y.exact, j);
  const Pair a = At(x, i), b = At(y, j);
  return SameNumber(a.value, b.value) && a.bound == b.bound;
}

bool SameSign(const ShadowValue& a, const ShadowValue& b, int64_t i) {
  if (!a.IsFloat() || Values(a.value)[i] != 0 || Values(b.value)[i] != 0) return true;
  return std::signbit(Values(a.value)[i]) == std::signbit(Values(b.value)[i]);
}

// Whether `inst` always equals parameter `place` of one side: of the left element (parameters k) or of the right one (k
// + arity) that a reducer combines.
bool TakenFromASide(const Instruction& inst, int64_t place, int64_t arity) {
  std::vector<const Instruction*> worklist = {&inst};
  std::unordered_set<const Instruction*> seen = {&inst};
  while (!worklist.empty()) {
    const Instruction& from = *worklist.back();
    worklist.pop_back();
    if (from.Is(Opcode::kParameter) && from.parameter_number() % arity == place) continue;
    const bool selects = from.Is(Opcode::kSelect);
    if (!selects && !from.Is(Opcode::kMaximum) && !from.Is(Opcode::kMinimum)) return false;
    for (const Instruction* operand : from.operands().subspan(selects ? 1 : 0)) {
      if (seen.insert(operand).second) worklist.push_back(operand);
    }
  }
  return true;
}

// The number, within its side, of the parameter that `inst` equals apart from exact widening. Otherwise -1.
int64_t PlaceOf(const Instruction& inst, int64_t arity) {
  const Instruction* from = &inst;
  for (; from->Is(Opcode::kConvert); from = &from->operand(0)) {
    const PrimitiveType wide = from->shape().type(), narrow = from->operand(0).shape().type();
    const bool is_whole = wide == PrimitiveType::kF32 || wide == PrimitiveType::kF64;
    if (!is_whole || !IsFloat(narrow) || BitWidth(wide) <= BitWidth(narrow)) return -1;
  }
  return from->Is(Opcode::kParameter) ? from->parameter_number() % arity : -1;
}

// Whether the result depends only on how the two elements of each operand compare.
bool GoesByOrder(const Computation& body, int64_t arity) {
  for (const Instruction* inst : body.PostOrder()) {
    switch (inst->opcode()) {
      case Opcode::kParameter:
      case Opcode::kSelect:
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kTuple: continue;
      case Opcode::kConstant:
      case Opcode::kAnd:
      case Opcode::kOr:
      case Opcode::kXor:
      case Opcode::kNot:
        if (inst->shape().type() != PrimitiveType::kPred) return false;
        continue;
      case Opcode::kConvert:
        if (PlaceOf(*inst, arity) < 0) return false;
        continue;
      case Opcode::kCompare: {
        const int64_t place = PlaceOf(inst->operand(0), arity);
        if (place < 0 || place != PlaceOf(inst->operand(1), arity)) return false;
        const bool total = inst->attrs<CompareAttrs>().type == ComparisonType::kTotalOrder;
        if (total && IsFloat(inst->operand(0).shape().type())) return false;
        continue;
      }
      default: return false;
    }
  }
  return true;
}

std::vector<std::pair<double, double>> OrdersOf(PrimitiveType type) {
  if (IsComplex(type)) return {};
  if (IsSigned(type) && !IsFloat(type)) return {{-1, 0}, {0, -1}, {0, 0}};  // s1 cannot represent 1.
  if (!IsFloat(type)) return {{0, 1}, {1, 0}, {1, 1}, {0, 0}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {{1, 2}, {2, 1}, {0.0, -0.0}, {nan, 1}, {1, nan}, {nan, nan}};
}

// Whether a reducer may return the left side, and the right, for each combination of orders (OrdersOf). Order s of
// operand k adds s * stride[k] to the index.
struct PairOutcomes {
  std::vector<int64_t> stride;
  std::vector<uint8_t> left, right;
  // The result may have the other side's zero, as in an argmax that returns the smaller index and either of two equal
  // values.
  bool swaps_zeros = false;
};

// Tries all combinations of orders, because an argmax that breaks ties takes the smaller index only for equal values.
// Nullopt if a result mixes the sides.
Result<std::optional<PairOutcomes>> LeavesASide(const Computation& body) {
  const int64_t arity = static_cast<int64_t>(body.parameters().size()) / 2;
  std::optional<PairOutcomes> none;
  if (!PicksASide(body) || !GoesByOrder(body, arity)) return none;
  std::vector<std::vector<std::pair<double, double>>> orders;
  int64_t states = 1;
  for (int64_t k = 0; k < arity; ++k) {
    orders.push_back(OrdersOf(body.parameters()[k]->shape().type()));
    states *= static_cast<int64_t>(orders.back().size());
    if (states == 0 || states > 4096) return none;
  }
  PairOutcomes outcomes;
  std::vector<ShadowValue> sides(2 * arity);
  for (int64_t k = 0, stride = 1; k < arity; stride *= static_cast<int64_t>(orders[k].size()), ++k) {
    Literal left(Shape(body.parameters()[k]->shape().type(), {states})), right = left;
    for (int64_t s = 0; s < states; ++s) {
      const auto& [a, b] = orders[k][s / stride % orders[k].size()];
      for (auto& [side, x] : {std::pair<Literal&, double>(left, a), {right, b}}) {
        if (IsFloat(side.shape().type())) side.SetDouble(s, x);
        else side.SetInt(s, static_cast<int64_t>(x));
      }
    }
    outcomes.stride.push_back(stride);
    sides[k] = ToShadow(left);
    sides[arity + k] = ToShadow(right);
  }
  std::vector<const ShadowValue*> args;
  for (const ShadowValue& side : sides) args.push_back(&side);
  const ShadowOptions options;
  Context context{.options = options};
  const ShadowValue met = TRY(Lifted(body, {states})(context, args));
  for (int64_t s = 0; s < states; ++s) {
    bool left = true, right = true, left_signs = true, right_signs = true;
    for (int64_t k = 0; k < arity; ++k) {
      const ShadowValue& place = met.shape.IsTuple() ? met.elements[k] : met;
      left = left && MayBe(place, s, sides[k], s);
      right = right && MayBe(place, s, sides[arity + k], s);
      left_signs = left_signs && SameSign(place, sides[k], s);
      right_signs = right_signs && SameSign(place, sides[arity + k], s);
    }
    if (!left && !right) return none;
    if (!(left && left_signs) && !(right && right_signs)) outcomes.swaps_zeros = true;
    outcomes.left.push_back(left ? 1 : 0);
    outcomes.right.push_back(right ? 1 : 0);
  }
  return std::optional(std::move(outcomes));
}

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

std::vector<int64_t> DecidingPlaces(const Computation& body, int64_t arity) {
  std::vector<int64_t> places;
  for (const Instruction* inst : body.PostOrder()) {
    if (inst->Is(Opcode::kCompare)) places.push_back(PlaceOf(inst->operand(0), arity));
    const bool pred = inst->Is(Opcode::kParameter) && inst->shape().type() == PrimitiveType::kPred;
    if (pred) places.push_back(inst->parameter_number() % arity);
    if (!inst->Is(Opcode::kMaximum) && !inst->Is(Opcode::kMinimum)) continue;
    for (const Instruction* operand : inst->operands()) {
      if (operand->Is(Opcode::kParameter)) places.push_back(operand->parameter_number() % arity);
    }
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
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

bool PicksASide(const Computation& body) {
  const Instruction& root = body.root();
  const int64_t arity = static_cast<int64_t>(body.parameters().size()) / 2;
  if (!root.Is(Opcode::kTuple)) return arity == 1 && TakenFromASide(root, 0, arity);
  for (int64_t place = 0; place < root.operand_count(); ++place) {
    if (!TakenFromASide(root.operand(place), place, arity)) return false;
  }
  return true;
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
