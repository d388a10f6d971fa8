// What is known of reducers and of the ops that they are made of.
#ifndef HLO_IR_REDUCER_H_
#define HLO_IR_REDUCER_H_

#include <optional>

#include "ir/literal.h"
#include "ir/opcode.h"

namespace hlo {

class Computation;

// The op of a reducer that is one commutative op of its two parameters.
std::optional<Opcode> ReducerOp(const Computation& reducer);

// What leaves the other operand as it is, to the bit: op(identity, x) == x for every x, NaN and -0 too (but for
// products of complex numbers, where infinity times 0i is NaN). Nothing where the op has none in `type`, or none that
// is known.
std::optional<Literal> IdentityOf(Opcode op, PrimitiveType type);

// op(x, x) == x.
bool IsIdempotent(Opcode op);

}  // namespace hlo

#endif  // HLO_IR_REDUCER_H_
