#ifndef HLO_IR_BATCH_NORM_EXPANSION_H_
#define HLO_IR_BATCH_NORM_EXPANSION_H_

namespace hlo {

class Instruction;

// Expands a batch norm into sums, broadcasts and elementwise instructions, which fusion can handle. Returns the new
// value, or null for dynamic sizes and for different element types.
Instruction* ExpandBatchNorm(Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_BATCH_NORM_EXPANSION_H_
