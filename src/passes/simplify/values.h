// What the laws of algsimp ask of a value. Each answer is found in a bounded number of steps; false and null mean "not
// known".
#ifndef HLO_PASSES_SIMPLIFY_VALUES_H_
#define HLO_PASSES_SIMPLIFY_VALUES_H_

#include <optional>

#include "ir/instruction.h"
#include "ir/literal.h"

namespace hlo {

// x >= 0, or NaN; -0 is not negative. Of integers as they are compared.
bool NeverNegative(const Instruction& x);
// Of a type without -0 always.
bool NeverNegativeZero(const Instruction& x);

// The element of a scalar constant, or of a broadcast of one; else null.
const Literal* ScalarOf(const Instruction& x);
// The same as a number: of integers and pred; of floats.
std::optional<int64_t> IntegerOf(const Instruction& x);
std::optional<double> NumberOf(const Instruction& x);
// As the type orders them; both scalars of one type that is not complex.
bool IsLess(const Literal& a, const Literal& b);

// op(zero, x) == x for all x but -0: what reducers start from. A constant or a broadcast of one.
bool IsNeutral(const Instruction& init, Opcode op);
// Sums and products of floats depend on the order and grouping of their terms.
bool OrderMatters(Opcode op, PrimitiveType type);

// Are all integers from 0 to `count`, which it has itself, numbers of this floating-point type?
bool HoldsCount(PrimitiveType type, int64_t count);

// An iota whose last number its type holds; beyond that it wraps, or is rounded.
bool IsCountThatFits(const Instruction& x);

// f8e8m0fnu has no sign: there every negation is NaN.
inline bool HasNegatives(PrimitiveType type) { return type != PrimitiveType::kF8E8M0FNU; }

// It and its operands are arrays of fixed sizes: a dynamic dimension of at most n may have fewer elements.
bool IsStatic(const Instruction& inst);
// And all have its element type: HLO lets some ops mix the widths of floats.
bool IsStaticOfOneType(const Instruction& inst);

// f16, bf16, f32, f64: with infinities, signed zeros and enough range for a reciprocal.
bool IsIeee(PrimitiveType type);

}  // namespace hlo

#endif  // HLO_PASSES_SIMPLIFY_VALUES_H_
