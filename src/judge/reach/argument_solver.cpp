#include "judge/reach/argument_solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/analysis/dynamic_indices.h"
#include "ir/analysis/taken_branch.h"
#include "ir/module.h"
#include "ir/reducer.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMostSteps = 4000, kMostDepth = 4000;

// The element of `operand` that an elementwise instruction reads for its `element`: 0 if there is only one.
int64_t Same(const Instruction& operand, int64_t element) { return operand.shape().NumElements() == 1 ? 0 : element; }

// An increasing function, and its inverse for results in [low, high].
struct Monotone {
  Opcode opcode;
  double low, high;
  double (*inverse)(double);
};
constexpr double kHuge = 1e30;
const Monotone kMonotone[] = {
    {Opcode::kExp, 1e-30, kHuge, [](double y) { return std::log(y); }},
    {Opcode::kExp2, 1e-30, kHuge, [](double y) { return std::log2(y); }},
    {Opcode::kExpm1, -1 + 1e-6, kHuge, [](double y) { return std::log1p(y); }},
    {Opcode::kLog, -69, 69, [](double y) { return std::exp(y); }},
    {Opcode::kLog2, -99, 99, [](double y) { return std::exp2(y); }},
    {Opcode::kLog1p, -13, 69, [](double y) { return std::expm1(y); }},
    {Opcode::kLogistic, 1e-9, 1 - 1e-6, [](double y) { return -std::log(1 / y - 1); }},
    {Opcode::kTanh, -1 + 1e-6, 1 - 1e-6, [](double y) { return std::atanh(y); }},
    {Opcode::kSqrt, 0, kHuge, [](double y) { return y * y; }},
    {Opcode::kCbrt, -kHuge, kHuge, [](double y) { return y * y * y; }},
    {Opcode::kSin, -1, 1, [](double y) { return std::asin(y); }},
    {Opcode::kTan, -kHuge, kHuge, [](double y) { return std::atan(y); }},
    {Opcode::kAsin, -1.57, 1.57, [](double y) { return std::sin(y); }},
    {Opcode::kSinh, -kHuge, kHuge, [](double y) { return std::asinh(y); }},
    {Opcode::kAsinh, -60, 60, [](double y) { return std::sinh(y); }},
    {Opcode::kCosh, 1, kHuge, [](double y) { return std::acosh(y); }},
    {Opcode::kAcosh, 0, 60, [](double y) { return std::cosh(y); }},
    {Opcode::kAtanh, -8, 8, [](double y) { return std::tanh(y); }},
    {Opcode::kErf, -1 + 1e-6, 1 - 1e-6,
     [](double y) {
       double low = -6, high = 6;
       for (int i = 0; i < 60; ++i) {
         const double middle = (low + high) / 2;
         (std::erf(middle) < y ? low : high) = middle;
       }
       return low;
     }},
};

ComparisonDirection Opposite(ComparisonDirection direction) {
  using D = ComparisonDirection;
  switch (direction) {
    case D::kEq: return D::kNe;
    case D::kNe: return D::kEq;
    case D::kLt: return D::kGe;
    case D::kGe: return D::kLt;
    case D::kGt: return D::kLe;
    case D::kLe: return D::kGt;
  }
  return direction;
}

// A value in `wanted` close to `now`. If `now` is outside, a float keeps a distance from the end, for roundings.
double Nearest(Wanted wanted, double now, bool is_integer) {
  if (is_integer) {
    const double low = std::ceil(wanted.low), high = std::floor(wanted.high);
    return now != now ? low : std::min(std::max(now, low), high);
  }
  const double half = (wanted.high - wanted.low) / 2;
  const auto margin = [&](double end) { return std::min(half, std::max(std::fabs(end), 1.0) / 16); };
  if (now < wanted.low || now != now) {
    if (wanted.low == -kInfinity) return wanted.high == kInfinity ? 0 : wanted.high - margin(wanted.high);
    return wanted.low == kInfinity ? wanted.low : wanted.low + margin(wanted.low);
  }
  return now > wanted.high ? wanted.high == -kInfinity ? wanted.high : wanted.high - margin(wanted.high) : now;
}

