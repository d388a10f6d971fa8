// What some ops are in terms of others, for the passes that put that in their place and for whoever judges these.
#ifndef HLO_IR_EXPANSIONS_H_
#define HLO_IR_EXPANSIONS_H_

#include "ir/instruction.h"

namespace hlo {

// Each adds to the computation of `inst` what has its value, and gives that; null where it says nothing about it.

// A loop over the steps, each of which reads a slice of the operands and writes one of the results.
Instruction* ExpandScan(Instruction& inst);
// The dot of operands that are multiplied by their scales, in f32 at least, rounded once.
Instruction* ExpandScaledDot(Instruction& inst);
// A dot for each group, of which its rows or terms are kept.
Instruction* ExpandRaggedDot(Instruction& inst);
// batch-norm-training, -inference and -grad as sums, broadcasts and elementwise ops, so that fusion sees the parts.
Instruction* ExpandBatchNorm(Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_EXPANSIONS_H_
