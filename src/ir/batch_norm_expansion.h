#ifndef HLO_IR_BATCH_NORM_EXPANSION_H_
#define HLO_IR_BATCH_NORM_EXPANSION_H_

namespace hlo {

class Instruction;

// Adds sums, broadcasts and elementwise instructions that compute `inst`, a batch-norm-training, -inference or -grad,
// so that fusion can handle the parts. Returns the instruction with its value, or null for dynamic sizes and for
// operands of different element types.
Instruction* ExpandBatchNorm(Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_BATCH_NORM_EXPANSION_H_
