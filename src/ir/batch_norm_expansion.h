// Batch norms in terms of other ops.
#ifndef HLO_IR_BATCH_NORM_EXPANSION_H_
#define HLO_IR_BATCH_NORM_EXPANSION_H_

namespace hlo {

class Instruction;

// Adds to the computation of `inst`, a batch-norm-training, -inference or -grad, sums, broadcasts and elementwise ops
// that have its value, so that fusion sees the parts. Returns null for dynamic sizes and for operands of several types.
Instruction* ExpandBatchNorm(Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_BATCH_NORM_EXPANSION_H_
