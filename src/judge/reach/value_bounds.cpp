#include "judge/reach/value_bounds.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ir/analysis/trip_count.h"
#include "ir/module.h"
#include "ir/reducer.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExactIntegers = 0x1p53;  // f64 represents all integers up to this.
// After this many rounds, bounds that still grow become the limits of their type.
constexpr int kRoundsToGrow = 4;

Bounds AllOf(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return {0, 1};
  if (!IsInteger(type)) return {-kInfinity, kInfinity, true};
  const int bits = BitWidth(type);
  if (IsSigned(type)) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return {0, std::ldexp(1.0, bits) - 1};
}

Bounds Join(const Bounds& a, const Bounds& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan};
}

bool MayBeInfinite(const Bounds& a) { return a.low == -kInfinity || a.high == kInfinity; }

// Bounds of a result: floats with a margin for roundings, all integers if the result may wrap.
Bounds Computed(PrimitiveType type, double low, double high, bool nan) {
  if (low != low || high != high) return AllOf(type);
  if (!IsFloat(type)) {
    const Bounds all = AllOf(type);
    const bool exact = std::fabs(low) < kExactIntegers && std::fabs(high) < kExactIntegers;
    return exact && low >= all.low && high <= all.high ? Bounds{low, high} : all;
  }
  if (BitWidth(type) < 16) return AllOf(type);
  const double share = type == PrimitiveType::kF64 ? 1e-12 : type == PrimitiveType::kF32 ? 1e-6 : 0.25;
  const double largest = type == PrimitiveType::kF64 ? 1e300 : type == PrimitiveType::kF32 ? 1e37 : 100;
  const double least = type == PrimitiveType::kF64 ? 1e-300 : type == PrimitiveType::kF32 ? 1e-37 : 0.1;
  // Roundings do not change the sign of a result.
  const auto lower = [&](double x) {
    return x < -largest ? -kInfinity : x >= 0 ? std::max(0.0, x * (1 - share) - least) : x * (1 + share) - least;
  };
  return {lower(low), -lower(-high), nan};
}

class Finder {
 public:
  explicit Finder(const Module& module) : module_(module), leaves_(module.id_limit()) {
    for (const Computation* computation : module.PostOrder()) {
      for (const Instruction* inst : computation->instructions())
        leaves_[inst->id()].resize(static_cast<size_t>(std::max<int64_t>(1, inst->shape().LeafCount())));
    }
  }

  std::vector<std::vector<Bounds>> Run() {
    for (const Instruction* parameter : module_.entry().parameters()) SetAll(*parameter);
    do {
      changed_ = false;
      ++round_;
      const std::vector<Computation*> order = module_.PostOrder();
      for (auto computation = order.rbegin(); computation != order.rend(); ++computation) {
        if (!IsReached(**computation)) continue;
        for (const Instruction* inst : (*computation)->PostOrder()) Visit(*inst);
      }
    } while (changed_);
    return std::move(leaves_);
  }

 private:
  bool IsReached(const Computation& computation) const {
    return computation.IsEntry() || computation.parameters().empty() ||
           std::ranges::any_of(computation.parameters(), [&](const Instruction* parameter) {
             return std::ranges::any_of(leaves_[parameter->id()], [](const Bounds& leaf) { return !leaf.IsEmpty(); });
           });
  }

