// Rules of algsimp for integers and bounded values: divisions by shifts, clamps and comparisons.
#include <algorithm>
#include <bit>

#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

// The k > 0 of the integer constant 2^k.
std::optional<int> PowerOfTwo(const Instruction& x) {
  const auto value = IntegerOf(x);
  if (!value || !IsInteger(x.shape().type()) || *value <= 1 || !std::has_single_bit(static_cast<uint64_t>(*value)))
    return std::nullopt;
  return std::countr_zero(static_cast<uint64_t>(*value));
}

Instruction* IntegerLike(Instruction& inst, int64_t value) {
  Instruction& scalar = inst.computation().AddConstant(Literal::Scalar(inst.shape().type(), value));
  if (inst.shape().IsScalar()) return &scalar;
  return Replace(inst, Opcode::kBroadcast, {&scalar}, DimensionsAttrs{});
}

// f(x) for an odd f, as select(x < 0, -f(-x), f(x)): `f` works only on unsigned numbers. The lowest number is its own
// negative and, unsigned, its absolute value.
template <class F>
Instruction* BySign(Instruction& inst, Instruction& x, F&& f) {
  if (NeverNegative(x)) return f(&x);
  Instruction* is_negative = Step(inst, Opcode::kCompare, inst.shape().WithType(PrimitiveType::kPred),
                                  {&x, IntegerLike(inst, 0)}, CompareAttrs{.direction = ComparisonDirection::kLt});
  Instruction* of_negative = f(Replace(inst, Opcode::kNegate, {&x}));
  return Replace(inst, Opcode::kSelect, {is_negative, Replace(inst, Opcode::kNegate, {of_negative}), f(&x)});
}

Result<Instruction*> DivideByShift(Instruction& inst, const PassContext&) {
  if (!IsInteger(inst.shape().type()) || !IsStaticOfOneType(inst)) return nullptr;
  const auto shift = PowerOfTwo(inst.operand(1));
  if (!shift) return nullptr;
  return BySign(inst, inst.operand(0), [&](Instruction* x) {
    return Replace(inst, Opcode::kShiftRightLogical, {x, IntegerLike(inst, *shift)});
  });
}

Result<Instruction*> RemainderByMask(Instruction& inst, const PassContext&) {
  if (!IsInteger(inst.shape().type()) || !IsStaticOfOneType(inst)) return nullptr;
  const auto shift = PowerOfTwo(inst.operand(1));
  if (!shift) return nullptr;
  return BySign(inst, inst.operand(0), [&](Instruction* x) {
    return Replace(inst, Opcode::kAnd, {x, IntegerLike(inst, (int64_t{1} << *shift) - 1)});
  });
}

int64_t CountOf(const Instruction& iota) { return iota.shape().dim(iota.attrs<IotaAttrs>().iota_dimension); }

Result<Instruction*> RemainderOfSmallIota(Instruction& inst, const PassContext&) {
  Instruction &x = inst.operand(0), &c = inst.operand(1);
  const auto limit = IntegerOf(c);
  if (!limit || !IsCountThatFits(x) || *limit < CountOf(x) || x.shape() != inst.shape()) return nullptr;
  return &x;
}

// (iota + c) % c => iota % c, if iota + c cannot overflow.
Result<Instruction*> RemainderOfShiftedIota(Instruction& inst, const PassContext&) {
  Instruction *iota, *c;
  if (!m::Remainder(m::Add(m::Iota(&iota), m::Any(&c)), m::Any())(&inst) || !IsCountThatFits(*iota)) return nullptr;
  const auto shift = IntegerOf(*c), limit = IntegerOf(inst.operand(1));
  if (!shift || shift != limit || *shift <= 0 || iota->shape() != inst.shape()) return nullptr;
  const PrimitiveType type = inst.shape().type();
  const int bits = std::min(BitWidth(type) - (IsSigned(type) ? 1 : 0), 62);
  if (*shift > (int64_t{1} << bits) - CountOf(*iota)) return nullptr;
  return Replace(inst, Opcode::kRemainder, {iota, &inst.operand(1)});
}