bool IsAnd(const Instruction& inst) {
  return inst.Is(Opcode::kAnd) || inst.Is(Opcode::kMultiply) || inst.Is(Opcode::kMinimum);
}
bool IsOr(const Instruction& inst) {
  return inst.Is(Opcode::kOr) || inst.Is(Opcode::kAdd) || inst.Is(Opcode::kMaximum);
}

ShapeIndex Tail(const ShapeIndex& path) { return ShapeIndex(path.begin() + 1, path.end()); }

}  // namespace

Wanted Shifted(Wanted wanted, double by) {
  wanted.low += by, wanted.high += by;
  return wanted;
}
Wanted Negated(Wanted wanted) { return {-wanted.high, -wanted.low, wanted.nan}; }
Wanted Scaled(Wanted wanted, double by) {
  const auto times = [&](double x) { return x == 0 ? 0 : x * by; };
  if (by < 0) return {times(wanted.high), times(wanted.low), wanted.nan};
  return {times(wanted.low), times(wanted.high), wanted.nan};
}

ArgumentSolver::ArgumentSolver(const Module& module) : module_(module), ranges_(CollectRanges(module)) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      for (const Computation* called : CalledComputations(*inst)) callers_[called].push_back(inst);
    }
  }
}

bool ArgumentSolver::Solve(const Recording& recording, const Dependence& dependence, const Instruction& inst,
                           int64_t element, Wanted wanted, Changes& changes, bool other_first) {
  recording_ = &recording;
  dependence_ = &dependence;
  changes_ = &changes;
  added_.clear();
  other_first_ = other_first;
  steps_ = depth_ = 0;
  return Follow(inst, {}, element, wanted);
}

bool ArgumentSolver::ReachSide(const Recording& recording, const Dependence& dependence, const Site& site, int side,
                               int64_t element, Changes& changes, bool other_first) {
  const Instruction& inst = *site.inst;
  const auto solve = [&](const Instruction& of, int64_t at, Wanted wanted) {
    return Solve(recording, dependence, of, at, wanted, changes, other_first);
  };
  const auto operand = [&](int64_t i, Wanted wanted) {
    return solve(inst.operand(i), Same(inst.operand(i), element), wanted);
  };
  const auto value = [&](int64_t i) {
    recording_ = &recording;
    return At(inst.operand(i), Same(inst.operand(i), element)).value_or(std::numeric_limits<double>::quiet_NaN());
  };
  const Wanted holds = side == 0 ? Wanted{1, 1} : Wanted{0, 0};
  // Distances from x. `far` survives roundings. `near` is tried if that fails.
  const auto far = [&](double x) { return std::max(std::fabs(x) / 4, 1.0); };
  const auto near = [&](double x) { return std::max(std::fabs(x) * 0x1p-6, 0x1p-6); };
  const bool is_float = inst.shape().IsArray() && IsFloat(inst.operand(inst.operand_count() - 1).shape().type());
  const auto less = [&](int64_t a, int64_t b) {
    const double x = value(a), y = value(b), size = std::max(std::fabs(x), std::fabs(y));
    for (const double distance : {far(size), near(size)}) {
      if (operand(a, {-kInfinity, y - distance}) || operand(b, {x + distance, kInfinity})) return true;
      if (!is_float) break;
    }
    return !is_float && (operand(a, {-kInfinity, y - 1}) || operand(b, {x + 1, kInfinity}));
  };
  switch (site.kind) {
    case SiteKind::kSelect: return operand(0, holds);
    case SiteKind::kCompare: return solve(inst, element, holds);
    case SiteKind::kTie: {
      const double x = value(0), y = value(1);
      return operand(0, {y, y}) || operand(1, {x, x});
    }
    case SiteKind::kClamp:
      if (side == kInside) return operand(1, {value(0), value(2)});
      return side == kBelow ? less(1, 0) : less(2, 1);
    case SiteKind::kLargest: return side == 0 ? less(0, 1) : less(1, 0);
    case SiteKind::kStart:
    case SiteKind::kIndex: {
      const auto most = static_cast<double>(site.most);
      const Wanted wanted = side == kBelow    ? Wanted{-kInfinity, -1}
                            : side == kInside ? Wanted{0, most}
                                              : Wanted{most + 1, kInfinity};
      if (site.kind == SiteKind::kStart) return solve(inst.operand(site.part), 0, wanted);
      return solve(inst.operand(inst.Is(Opcode::kGather) ? 1 : (inst.operand_count() - 1) / 2), element, wanted);
    }
    case SiteKind::kBranch:
      if (inst.operand(0).shape().type() == PrimitiveType::kPred) return operand(0, holds);
      return operand(0, {static_cast<double>(side), static_cast<double>(side)});
  }
  return false;
}

