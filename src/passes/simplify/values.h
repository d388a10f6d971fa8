// Facts about values for the rules of algsimp. Each takes a bounded number of steps; false and null mean "not known".
#ifndef HLO_PASSES_SIMPLIFY_VALUES_H_
#define HLO_PASSES_SIMPLIFY_VALUES_H_

#include <optional>

#include "ir/instruction.h"
#include "ir/literal.h"

namespace hlo {

// Whether x is at least 0 or NaN. -0 is not negative. Integers are compared as their type does.
bool NeverNegative(const Instruction& x);
// Whether x is never -0. True for types without -0.
bool NeverNegativeZero(const Instruction& x);

// The literal of a scalar constant or of a broadcast of one, or null.
const Literal* ScalarOf(const Instruction& x);
// The same as a number, for integers and pred, and for floats.
std::optional<int64_t> IntegerOf(const Instruction& x);
std::optional<double> NumberOf(const Instruction& x);
// Compares two scalars of one type that is not complex.
bool IsLess(const Literal& a, const Literal& b);

// Whether op(zero, x) == x for all x except -0, as for initial values of reducers. `init` is a constant or a broadcast
// of one.
bool IsNeutral(const Instruction& init, Opcode op);
// Whether the result depends on the order of terms: for sums and products of floats.
bool OrderMatters(Opcode op, PrimitiveType type);

// Whether all integers from 0 to `count`, inclusive, are exact in this float type.
bool HoldsCount(PrimitiveType type, int64_t count);

// Whether x is an iota whose largest value its type represents, so that it neither wraps nor is rounded.
bool IsCountThatFits(const Instruction& x);

// f8e8m0fnu has no sign, so every negation gives NaN.
inline bool HasNegatives(PrimitiveType type) { return type != PrimitiveType::kF8E8M0FNU; }

// Whether it and its operands are arrays of static size. A dynamic dimension may have fewer elements than its bound.
bool IsStatic(const Instruction& inst);
// Also requires one element type, because HLO allows mixed float types for some ops.
bool IsStaticOfOneType(const Instruction& inst);

// f16, bf16, f32, f64: types with infinities, signed zeros and enough range for a reciprocal.
bool IsIeee(PrimitiveType type);

}  // namespace hlo

#endif  // HLO_PASSES_SIMPLIFY_VALUES_H_