  void Set(const Instruction& inst, size_t leaf, const Bounds& bounds, PrimitiveType type) {
    std::vector<Bounds>& leaves = leaves_[inst.id()];
    if (leaf >= leaves.size()) return;
    Bounds joined = Join(leaves[leaf], bounds);
    if (joined == leaves[leaf]) return;
    if (round_ > kRoundsToGrow && !leaves[leaf].IsEmpty()) {
      const Bounds all = AllOf(type);
      if (joined.low < leaves[leaf].low) joined.low = all.low;
      if (joined.high > leaves[leaf].high) joined.high = all.high;
    }
    leaves[leaf] = joined;
    changed_ = true;
  }
  void Set(const Instruction& inst, const Bounds& bounds) {
    if (inst.shape().IsArray()) Set(inst, 0, bounds, inst.shape().type());
  }
  void SetAll(const Instruction& inst) {
    size_t leaf = 0;
    ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& shape) {
      Set(inst, leaf++, shape.IsArray() ? AllOf(shape.type()) : Bounds{0, 0}, shape.type());
    });
  }
  void Copy(const Instruction& from, const Instruction& to, size_t first_from = 0, size_t first_to = 0) {
    size_t leaf = 0;
    ForEachLeaf(to.shape(), [&](const ShapeIndex&, const Shape& shape) {
      const std::vector<Bounds>& source = leaves_[from.id()];
      if (leaf >= first_to && leaf - first_to + first_from < source.size() &&
          leaf - first_to < static_cast<size_t>(std::max<int64_t>(1, from.shape().LeafCount())))
        Set(to, leaf, source[leaf - first_to + first_from], shape.type());
      ++leaf;
    });
  }

  const Bounds& Of(const Instruction& inst) const { return leaves_[inst.id()][0]; }
  const Bounds& Operand(const Instruction& inst, int64_t i) const { return Of(inst.operand(i)); }

  void Visit(const Instruction& inst) {
    switch (inst.opcode()) {
      case Opcode::kParameter: return;
      case Opcode::kTuple: {
        size_t leaf = 0;
        for (const Instruction* operand : inst.operands()) {
          Copy(*operand, inst, 0, leaf);
          leaf += static_cast<size_t>(operand->shape().LeafCount());
        }
        return;
      }
      case Opcode::kGetTupleElement:
        return Copy(inst.operand(0), inst, static_cast<size_t>(inst.operand(0).shape().FirstLeaf(inst.tuple_index())));
      case Opcode::kOptimizationBarrier:
      case Opcode::kCopy: return Copy(inst.operand(0), inst);
      case Opcode::kCall:
      case Opcode::kFusion: {
        const Computation& called = *CalledComputations(inst)[0];
        for (int64_t i = 0; i < std::min<int64_t>(inst.operand_count(), std::ssize(called.parameters())); ++i)
          Copy(inst.operand(i), called.parameter(i));
        return Copy(called.root(), inst);
      }
      case Opcode::kConditional: return VisitConditional(inst);
      case Opcode::kWhile: return VisitLoop(inst);
      case Opcode::kReduce:
      case Opcode::kReduceWindow: return VisitReduce(inst);
      case Opcode::kSort:
        for (int64_t i = 0; i < inst.operand_count(); ++i) Copy(inst.operand(i), inst, 0, static_cast<size_t>(i));
        break;
      default: break;
    }
    for (const Computation* called : CalledComputations(inst)) {
      for (const Instruction* parameter : called->parameters()) SetAll(*parameter);
    }
    if (inst.Is(Opcode::kSort)) return;
    if (inst.Is(Opcode::kTopK)) {
      Copy(inst.operand(0), inst);
      const Shape& from = inst.operand(0).shape();
      return Set(inst, 1, {0, static_cast<double>(from.dim(from.rank() - 1) - 1)}, inst.shape().element(1).type());
    }
    if (!inst.shape().IsArray() || IsComplex(inst.shape().type())) return SetAll(inst);
    if (inst.shape().NumElements() == 0 && !inst.shape().HasDynamicDims()) return;
    const bool waits = std::ranges::any_of(inst.operands(), [&](const Instruction* x) {
      return x->shape().IsArray() && !IsComplex(x->shape().type()) && x->shape().NumElements() > 0 && Of(*x).IsEmpty();
    });
    if (!waits) Set(inst, Transfer(inst));
  }

  void VisitReduce(const Instruction& inst) {
    const Computation& reducer = *CalledComputations(inst)[0];
    const int64_t arrays = inst.operand_count() / 2;
    const Shape& from = inst.operand(0).shape();
    if (arrays == 1 && IsInteger(from.type()) && ReducerOp(reducer) == Opcode::kAdd) {
      const Bounds &term = Operand(inst, 0), &init = Operand(inst, 1);
      if (term.IsEmpty() || init.IsEmpty()) return;
      double terms = static_cast<double>(from.NumElements());
      if (inst.Is(Opcode::kReduce)) terms /= static_cast<double>(std::max<int64_t>(1, inst.shape().NumElements()));
      const double low = init.low + std::min(0.0, terms * term.low),
                   high = init.high + std::max(0.0, terms * term.high);
      for (const Instruction* parameter : reducer.parameters()) SetAll(*parameter);
      return Set(inst, Computed(from.type(), low, high, false));
    }
    for (int64_t i = 0; i < arrays; ++i) {
      const auto leaf = static_cast<size_t>(i);
      Copy(inst.operand(arrays + i), reducer.parameter(i));
      Copy(inst.operand(i), reducer.parameter(arrays + i));
      Copy(reducer.root(), reducer.parameter(i), leaf);
      // The order of a reduction is not defined, so both parameters of the reducer may be partial results.
      Copy(reducer.parameter(i), reducer.parameter(arrays + i));
      Copy(inst.operand(arrays + i), inst, 0, leaf);
      Copy(reducer.root(), inst, leaf, leaf);
    }
  }

  void VisitConditional(const Instruction& inst) {
    const auto branches = inst.attrs<ConditionalAttrs>().branches();
    const Bounds& index = Operand(inst, 0);
    if (index.IsEmpty()) return;
    const bool is_pred = inst.operand(0).shape().type() == PrimitiveType::kPred;
    const auto count = static_cast<int64_t>(branches.size());
    for (int64_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(is_pred ? 1 - i : i);
      const bool is_taken = (value >= index.low && value <= index.high) ||
                            (!is_pred && i == count - 1 && (index.low < 0 || index.high >= static_cast<double>(count)));
      if (!is_taken) continue;
      Copy(inst.operand(i + 1), branches[i]->parameter(0));
      Copy(branches[i]->root(), inst);
    }
  }

  void VisitLoop(const Instruction& loop) {
    const WhileAttrs& attrs = loop.attrs<WhileAttrs>();
    Copy(loop.operand(0), loop);
    Copy(attrs.body->root(), loop);
    Copy(loop, attrs.condition->parameter(0));
    const std::vector<Bounds> state = leaves_[loop.id()];
    size_t leaf = 0;
    const std::optional<int64_t> trips = DerivedTripCount(loop);
    ForEachLeaf(loop.shape(), [&](const ShapeIndex& index, const Shape& shape) {
      Bounds bounds = state[leaf];
      if (index.size() == 1) Limit(attrs.condition->root(), index[0], bounds);
      if (index.size() == 1 && trips && shape.IsScalar()) Count(loop, index[0], *trips, shape.type(), bounds);
      if (shape.IsArray()) Set(attrs.body->parameter(0), leaf, bounds, shape.type());
      ++leaf;
    });
  }

  static void Count(const Instruction& loop, int64_t i, int64_t trips, PrimitiveType type, Bounds& bounds) {
    const auto counter = InductionOf(loop, i);
    if (!counter || trips == 0) return;
    const auto first = static_cast<double>(counter->first);
    const double last = first + static_cast<double>(counter->step) * static_cast<double>(trips - 1);
    const Bounds counted = Computed(type, std::min(first, last), std::max(first, last), false);
    bounds = {std::max(bounds.low, counted.low), std::min(bounds.high, counted.high)};
  }

  void Limit(const Instruction& condition, int64_t i, Bounds& bounds) const {
    using D = ComparisonDirection;
    if (condition.Is(Opcode::kAnd)) {
      Limit(condition.operand(0), i, bounds);
      return Limit(condition.operand(1), i, bounds);
    }
    if (!condition.Is(Opcode::kCompare) || !IsInteger(condition.operand(0).shape().type())) return;
    D direction = condition.attrs<CompareAttrs>().direction;
    for (const int64_t side : {0, 1}) {
      if (ElementOfState(condition.operand(side)) != i) continue;
      const Bounds& other = Operand(condition, 1 - side);
      if (other.IsEmpty()) continue;
      const bool is_less =
          side == 0 ? direction == D::kLt || direction == D::kLe : direction == D::kGt || direction == D::kGe;
      const bool is_more =
          side == 0 ? direction == D::kGt || direction == D::kGe : direction == D::kLt || direction == D::kLe;
      const double step = direction == D::kLt || direction == D::kGt ? 1 : 0;
      if (is_less) bounds.high = std::min(bounds.high, other.high - step);
      if (is_more) bounds.low = std::max(bounds.low, other.low + step);
    }
  }

  Bounds OfConstant(const Literal& literal) const {
    Bounds bounds;
    for (int64_t i = 0; i < literal.shape().NumElements(); ++i) {
      const double x = literal.GetDouble(i);
      bounds = x != x ? Join(bounds, {kInfinity, -kInfinity, true}) : Join(bounds, {x, x});
    }
    return bounds;
  }

  Bounds Transfer(const Instruction& inst) const {
    const PrimitiveType type = inst.shape().type();
    const Bounds all = AllOf(type);
    const bool is_pred = type == PrimitiveType::kPred;
    const int64_t count = inst.operand_count();
    const Bounds none, &a = count > 0 ? Operand(inst, 0) : none, &b = count > 1 ? Operand(inst, 1) : none;
    for (const Instruction* operand : inst.operands()) {
      if (IsComplex(operand->shape().type())) return all;
    }
    switch (inst.opcode()) {
      case Opcode::kConstant: return OfConstant(inst.literal());
      case Opcode::kIota: {
        const auto size = static_cast<double>(inst.shape().dim(inst.attrs<IotaAttrs>().iota_dimension));
        return Computed(type, 0, std::max(0.0, size - 1), false);
      }
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kBroadcast:
      case Opcode::kSlice:
      case Opcode::kReverse:
      case Opcode::kDynamicSlice:
      case Opcode::kGather:
      case Opcode::kDynamicReshape: return a;
      case Opcode::kBitcast: return type == inst.operand(0).shape().type() ? a : all;
      case Opcode::kPad:
      case Opcode::kDynamicUpdateSlice: return Join(a, b);
      case Opcode::kConcatenate: {
        Bounds joined;
        for (const Instruction* operand : inst.operands()) joined = Join(joined, Of(*operand));
        return joined;
      }
      case Opcode::kSelect: {
        Bounds chosen;
        if (a.high > 0) chosen = Join(chosen, b);
        if (a.low < 1) chosen = Join(chosen, Operand(inst, 2));
        return chosen;
      }
      case Opcode::kConvert: return Converted(a, inst.operand(0).shape().type(), type);
      case Opcode::kCompare: return Compared(inst);
      case Opcode::kClamp: {
        const Bounds& high = Operand(inst, 2);
        return {std::min(std::max(a.low, b.low), high.low), std::min(std::max(a.high, b.high), high.high),
                a.nan || b.nan || high.nan};
      }
      case Opcode::kMaximum: return {std::max(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan};
      case Opcode::kMinimum: return {std::min(a.low, b.low), std::min(a.high, b.high), a.nan || b.nan};
      case Opcode::kAnd:
      case Opcode::kOr:
        if (is_pred && inst.Is(Opcode::kAnd)) return {std::min(a.low, b.low), std::min(a.high, b.high)};
        if (is_pred) return {std::max(a.low, b.low), std::max(a.high, b.high)};
        if (!inst.Is(Opcode::kAnd) || (a.low < 0 && b.low < 0)) return all;
        return {0, a.low < 0 ? b.high : b.low < 0 ? a.high : std::min(a.high, b.high)};
      case Opcode::kNot:
        return is_pred ? Bounds{1 - a.high, 1 - a.low} : Computed(type, -1 - a.high, -1 - a.low, false);
      case Opcode::kAdd: return is_pred ? all : Computed(type, a.low + b.low, a.high + b.high, NanOf(a, b));
      case Opcode::kSubtract: return Computed(type, a.low - b.high, a.high - b.low, NanOf(a, b));
      case Opcode::kMultiply: return is_pred ? all : Product(inst, a, b);
      case Opcode::kNegate:
        return IsFloat(type) ? Bounds{-a.high, -a.low, a.nan} : Computed(type, -a.high, -a.low, false);
      case Opcode::kAbs: {
        const double least = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, most = std::max(-a.low, a.high);
        return IsFloat(type) ? Bounds{least, most, a.nan} : Computed(type, least, most, false);
      }
      case Opcode::kDivide:
        if (!IsInteger(type) || b.low < 1) return all;
        return {a.low < 0 ? a.low : 0, a.high < 0 ? 0 : std::trunc(a.high / b.low)};
      case Opcode::kRemainder:
        if (!IsInteger(type) || b.low < 1) return all;
        return {a.low < 0 ? -(b.high - 1) : 0, a.high < 0 ? 0 : std::min(a.high, b.high - 1)};
      case Opcode::kShiftRightLogical:
        if (b.low != b.high || b.low < 1 || b.low >= BitWidth(type)) return all;
        return {0, std::ldexp(1.0, BitWidth(type) - static_cast<int>(b.low)) - 1};
      case Opcode::kPopulationCount:
      case Opcode::kCountLeadingZeros: return {0, static_cast<double>(BitWidth(type))};
      case Opcode::kSign: return {a.low >= 0 ? 0.0 : -1.0, a.high <= 0 ? 0.0 : 1.0, a.nan};
      case Opcode::kFloor: return {std::floor(a.low), std::floor(a.high), a.nan};
      case Opcode::kCeil: return {std::ceil(a.low), std::ceil(a.high), a.nan};
      case Opcode::kRoundNearestAfz:
      case Opcode::kRoundNearestEven: return {std::floor(a.low), std::ceil(a.high), a.nan};
      case Opcode::kExp:
      case Opcode::kExp2: return {0, kInfinity, a.nan};
      case Opcode::kSqrt: return {-0.0, kInfinity, a.nan || a.low < 0};
      case Opcode::kLogistic: return {0, 1, a.nan};
      case Opcode::kTanh:
      case Opcode::kErf: return {-1, 1, a.nan};
      case Opcode::kSin:
      case Opcode::kCos: return {-1, 1, a.nan || MayBeInfinite(a)};
      case Opcode::kIsFinite:
        return {a.nan || MayBeInfinite(a) ? 0.0 : 1.0, a.low == a.high && MayBeInfinite(a) ? 0.0 : 1.0};
      case Opcode::kGetDimensionSize:
        return {0, static_cast<double>(inst.operand(0).shape().dim(inst.attrs<OneDimensionAttrs>().dimension.value))};
      default: return all;
    }
  }

  static bool NanOf(const Bounds& a, const Bounds& b) {
    return a.nan || b.nan || (MayBeInfinite(a) && MayBeInfinite(b));
  }

  static Bounds Product(const Instruction& inst, const Bounds& a, const Bounds& b) {
    const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
    const double ends[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)};
    const bool nan = a.nan || b.nan || MayBeInfinite(a) || MayBeInfinite(b);
    const bool is_square = &inst.operand(0) == &inst.operand(1);
    const double low = is_square ? a.low > 0 ? ends[0] : a.high < 0 ? ends[3] : 0 : *std::ranges::min_element(ends);
    return Computed(inst.shape().type(), low, *std::ranges::max_element(ends), nan);
  }

  static Bounds Converted(const Bounds& a, PrimitiveType from, PrimitiveType to) {
    const Bounds all = AllOf(to);
    if (to == PrimitiveType::kPred)
      return {a.low > 0 || a.high < 0 ? 1.0 : 0.0, a.low == 0 && a.high == 0 && !a.nan ? 0.0 : 1.0};
    if (IsFloat(to)) {
      const bool is_small = std::fabs(a.low) <= 256 && std::fabs(a.high) <= 256;
      if (!IsFloat(from) && is_small && BitWidth(to) >= 16) return {a.low, a.high, a.nan};
      return Computed(to, a.low, a.high, a.nan);
    }
    if (IsFloat(from)) {  // Truncates and saturates. NaN becomes 0.
      if (a.nan)
        return {std::max(all.low, std::min(0.0, std::trunc(a.low))),
                std::min(all.high, std::max(0.0, std::trunc(a.high)))};
      return {std::clamp(std::trunc(a.low), all.low, all.high), std::clamp(std::trunc(a.high), all.low, all.high)};
    }
    return a.low >= all.low && a.high <= all.high ? a : all;
  }

  Bounds Compared(const Instruction& inst) const {
    using D = ComparisonDirection;
    const Bounds &a = Operand(inst, 0), &b = Operand(inst, 1);
    const CompareAttrs& attrs = inst.attrs<CompareAttrs>();
    if (attrs.type == ComparisonType::kTotalOrder) return {0, 1};
    const bool may_be_nan = a.nan || b.nan;
    const auto of = [&](bool may_hold, bool may_fail) {
      return Bounds{may_fail || may_be_nan ? 0.0 : 1.0, may_hold ? 1.0 : 0.0};
    };
    const bool is_same = &inst.operand(0) == &inst.operand(1);
    switch (attrs.direction) {
      case D::kEq: return of(a.low <= b.high && b.low <= a.high, !is_same && !(a.low == a.high && a == b));
      case D::kNe:
        return {a.low <= b.high && b.low <= a.high ? 0.0 : 1.0,
                may_be_nan || (!is_same && !(a.low == a.high && a == b)) ? 1.0 : 0.0};
      case D::kLt: return of(!is_same && a.low < b.high, is_same || a.high >= b.low);
      case D::kLe: return of(a.low <= b.high, !is_same && a.high > b.low);
      case D::kGt: return of(!is_same && a.high > b.low, is_same || a.low <= b.high);
      case D::kGe: return of(a.high >= b.low, !is_same && a.low < b.high);
    }
    return {0, 1};
  }

  const Module& module_;
  std::vector<std::vector<Bounds>> leaves_;
  bool changed_ = false;
  int round_ = 0;
};

}  // namespace

ValueBounds::ValueBounds(const Module& module) : leaves_(Finder(module).Run()) {}

bool ValueBounds::IsNeverGiven(const Instruction& parameter) const {
  bool never = true;
  size_t leaf = 0;
  ForEachLeaf(parameter.shape(), [&](const ShapeIndex&, const Shape& shape) {
    never = never && leaves_[parameter.id()][leaf++].IsEmpty() && (!shape.IsArray() || shape.NumElements() > 0);
  });
  return never && leaves_[parameter.id()].size() == leaf;
}

}  // namespace hlo
