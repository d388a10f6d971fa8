// Rules of algsimp for predicates, bits, comparisons and selects.
#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

bool IsPred(const Instruction& inst) { return inst.shape().type() == PrimitiveType::kPred; }

// Whether all bits are set. False for integers of over 32 bits.
bool IsAllOnes(const Instruction& constant) {
  const Instruction& scalar = constant.Is(Opcode::kBroadcast) ? constant.operand(0) : constant;
  const PrimitiveType type = scalar.shape().type();
  if (type == PrimitiveType::kPred) return constant.IsConstantOf(1);
  if (!IsInteger(type) || BitWidth(type) > 32) return false;
  return constant.IsConstantOf(IsSigned(type) ? -1 : static_cast<double>((1ULL << BitWidth(type)) - 1));
}

Result<Instruction*> BitsWithConstant(Instruction& inst, const PassContext&) {
  const bool is_and = inst.Is(Opcode::kAnd), is_or = inst.Is(Opcode::kOr);
  if (!is_and && !is_or && !inst.Is(Opcode::kXor)) return nullptr;
  for (int i = 0; i < 2; ++i) {
    Instruction &x = inst.operand(i), &c = inst.operand(1 - i);
    if (!m::AnyConstant()(&c) || x.shape() != c.shape()) continue;
    if (c.IsConstantOf(0)) return is_and ? &c : &x;
    if (!IsAllOnes(c)) continue;
    if (is_and) return &x;
    if (is_or) return &c;
    if (IsPred(inst)) return Replace(inst, Opcode::kNot, {&x});
  }
  return nullptr;
}

Result<Instruction*> XorSelf(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kXor) || &inst.operand(0) != &inst.operand(1) || !IsStatic(inst)) return nullptr;
  return ConstantLike(inst, 0);
}

Result<Instruction*> NotTwice(Instruction& inst, const PassContext&) {
  Instruction* x;
  return m::Not(m::Not(m::Any(&x)))(&inst) ? x : nullptr;
}

Result<Instruction*> SelectDecided(Instruction& inst, const PassContext&) {
  Instruction *p, *x, *y;
  if (!m::Select(m::Any(&p), m::Any(&x), m::Any(&y))(&inst)) return nullptr;
  if (x == y || p->IsConstantOf(1)) return x;
  if (p->IsConstantOf(0)) return y;
  return nullptr;
}

Result<Instruction*> SelectNot(Instruction& inst, const PassContext&) {
  Instruction *p, *x, *y;
  if (!m::Select(m::Not(m::Any(&p)), m::Any(&x), m::Any(&y))(&inst)) return nullptr;
  return IsPred(*p) ? Replace(inst, Opcode::kSelect, {p, y, x}) : nullptr;
}

Result<Instruction*> SelectOfTruth(Instruction& inst, const PassContext&) {
  Instruction *p, *x, *y;
  if (!m::Select(m::Any(&p), m::Any(&x), m::Any(&y))(&inst) || !IsPred(inst) || p->shape() != inst.shape())
    return nullptr;
  if (x->IsConstantOf(1) && y->IsConstantOf(0)) return p;
  if (x->IsConstantOf(0) && y->IsConstantOf(1)) return Replace(inst, Opcode::kNot, {p});
  return nullptr;
}

// Not for floats, which have NaN and -0.
Result<Instruction*> SelectByComparison(Instruction& inst, const PassContext&) {
  Instruction *p, *x, *y;
  if (!m::Select(m::Compare(&p), m::Any(&x), m::Any(&y))(&inst) || &p->operand(0) != x || &p->operand(1) != y)
    return nullptr;
  if (!(IsInteger(inst.shape().type()) || IsPred(inst)) || !SameDims(p->shape(), inst.shape())) return nullptr;
  switch (p->attrs<CompareAttrs>().direction) {
    case ComparisonDirection::kEq: return y;
    case ComparisonDirection::kNe: return x;
    case ComparisonDirection::kGt:
    case ComparisonDirection::kGe: return IsPred(inst) ? Replace(inst, Opcode::kOr, {x, y}) : nullptr;
    case ComparisonDirection::kLt:
    case ComparisonDirection::kLe: return IsPred(inst) ? Replace(inst, Opcode::kAnd, {x, y}) : nullptr;
  }
  __builtin_unreachable();
}

