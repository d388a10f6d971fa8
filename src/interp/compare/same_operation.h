// Compares operations of two modules, including the computations that they call.
#ifndef HLO_INTERP_COMPARE_SAME_OPERATION_H_
#define HLO_INTERP_COMPARE_SAME_OPERATION_H_

namespace hlo {

class Instruction;

// Whether opcode and attributes are equal. Called computations are compared by fingerprints. Shapes are ignored.
bool SameAttributesAndCalls(const Instruction& a, const Instruction& b);
// Like SameOperation, but compares called computations by fingerprints, because they may be copies.
bool SameOperationAndCalls(const Instruction& a, const Instruction& b);

// Whether the instruction's value or an operand has a dynamic dimension.
bool HasDynamicSize(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_SAME_OPERATION_H_