template <class F>
bool ArgumentSolver::Try(F&& attempt) {
  const size_t before = added_.size();
  if (attempt()) return true;
  for (; added_.size() > before; added_.pop_back()) changes_->erase(added_.back());
  return false;
}

const Literal* ArgumentSolver::Find(const Instruction& inst, const Path& path) const {
  const std::optional<Literal>& value = recording_->values[inst.id()];
  if (!value) return nullptr;
  const Literal& leaf = value->At(path);
  const Shape& written = SubShape(inst.shape(), path);
  return leaf.shape().IsArray() && leaf.shape().dims() == written.dims() ? &leaf : nullptr;
}

std::optional<double> ArgumentSolver::At(const Instruction& inst, int64_t element, const Path& path) const {
  const Literal* value = Find(inst, path);
  if (value == nullptr || IsComplex(value->shape().type()) || element >= value->shape().NumElements()) return {};
  return value->GetDouble(element);
}

bool ArgumentSolver::MayChange(const Instruction& inst, const Path& path) const {
  int64_t leaf = 0, at = 0;
  ForEachLeaf(inst.shape(), [&](const ShapeIndex& index, const Shape&) {
    if (index == path) leaf = at;
    ++at;
  });
  return dependence_->OfLeaf(inst, leaf);
}

bool ArgumentSolver::Follow(const Instruction& inst, const Path& path, int64_t element, Wanted wanted) {
  if (wanted.IsEmpty()) return false;
  const auto now = At(inst, element, path);
  if (!now) return false;
  if (wanted.Has(*now)) return true;
  if (!MayChange(inst, path)) return false;
  ++all_steps_;
  if (++steps_ > kMostSteps || depth_ >= kMostDepth) return false;
  ++depth_;
  const bool done = Try([&] { return Step(inst, path, element, wanted); });
  --depth_;
  return done;
}

bool ArgumentSolver::Operand(const Instruction& inst, int64_t operand, int64_t element, Wanted wanted) {
  return Follow(inst.operand(operand), {}, Same(inst.operand(operand), element), wanted);
}

