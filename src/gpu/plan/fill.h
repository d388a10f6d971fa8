// Fusions that are one constant all over.
#ifndef HLO_GPU_PLAN_FILL_H_
#define HLO_GPU_PLAN_FILL_H_

#include "ir/instruction.h"

namespace hlo::gpu {

// fusion() => broadcast(constant): the constant, a scalar of at most 8 bytes. Else null.
const Instruction* FilledWith(const Instruction& inst);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_FILL_H_