// Not for floats, because NaN differs from itself.
Result<Instruction*> CompareSelf(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kCompare) || &inst.operand(0) != &inst.operand(1) || !IsStatic(inst)) return nullptr;
  const PrimitiveType type = inst.operand(0).shape().type();
  if (!IsInteger(type) && type != PrimitiveType::kPred) return nullptr;
  switch (inst.attrs<CompareAttrs>().direction) {
    case ComparisonDirection::kEq:
    case ComparisonDirection::kGe:
    case ComparisonDirection::kLe: return ConstantLike(inst, 1);
    default: return ConstantLike(inst, 0);
  }
}

Result<Instruction*> CompareUnsignedWithZero(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kCompare)) return nullptr;
  const auto never_negative = [](const Instruction& x) { return IsUnsigned(x.shape().type()) || IsCountThatFits(x); };
  using D = ComparisonDirection;
  const D direction = inst.attrs<CompareAttrs>().direction;
  if (never_negative(inst.operand(0)) && inst.operand(1).IsConstantOf(0)) {
    if (direction == D::kLt) return ConstantLike(inst, 0);
    if (direction == D::kGe) return ConstantLike(inst, 1);
  }
  if (never_negative(inst.operand(1)) && inst.operand(0).IsConstantOf(0)) {
    if (direction == D::kGt) return ConstantLike(inst, 0);
    if (direction == D::kLe) return ConstantLike(inst, 1);
  }
  return nullptr;
}

Result<Instruction*> ComparePredicate(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kCompare) || !IsPred(inst.operand(0))) return nullptr;
  const auto direction = inst.attrs<CompareAttrs>().direction;
  const bool is_eq = direction == ComparisonDirection::kEq;
  if (!is_eq && direction != ComparisonDirection::kNe) return nullptr;
  for (int i = 0; i < 2; ++i) {
    Instruction &x = inst.operand(i), &c = inst.operand(1 - i);
    if (x.shape() != inst.shape()) continue;
    if (c.IsConstantOf(is_eq ? 1 : 0)) return &x;
    if (c.IsConstantOf(is_eq ? 0 : 1)) return Replace(inst, Opcode::kNot, {&x});
  }
  return nullptr;
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.and.1",  Opcode::kAnd,     BitsWithConstant,        Preserves::kExact, "x & ones => x; x & 0 => 0"},
    {"A.or.1",   Opcode::kOr,      BitsWithConstant,        Preserves::kExact, "x | 0 => x; x | ones => ones"},
    {"A.xor.1a", Opcode::kXor,     BitsWithConstant,        Preserves::kExact, "x ^ 0 => x; x ^ true => !x"},
    {"A.xor.1b", Opcode::kXor,     XorSelf,                 Preserves::kExact, "x ^ x => 0"},
    {"A.not.1",  Opcode::kNot,     NotTwice,                Preserves::kExact, "!!x => x"},
    {"A.sel.1",  Opcode::kSelect,  SelectDecided,           Preserves::kExact, "select(p, x, x) => x; select(true, x, y) => x; select(false, x, y) => y"},
    {"A.sel.2",  Opcode::kSelect,  SelectNot,               Preserves::kExact, "select(!p, x, y) => select(p, y, x)"},
    {"A.sel.3a", Opcode::kSelect,  SelectOfTruth,           Preserves::kExact, "select(p, true, false) => p; select(p, false, true) => !p"},
    {"A.sel.3b", Opcode::kSelect,  SelectByComparison,      Preserves::kExact, "select(x == y, x, y) => y, for integers; select(x > y, x, y) => x | y, for predicates"},
    {"A.cmp.3",  Opcode::kCompare, CompareSelf,             Preserves::kExact, "compare(x, x) => true or false, by direction, for integers"},
    {"A.cmp.1",  Opcode::kCompare, CompareUnsignedWithZero, Preserves::kExact, "x < 0 => false; x >= 0 => true, for unsigned x and for iotas that do not wrap"},
    {"A.cmp.5",  Opcode::kCompare, ComparePredicate,        Preserves::kExact, "p == true => p; p != true => !p, and so on"},
};
// clang-format on

}  // namespace

std::span<const Rule> LogicRules() { return kRules; }

}  // namespace hlo