// For > and >=, the comparison with the larger constant stays.
Result<Instruction*> AndOfBounds(Instruction& inst, const PassContext&) {
  Instruction *a, *b;
  if (!m::And(m::Compare(&a), m::Compare(&b))(&inst) || a == b || &a->operand(0) != &b->operand(0)) return nullptr;
  if (!SameOperation(*a, *b) || !IsInteger(a->operand(0).shape().type())) return nullptr;
  const Literal *c = ScalarOf(a->operand(1)), *d = ScalarOf(b->operand(1));
  if (c == nullptr || d == nullptr) return nullptr;
  switch (a->attrs<CompareAttrs>().direction) {
    case ComparisonDirection::kLt:
    case ComparisonDirection::kLe: return IsLess(*d, *c) ? b : a;
    case ComparisonDirection::kGt:
    case ComparisonDirection::kGe: return IsLess(*d, *c) ? a : b;
    default: return nullptr;
  }
}

Result<Instruction*> ExtremesToClamp(Instruction& inst, const PassContext&) {
  if (!IsStaticOfOneType(inst)) return nullptr;
  const bool is_max = inst.Is(Opcode::kMaximum);
  for (int i = 0; i < 2; ++i) {
    Instruction &outer = inst.operand(i), &inner = inst.operand(1 - i);
    if (ScalarOf(outer) == nullptr || !inner.Is(is_max ? Opcode::kMinimum : Opcode::kMaximum)) continue;
    if (!IsStaticOfOneType(inner)) return nullptr;
    for (int j = 0; j < 2; ++j) {
      Instruction &bound = inner.operand(j), &x = inner.operand(1 - j);
      if (ScalarOf(bound) == nullptr || ScalarOf(x) != nullptr) continue;
      Instruction &low = is_max ? outer : bound, &high = is_max ? bound : outer;
      if (IsLess(*ScalarOf(low), *ScalarOf(high))) return Replace(inst, Opcode::kClamp, {&low, &x, &high});
    }
  }
  return nullptr;
}

// max(low, clamp(low, x, high)) needs low < high. A clamp with crossed bounds gives high, so min(high, clamp) needs no
// condition.
Result<Instruction*> ExtremeOfClamp(Instruction& inst, const PassContext&) {
  const bool is_max = inst.Is(Opcode::kMaximum);
  for (int i = 0; i < 2; ++i) {
    Instruction &bound = inst.operand(i), &clamp = inst.operand(1 - i);
    if (!clamp.Is(Opcode::kClamp) || clamp.shape() != inst.shape()) continue;
    if (&clamp.operand(is_max ? 0 : 2) != &bound) continue;
    if (!is_max) return &clamp;
    const Literal *low = ScalarOf(bound), *high = ScalarOf(clamp.operand(2));
    if (low != nullptr && high != nullptr && IsLess(*low, *high)) return &clamp;
  }
  return nullptr;
}

Result<Instruction*> ExtremeTwice(Instruction& inst, const PassContext&) {
  for (int i = 0; i < 2; ++i) {
    Instruction &inner = inst.operand(i), &y = inst.operand(1 - i);
    if (inner.opcode() != inst.opcode() || inner.shape() != inst.shape()) continue;
    if (&inner.operand(0) == &y || &inner.operand(1) == &y) return &inner;
  }
  return nullptr;
}

// A count of 1 proves nothing, because it is the default.
Result<Instruction*> ClampOfDeviceId(Instruction& inst, const PassContext&) {
  Instruction& id = inst.operand(1);
  const ModuleHeader& header = inst.computation().module().header;
  const int64_t count = id.Is(Opcode::kPartitionId) ? header.num_partitions
                        : id.Is(Opcode::kReplicaId) ? header.replica_count
                                                    : 1;
  const auto low = IntegerOf(inst.operand(0)), high = IntegerOf(inst.operand(2));
  if (count == 1 || low != 0 || !high || *high < count - 1 || id.shape() != inst.shape()) return nullptr;
  return &id;
}

// x + c == d => x == d - c holds because integers wrap, but not for < and >.
Result<Instruction*> CompareOfShifted(Instruction& inst, const PassContext&) {
  const auto direction = inst.attrs<CompareAttrs>().direction;
  Instruction& sum = inst.operand(0);
  if (direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe) return nullptr;
  if (!sum.Is(Opcode::kAdd) || !IsInteger(sum.shape().type()) || !IsStatic(sum)) return nullptr;
  const auto right = IntegerOf(inst.operand(1)), left = IntegerOf(sum.operand(1));
  if (!right || !left || ScalarOf(sum.operand(0)) != nullptr) return nullptr;
  const uint64_t difference = static_cast<uint64_t>(*right) - static_cast<uint64_t>(*left);
  return Replace(inst, Opcode::kCompare, {&sum.operand(0), IntegerLike(sum, static_cast<int64_t>(difference))},
                 inst.attributes());
}