bool ArgumentSolver::Step(const Instruction& inst, const Path& path, int64_t element, Wanted wanted) {
  switch (inst.opcode()) {
    case Opcode::kParameter: return AtParameter(inst, path, element, wanted);
    case Opcode::kTuple: return Follow(inst.operand(path.front()), Tail(path), element, wanted);
    case Opcode::kGetTupleElement: {
      Path longer{inst.tuple_index()};
      longer.insert(longer.end(), path.begin(), path.end());
      return Follow(inst.operand(0), longer, element, wanted);
    }
    case Opcode::kOptimizationBarrier:
    case Opcode::kCopy: return Follow(inst.operand(0), path, element, wanted);
    case Opcode::kCall:
    case Opcode::kFusion: return Follow(CalledComputations(inst)[0]->root(), path, element, wanted);
    case Opcode::kConditional: {
      const auto selector = Find(inst.operand(0), {});
      const auto branches = inst.attrs<ConditionalAttrs>().branches();
      return selector != nullptr &&
             Follow(branches[TakenBranch(*selector, std::ssize(branches))]->root(), path, element, wanted);
    }
    case Opcode::kWhile: return Loop(inst, path, element, wanted);
    case Opcode::kReduce:
    case Opcode::kReduceWindow: return path.empty() && Reduced(inst, element, wanted);
    case Opcode::kSort:
    case Opcode::kTopK: return Taken(inst, path, element, wanted);
    case Opcode::kScatter: {
      if (!path.empty()) return false;
      const auto now = At(inst, element), before = At(inst.operand(0), element);
      return now && before && Operand(inst, 0, element, wanted.nan ? wanted : Shifted(wanted, *before - *now));
    }
    case Opcode::kDot: return Product(inst, element, wanted);
    case Opcode::kSelect: return Choice(inst, element, wanted);
    case Opcode::kClamp: return Clamped(inst, element, wanted);
    default: break;
  }
  if (const auto from = MovedFrom(inst, element)) return Follow(inst.operand(from->first), {}, from->second, wanted);
  if (inst.shape().IsScalarOf(PrimitiveType::kPred) || inst.shape().type() == PrimitiveType::kPred)
    return Logical(inst, element, wanted.Has(1));
  if (!inst.Is(kElementwise) || IsComplex(inst.shape().type())) return false;
  if (inst.operand_count() == 1) return Unary(inst, element, wanted);
  return inst.operand_count() == 2 && Binary(inst, element, wanted);
}

// ---- Parameters ----------------------------------------------------------------------------------------------------

bool ArgumentSolver::AtParameter(const Instruction& parameter, const Path& path, int64_t element, Wanted wanted) {
  if (parameter.computation().IsEntry()) return Change(parameter, path, element, wanted);
  const int64_t number = parameter.parameter_number();
  for (const Instruction* caller : callers_[&parameter.computation()]) {
    const Instruction* operand = nullptr;
    switch (caller->opcode()) {
      case Opcode::kCall:
      case Opcode::kFusion:
      case Opcode::kAsyncStart:
        if (number < caller->operand_count()) operand = &caller->operand(number);
        break;
      case Opcode::kWhile: operand = &caller->operand(0); break;
      case Opcode::kConditional: {
        const auto branches = caller->attrs<ConditionalAttrs>().branches();
        const auto branch = std::ranges::find(branches, &parameter.computation());
        operand = &caller->operand(branch - branches.begin() + 1);
        break;
      }
      default: break;
    }
    if (operand != nullptr && recording_->values[operand->id()] && Follow(*operand, path, element, wanted)) return true;
  }
  return false;
}

