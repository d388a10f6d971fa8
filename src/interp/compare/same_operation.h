// Whether instructions of two modules are the same operation, computations that they call included.
#ifndef HLO_INTERP_COMPARE_SAME_OPERATION_H_
#define HLO_INTERP_COMPARE_SAME_OPERATION_H_

namespace hlo {

class Instruction;

// Whether opcode and attributes are the same, where called computations are compared by their fingerprints. Shapes are
// not looked at.
bool SameAttributesAndCalls(const Instruction& a, const Instruction& b);
// As SameOperation, except that called computations are compared by their fingerprints. They may be copies.
bool SameOperationAndCalls(const Instruction& a, const Instruction& b);

// Whether the size of the instruction's value, or of an operand, is known at run time only.
bool HasDynamicSize(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_SAME_OPERATION_H_