// Sums, differences and products wrap. Quotients and remainders of unsigned numbers fit the narrow type. In every type,
// x / 0 has all bits set, and x % 0 is x.
Result<Instruction*> NarrowArithmetic(Instruction& inst, const PassContext&) {
  const PrimitiveType type = inst.shape().type();
  if (!IsInteger(type) || BitWidth(type) < 8) return nullptr;
  Instruction& op = inst.operand(0);
  if (!m::OneUse(m::Any())(&op) || !IsInteger(op.shape().type()) || BitWidth(op.shape().type()) <= BitWidth(type) ||
      IsSigned(op.shape().type()) != IsSigned(type))
    return nullptr;
  const bool wraps = op.Is(Opcode::kAdd) || op.Is(Opcode::kSubtract) || op.Is(Opcode::kMultiply);
  const bool fits = IsUnsigned(type) && (op.Is(Opcode::kDivide) || op.Is(Opcode::kRemainder));
  if (!(wraps || fits) || !IsStaticOfOneType(op)) return nullptr;
  Instruction *a, *b;
  if (!m::Convert(m::Any(&a))(&op.operand(0)) || !m::Convert(m::Any(&b))(&op.operand(1))) return nullptr;
  if (a->shape() != inst.shape() || b->shape() != inst.shape()) return nullptr;
  return Replace(inst, op.opcode(), {a, b}, op.attributes());
}

// Compares first elements of literals of one real type.
bool Holds(ComparisonDirection direction, const Literal& a, const Literal& b) {
  const bool less = IsLess(a, b), greater = IsLess(b, a);
  const bool equal = IsFloat(a.shape().type()) ? a.GetDouble(0) == b.GetDouble(0) : a.GetInt(0) == b.GetInt(0);
  switch (direction) {
    case ComparisonDirection::kEq: return equal;
    case ComparisonDirection::kNe: return !equal;
    case ComparisonDirection::kLt: return less;
    case ComparisonDirection::kGt: return greater;
    case ComparisonDirection::kLe: return less || equal;
    case ComparisonDirection::kGe: return greater || equal;
  }
  __builtin_unreachable();
}

Result<Instruction*> CompareOfChoice(Instruction& inst, const PassContext&) {
  Instruction& choice = inst.operand(0);
  const CompareAttrs& compare = inst.attrs<CompareAttrs>();
  if (!choice.Is(Opcode::kSelect) || compare.type == ComparisonType::kTotalOrder) return nullptr;
  const Literal *c = ScalarOf(choice.operand(1)), *d = ScalarOf(choice.operand(2)), *e = ScalarOf(inst.operand(1));
  if (c == nullptr || d == nullptr || e == nullptr || IsComplex(e->shape().type())) return nullptr;
  Instruction& p = choice.operand(0);
  const bool if_true = Holds(compare.direction, *c, *e), if_false = Holds(compare.direction, *d, *e);
  if (if_true == if_false) return ConstantLike(inst, if_true ? 1 : 0);
  if (p.shape() != inst.shape()) return nullptr;
  return if_true ? &p : Replace(inst, Opcode::kNot, {&p});
}

// max(a, b) > a => b > a, also with swapped sides and <. If an operand is NaN, both are false.
Result<Instruction*> CompareOfExtreme(Instruction& inst, const PassContext&) {
  const CompareAttrs& compare = inst.attrs<CompareAttrs>();
  if (compare.type == ComparisonType::kTotalOrder) return nullptr;
  const bool greater = compare.direction == ComparisonDirection::kGt;
  if (!greater && compare.direction != ComparisonDirection::kLt) return nullptr;
  Instruction &more = inst.operand(greater ? 0 : 1), &less = inst.operand(greater ? 1 : 0);
  const auto other_of = [](Instruction& extreme, Instruction& a) -> Instruction* {
    if (&extreme.operand(0) == &a) return &extreme.operand(1);
    return &extreme.operand(1) == &a ? &extreme.operand(0) : nullptr;
  };
  Instruction *new_more = &more, *new_less = &less;
  if (more.Is(Opcode::kMaximum) && other_of(more, less) != nullptr) {
    new_more = other_of(more, less);
  } else if (less.Is(Opcode::kMinimum) && other_of(less, more) != nullptr) {
    new_less = other_of(less, more);
  } else {
    return nullptr;
  }
  if (!SameDims(new_more->shape(), new_less->shape()) || new_more->shape().type() != new_less->shape().type())
    return nullptr;
  return Replace(inst, Opcode::kCompare, {greater ? new_more : new_less, greater ? new_less : new_more},
                 inst.attributes());
}