// Never changes identities of reducers, and indices that are promised to be in range, sorted or unique. Sizes, trip
// counts and divisors keep their range. Other indices may be out of range, because every op defines the result then.
bool ArgumentSolver::Change(const Instruction& parameter, const Path& path, int64_t element, Wanted wanted) {
  const Shape& shape = SubShape(parameter.shape(), path);
  const PrimitiveType type = shape.type();
  if (!shape.IsArray() || IsComplex(type)) return false;
  int64_t leaf = 0, at = 0;
  ForEachLeaf(parameter.shape(), [&](const ShapeIndex& index, const Shape&) {
    if (index == path) leaf = at;
    ++at;
  });
  const LeafRange& range = ranges_.parameters[parameter.parameter_number()][leaf];
  if (range.exactly || range.is_promised || range.rows_sorted || range.rows_unique) return false;
  const bool is_integer = !IsFloat(type);
  if (is_integer) {
    if (wanted.nan) return false;
    const bool is_pred = type == PrimitiveType::kPred;
    const int bits = is_pred ? 1 : std::min(BitWidth(type), 53) - (IsSigned(type) ? 1 : 0);
    wanted.low = std::max(wanted.low, IsSigned(type) ? -std::ldexp(1.0, bits) : 0);
    wanted.high = std::min(wanted.high, std::ldexp(1.0, bits) - 1);
    if (!range.is_index || range.is_trip_count) {
      wanted.low = std::max(wanted.low, range.interval.low);
      wanted.high = std::min(wanted.high, range.interval.high);
    }
    if (std::ceil(wanted.low) > std::floor(wanted.high)) return false;
  }
  const ElementOfArgument key{parameter.parameter_number(), path, element};
  if (const auto known = changes_->find(key); known != changes_->end()) return wanted.Has(known->second);
  const auto now = At(parameter, element, path);
  if (!now) return false;
  if (wanted.Has(*now)) return true;
  double value = wanted.nan ? std::numeric_limits<double>::quiet_NaN() : Nearest(wanted, *now, is_integer);
  const auto rounded = [&](double x) { return is_integer ? x : Literal::Scalar(type, x).GetDouble(0); };
  if (!wanted.Has(rounded(value))) value = wanted.low;
  if (!wanted.Has(rounded(value))) return false;
  changes_->emplace(key, rounded(value));
  added_.push_back(key);
  return true;
}

// ---- Elementwise ---------------------------------------------------------------------------------------------------

bool ArgumentSolver::Unary(const Instruction& inst, int64_t element, Wanted wanted) {
  const Instruction& x = inst.operand(0);
  const auto now = At(x, Same(x, element));
  if (!now) return false;
  const auto ask = [&](Wanted of_operand) { return Operand(inst, 0, element, of_operand); };
  if (wanted.nan) return IsFloat(x.shape().type()) && ask(wanted);
  const bool negative = *now < 0;
  switch (inst.opcode()) {
    case Opcode::kNegate: return ask(Negated(wanted));
    case Opcode::kReducePrecision: return ask(wanted);
    case Opcode::kConvert: {
      if (IsFloat(inst.shape().type()) || !IsFloat(x.shape().type())) return ask(wanted);
      constexpr double kBelowOne = 0.99;  // The conversion truncates the fraction.
      wanted.low = std::ceil(wanted.low), wanted.high = std::floor(wanted.high);
      return ask({wanted.low > 0 ? wanted.low : wanted.low - kBelowOne,
                  wanted.high < 0 ? wanted.high : wanted.high + kBelowOne});
    }
    case Opcode::kAbs: {
      const Wanted positive = {std::max(wanted.low, 0.0), wanted.high};
      return ask(negative ? Negated(positive) : positive) || ask(negative ? positive : Negated(positive));
    }
    case Opcode::kSign:
      if (wanted.Has(*now > 0 ? 1 : negative ? -1 : 0)) return ask({*now, *now});
      if (wanted.Has(1)) return ask({0.01, kInfinity});
      if (wanted.Has(-1)) return ask({-kInfinity, -0.01});
      return wanted.Has(0) && ask({0, 0});
    case Opcode::kFloor: return ask({std::ceil(wanted.low), std::floor(wanted.high) + 0.99});
    case Opcode::kCeil: return ask({std::ceil(wanted.low) - 0.99, std::floor(wanted.high)});
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven: return ask({std::ceil(wanted.low) - 0.49, std::floor(wanted.high) + 0.49});
    case Opcode::kNot: return ask(Shifted(Negated(wanted), -1));
    case Opcode::kRsqrt:
      if (wanted.high <= 0) return false;
      return ask({wanted.high > kHuge ? 1e-30 : 1 / (wanted.high * wanted.high),
                  wanted.low <= 1e-15 ? kInfinity : 1 / (wanted.low * wanted.low)});
    case Opcode::kCos: return ask({std::acos(std::min(wanted.high, 1.0)), std::acos(std::max(wanted.low, -1.0))});
    default: break;
  }
  for (const Monotone& function : kMonotone) {
    if (function.opcode != inst.opcode()) continue;
    // An end of `wanted` outside [low, high] sets no limit for the operand.
    if (wanted.low > function.high || wanted.high < function.low) return false;
    return ask({wanted.low <= function.low ? -kInfinity : function.inverse(wanted.low),
                wanted.high >= function.high ? kInfinity : function.inverse(wanted.high)});
  }
  return false;
}

