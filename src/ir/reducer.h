#ifndef HLO_IR_REDUCER_H_
#define HLO_IR_REDUCER_H_

#include <optional>

#include "ir/literal.h"
#include "ir/opcode.h"

namespace hlo {

class Computation;

// The commutative op that the reducer applies to its two parameters, or nullopt.
std::optional<Opcode> ReducerOp(const Computation& reducer);

// The value with op(identity, x) == x, bit for bit, also for NaN and -0. Complex products are an exception, because
// infinity times 0i is NaN. Empty if unknown.
std::optional<Literal> IdentityOf(Opcode op, PrimitiveType type);

bool IsIdempotent(Opcode op);

}  // namespace hlo

#endif  // HLO_IR_REDUCER_H_
