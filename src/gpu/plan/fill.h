// Fusions that fill their result with one constant.
#ifndef HLO_GPU_PLAN_FILL_H_
#define HLO_GPU_PLAN_FILL_H_

#include "ir/instruction.h"

namespace hlo::gpu {

// The scalar constant, of at most 8 bytes, that a broadcast or a fusion of only a broadcast repeats. Otherwise null.
const Instruction* FilledWith(const Instruction& inst);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_FILL_H_
