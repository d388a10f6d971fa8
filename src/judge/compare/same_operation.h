#ifndef HLO_JUDGE_COMPARE_SAME_OPERATION_H_
#define HLO_JUDGE_COMPARE_SAME_OPERATION_H_

namespace hlo {

class Instruction;

// Compares opcodes, attributes, and fingerprints of called computations, but not shapes.
bool SameAttributesAndCalls(const Instruction& a, const Instruction& b);
// Like SameOperation, but called computations may be copies.
bool SameOperationAndCalls(const Instruction& a, const Instruction& b);

bool HasDynamicSize(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_SAME_OPERATION_H_