bool ArgumentSolver::Binary(const Instruction& inst, int64_t element, Wanted wanted) {
  const Instruction &x = inst.operand(0), &y = inst.operand(1);
  const auto a = At(x, Same(x, element)), b = At(y, Same(y, element));
  if (!a || !b) return false;
  const bool is_integer = IsInteger(inst.shape().type());
  const auto first = [&](Wanted of_operand) { return Operand(inst, 0, element, of_operand); };
  const auto second = [&](Wanted of_operand) { return Operand(inst, 1, element, of_operand); };
  if (wanted.nan) return first(wanted) || second(wanted);
  const std::pair<int64_t, int64_t> both[] = {{0, Same(x, element)}, {1, Same(y, element)}};
  switch (inst.opcode()) {
    case Opcode::kAdd:
      if (&x == &y) return first(Scaled(wanted, 0.5));
      return first(Shifted(wanted, -*b)) || second(Shifted(wanted, -*a));
    case Opcode::kSubtract: return first(Shifted(wanted, *b)) || second(Shifted(Negated(wanted), *a));
    case Opcode::kMultiply: {
      if (&x == &y) {
        const Wanted root = {std::sqrt(std::max(wanted.low, 0.0)), std::sqrt(std::max(wanted.high, 0.0))};
        return wanted.high >= 0 && first(*a < 0 ? Negated(root) : root);
      }
      if (*b != 0 && first(Scaled(wanted, 1 / *b))) return true;
      return *a != 0 && second(Scaled(wanted, 1 / *a));
    }
    case Opcode::kDivide: {
      if (is_integer) {
        const double most = std::fabs(*b) - 1;
        wanted.low = std::ceil(wanted.low), wanted.high = std::floor(wanted.high);
        const Wanted scaled = Scaled(wanted, *b);
        return *b != 0 && first({wanted.low > 0 && *b > 0 ? scaled.low : scaled.low - most,
                                 wanted.high < 0 && *b > 0 ? scaled.high : scaled.high + most});
      }
      if (first(Scaled(wanted, *b))) return true;
      if (*a == 0 || (wanted.low <= 0 && wanted.high >= 0)) return false;
      return second({std::min(*a / wanted.low, *a / wanted.high), std::max(*a / wanted.low, *a / wanted.high)});
    }
    case Opcode::kRemainder: {
      const double most = std::fabs(*b) - (is_integer ? 1 : 0);
      return first({std::max(wanted.low, -most), std::min(wanted.high, most)});
    }
    case Opcode::kPower:
      if (*b == 0 || wanted.high < 0) return false;
      wanted.low = std::max(wanted.low, 0.0);
      if (*b < 0) return first({std::pow(wanted.high, 1 / *b), std::pow(wanted.low, 1 / *b)});
      return first({std::pow(wanted.low, 1 / *b), std::pow(wanted.high, 1 / *b)});
    case Opcode::kMaximum:
    case Opcode::kMinimum: return Largest(inst, both, wanted);
    case Opcode::kAnd: {
      const double mask = std::max(*a, *b);
      if (mask < 0 || mask >= 0x1p52 || (static_cast<int64_t>(mask) & (static_cast<int64_t>(mask) + 1)) != 0)
        return false;
      const Wanted masked = {std::max(wanted.low, 0.0), std::min(wanted.high, mask)};
      return *b == mask ? first(masked) : second(masked);
    }
    case Opcode::kShiftLeft:
      return *b >= 0 && *b < 53 &&
             first({std::ceil(std::ldexp(wanted.low, -static_cast<int>(*b))),
                    std::floor(std::ldexp(wanted.high, -static_cast<int>(*b)))});
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return *b >= 0 && *b < 53 &&
             first({std::ldexp(std::ceil(wanted.low), static_cast<int>(*b)),
                    std::ldexp(std::floor(wanted.high) + 1, static_cast<int>(*b)) - 1});
    default: return false;
  }
}

