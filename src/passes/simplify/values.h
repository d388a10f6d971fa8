// Facts about values for algsimp, each in bounded time. False and null mean "not known".
#ifndef HLO_PASSES_SIMPLIFY_VALUES_H_
#define HLO_PASSES_SIMPLIFY_VALUES_H_

#include <optional>

#include "ir/instruction.h"
#include "ir/literal.h"

namespace hlo {

// Whether no element is negative. -0 and NaN do not count as negative.
bool NeverNegative(const Instruction& x);
// True for types without -0.
bool NeverNegativeZero(const Instruction& x);

// The literal of a scalar constant or its broadcast, or null.
const Literal* ScalarOf(const Instruction& x);
// ScalarOf(x) as a number: IntegerOf for integers and pred, NumberOf for floats. nullopt for other types.
std::optional<int64_t> IntegerOf(const Instruction& x);
std::optional<double> NumberOf(const Instruction& x);
// Whether a < b, for scalars of one real type.
bool IsLess(const Literal& a, const Literal& b);

// Whether op(init, x) == x for all x except -0. `init` must be a constant or its broadcast.
bool IsNeutral(const Instruction& init, Opcode op);
// Whether terms round: for sums and products of floats.
bool OrderMatters(Opcode op, PrimitiveType type);

// Whether the type represents all integers from 0 to `count`, inclusive.
bool HoldsCount(PrimitiveType type, int64_t count);

// Whether `x` is an iota of integers that does not wrap.
bool IsCountThatFits(const Instruction& x);

// f8e8m0fnu has no sign: its negation gives NaN.
inline bool HasNegatives(PrimitiveType type) { return type != PrimitiveType::kF8E8M0FNU; }

// Whether operands and result are arrays without dynamic dimensions.
bool IsStatic(const Instruction& inst);
// Also requires that all have one type, because HLO allows mixed float types for some ops.
bool IsStaticOfOneType(const Instruction& inst);

// Types with infinities, signed zeros and enough range for a reciprocal.
bool IsIeee(PrimitiveType type);

}  // namespace hlo

#endif  // HLO_PASSES_SIMPLIFY_VALUES_H_