// x >= 0 becomes true only for integers, because a float may be NaN.
Result<Instruction*> CompareNonNegativeWithZero(Instruction& inst, const PassContext&) {
  const CompareAttrs& compare = inst.attrs<CompareAttrs>();
  if (compare.type == ComparisonType::kTotalOrder) return nullptr;
  for (int i = 0; i < 2; ++i) {
    const Instruction &x = inst.operand(i), &zero = inst.operand(1 - i);
    const PrimitiveType type = x.shape().type();
    if (!IsSigned(type) && !IsFloat(type)) return nullptr;
    if (!zero.IsConstantOf(0) || !NeverNegative(x)) continue;
    const auto below = i == 0 ? ComparisonDirection::kLt : ComparisonDirection::kGt;
    const auto not_below = i == 0 ? ComparisonDirection::kGe : ComparisonDirection::kLe;
    if (compare.direction == below) return ConstantLike(inst, 0);
    if (compare.direction == not_below && IsSigned(type)) return ConstantLike(inst, 1);
  }
  return nullptr;
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.div.2",   Opcode::kDivide,    DivideByShift,              Preserves::kExact, "x / 2^k => x >> k, for integers, towards zero"},
    {"A.rem.2",   Opcode::kRemainder, RemainderOfSmallIota,       Preserves::kExact, "iota % c => iota, when all elements are less than c"},
    {"A.rem.3",   Opcode::kRemainder, RemainderOfShiftedIota,     Preserves::kExact, "(iota + c) % c => iota % c"},
    {"A.rem.1",   Opcode::kRemainder, RemainderByMask,            Preserves::kExact, "x % 2^k => x & (2^k - 1), for integers, with the sign of x"},
    {"A.and.2",   Opcode::kAnd,       AndOfBounds,                Preserves::kExact, "(v < c) & (v < d) => v < min(c, d), for integers"},
    {"A.max.4",   Opcode::kMaximum,   ExtremeOfClamp,             Preserves::kExact, "max(low, clamp(low, x, high)) => clamp(low, x, high)"},
    {"A.min.4",   Opcode::kMinimum,   ExtremeOfClamp,             Preserves::kExact, "min(high, clamp(low, x, high)) => clamp(low, x, high)"},
    {"A.max.3",   Opcode::kMaximum,   ExtremesToClamp,            Preserves::kExact, "max(c, min(x, d)) => clamp(c, x, d), for c < d"},
    {"A.min.3",   Opcode::kMinimum,   ExtremesToClamp,            Preserves::kExact, "min(d, max(x, c)) => clamp(c, x, d), for c < d"},
    {"A.max.2b",  Opcode::kMaximum,   ExtremeTwice,               Preserves::kExact, "max(max(x, y), y) => max(x, y)"},
    {"A.min.2b",  Opcode::kMinimum,   ExtremeTwice,               Preserves::kExact, "min(min(x, y), y) => min(x, y)"},
    {"A.clamp.2", Opcode::kClamp,     ClampOfDeviceId,            Preserves::kExact, "clamp(0, partition-id, n) => partition-id, when there are at most n + 1; replica-id too"},
    {"A.cmp.2",   Opcode::kCompare,   CompareNonNegativeWithZero, Preserves::kExact, "x < 0 => false; x >= 0 => true for integers; where x is never negative"},
    {"A.cmp.4",   Opcode::kCompare,   CompareOfShifted,           Preserves::kExact, "x + c == d => x == d - c, for integers; != too"},
    {"A.cmp.6",   Opcode::kCompare,   CompareOfChoice,            Preserves::kExact, "select(p, 1, 0) != 0 => p, and so on"},
    {"A.cmp.7",   Opcode::kCompare,   CompareOfExtreme,           Preserves::kExact, "max(a, b) > a => b > a; a > min(a, b) => a > b"},
    {"A.cvt.3",   Opcode::kConvert,   NarrowArithmetic,           Preserves::kExact, "narrow(f(widen(a), widen(b))) => f(a, b), for integer sums, differences and products"},
};
// clang-format on

}  // namespace

std::span<const Rule> IntegerRules() { return kRules; }

}  // namespace hlo