bool ArgumentSolver::Largest(const Instruction& inst, std::span<const std::pair<int64_t, int64_t>> terms,
                             Wanted wanted) {
  const Opcode opcode = inst.Is(Opcode::kMaximum) || inst.Is(Opcode::kMinimum)
                            ? inst.opcode()
                            : ReducerOp(*CalledComputations(inst)[0]).value_or(Opcode::kMaximum);
  const bool is_least = opcode == Opcode::kMinimum || opcode == Opcode::kAnd;
  const auto ask = [&](const std::pair<int64_t, int64_t>& term, Wanted of_term) {
    return Follow(inst.operand(term.first), {}, term.second, of_term);
  };
  // A minimum is the negated maximum of the negated terms.
  const auto turned = [&](Wanted w) { return is_least ? Negated(w) : w; };
  const Wanted want = turned(wanted);
  double largest = -kInfinity;
  for (const auto& term : terms) {
    const auto value = At(inst.operand(term.first), term.second);
    if (!value) return false;
    largest = std::max(largest, is_least ? -*value : *value);
  }
  if (largest > want.high) {
    for (const auto& term : terms) {
      const double value = *At(inst.operand(term.first), term.second);
      if ((is_least ? -value : value) <= want.high) continue;
      if (!ask(term, turned({want.low, want.high})) && !ask(term, turned({-kInfinity, want.high}))) return false;
    }
    return true;
  }
  size_t tried = 0;
  for (const auto& term : terms) {
    if (!MayChange(inst.operand(term.first), {})) continue;
    if (ask(term, wanted)) return true;
    if (++tried == kMostTerms) break;
  }
  return false;
}

bool ArgumentSolver::Sum(const Instruction& inst, std::span<const std::pair<int64_t, int64_t>> terms, double sum,
                         Wanted wanted) {
  if (!std::isfinite(sum)) return false;
  size_t tried = 0;
  for (const auto& [operand, element] : terms) {
    if (!MayChange(inst.operand(operand), {})) continue;
    const auto value = At(inst.operand(operand), element);
    if (!value) return false;
    if (Follow(inst.operand(operand), {}, element, Shifted(wanted, *value - sum))) return true;
    if (++tried == kMostTerms) break;
  }
  return false;
}

bool ArgumentSolver::Clamped(const Instruction& inst, int64_t element, Wanted wanted) {
  const Instruction &low = inst.operand(0), &high = inst.operand(2);
  const auto least = At(low, Same(low, element)), most = At(high, Same(high, element));
  if (!least || !most) return false;
  if (wanted.nan) return Operand(inst, 1, element, wanted);
  if (wanted.low <= *most && wanted.high >= *least) {
    const Wanted inner = {wanted.low <= *least ? -kInfinity : wanted.low,
                          wanted.high >= *most ? kInfinity : wanted.high};
    return Operand(inst, 1, element, inner);
  }
  if (wanted.low > *most)
    return Operand(inst, 2, element, wanted) && Operand(inst, 1, element, {wanted.low, kInfinity});
  return Operand(inst, 0, element, wanted) && Operand(inst, 1, element, {-kInfinity, wanted.high});
}

bool ArgumentSolver::Choice(const Instruction& inst, int64_t element, Wanted wanted) {
  const Instruction& selector = inst.operand(0);
  const auto now = At(selector, Same(selector, element));
  if (!now) return false;
  const int64_t taken = *now != 0 ? 1 : 2, other = 3 - taken;
  // The predicate comes last: it accepts more values, so an x that suits the operand may also suit the predicate, as in
  // select(x < 0, x + n, x).
  const auto take_other = [&] {
    return Try([&] {
      return Operand(inst, other, element, wanted) &&
             Operand(inst, 0, element, *now != 0 ? Wanted{0, 0} : Wanted{1, 1});
    });
  };
  if (other_first_ && take_other()) return true;
  return Operand(inst, taken, element, wanted) || (!other_first_ && take_other());
}

