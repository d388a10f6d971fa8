#ifndef HLO_IR_BATCH_NORM_EXPANSION_H_
#define HLO_IR_BATCH_NORM_EXPANSION_H_

namespace hlo {

class Instruction;

// Expands a batch norm into sums, broadcasts and elementwise instructions, which passes can fuse. Returns the new
// value, or null if sizes are dynamic or element types differ.
Instruction* ExpandBatchNorm(Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_BATCH_NORM_EXPANSION_H_
