// Collectives that combine arrays, behind ops that move elements or widen floats. These ops commute with the
// collective, so passes can join or move it.
#ifndef HLO_PASSES_COLLECTIVES_MOVED_SUMS_H_
#define HLO_PASSES_COLLECTIVES_MOVED_SUMS_H_

#include <optional>
#include <vector>

#include "ir/instruction.h"
#include "passes/collective_groups.h"

namespace hlo {

// convert(transpose(all-reduce(x)))
struct MovedSum {
  Instruction* collective;          // An all-reduce or a reduce-scatter.
  std::vector<Instruction*> moves;  // The ops applied to its result, last one first.
  PrimitiveType type;               // The type of the result, which holds all values of x.

  Instruction& x() const { return collective->operand(0); }
  Opcode combiner() const { return *CombinedBy(*collective); }
};

// nullopt if `value` is not a MovedSum of this collective, or an intermediate value has another user.
std::optional<MovedSum> ReadMovedSum(Instruction& value, Opcode collective);

// Whether both have operands of one shape, equal collectives and equal moves.
bool AreAlike(const MovedSum& a, const MovedSum& b);

// x, converted to the type of the result.
Instruction& Widened(const MovedSum& sum);
// The collective and moves of `sum` for another operand of Widened(sum)'s shape, in that operand's computation.
Instruction& WithOperand(const MovedSum& sum, Instruction& x);

}  // namespace hlo

#endif  // HLO_PASSES_COLLECTIVES_MOVED_SUMS_H_