// ---- Decisions -----------------------------------------------------------------------------------------------------

bool ArgumentSolver::Logical(const Instruction& inst, int64_t element, bool holds) {
  const Wanted same = holds ? Wanted{1, 1} : Wanted{0, 0};
  if (inst.Is(Opcode::kCompare)) return Compared(inst, element, holds);
  if (inst.Is(Opcode::kNot)) return Operand(inst, 0, element, holds ? Wanted{0, 0} : Wanted{1, 1});
  if (inst.Is(Opcode::kIsFinite)) {
    if (holds) return Operand(inst, 0, element, {-1, 1});
    return Operand(inst, 0, element, {kInfinity, kInfinity}) || Operand(inst, 0, element, {.nan = true});
  }
  if (inst.Is(Opcode::kConvert)) return Operand(inst, 0, element, same);
  if (IsAnd(inst) || IsOr(inst)) {
    if (IsAnd(inst) == holds)
      return Try([&] { return Operand(inst, 0, element, same) && Operand(inst, 1, element, same); });
    return Operand(inst, 0, element, same) || Operand(inst, 1, element, same);
  }
  if (inst.Is(Opcode::kXor)) {
    for (const int64_t side : {0, 1}) {
      const auto other = At(inst.operand(1 - side), Same(inst.operand(1 - side), element));
      if (!other) return false;
      const double value = (*other != 0) != holds ? 1 : 0;
      if (Operand(inst, side, element, {value, value})) return true;
    }
  }
  return false;
}

bool ArgumentSolver::Compared(const Instruction& inst, int64_t element, bool holds) {
  using D = ComparisonDirection;
  const Instruction &x = inst.operand(0), &y = inst.operand(1);
  if (IsComplex(x.shape().type())) return false;
  const auto a = At(x, Same(x, element)), b = At(y, Same(y, element));
  if (!a || !b) return false;
  const D direction = holds ? inst.attrs<CompareAttrs>().direction : Opposite(inst.attrs<CompareAttrs>().direction);
  const bool is_float = IsFloat(x.shape().type());
  if (&x == &y) return is_float && direction == D::kNe && Operand(inst, 0, element, {.nan = true});
  // Large distances survive roundings. Smaller ones are for values that cannot change so much.
  const double size = std::max(std::fabs(*a), std::fabs(*b));
  const std::vector<double> distances =
      is_float ? std::vector{std::max(0.25, size / 4), size / 64 + 1e-3, size * 0x1p-20} : std::vector{1.0};
  const auto below = [&](int64_t side, double least) {
    return Operand(inst, side, element, {-kInfinity, (side == 0 ? *b : *a) - least});
  };
  const auto above = [&](int64_t side, double least) {
    return Operand(inst, side, element, {(side == 0 ? *b : *a) + least, kInfinity});
  };
  if (direction == D::kEq) return Operand(inst, 0, element, {*b, *b}) || Operand(inst, 1, element, {*a, *a});
  for (const double distance : distances) {
    switch (direction) {
      case D::kNe:
        if (above(0, distance) || below(0, distance) || above(1, distance) || below(1, distance)) return true;
        break;
      case D::kLt:
      case D::kLe:
        if (below(0, distance) || above(1, distance)) return true;
        break;
      default:
        if (above(0, distance) || below(1, distance)) return true;
    }
  }
  if (direction == D::kLe || direction == D::kGe)
    return Operand(inst, 0, element, {*b, *b}) || Operand(inst, 1, element, {*a, *a});
  return false;
}

}  // namespace hlo
