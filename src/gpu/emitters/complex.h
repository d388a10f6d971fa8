// Elementwise ops (kComplexOps) on complex numbers. Real and imaginary parts are separate values.
#ifndef HLO_GPU_EMITTERS_COMPLEX_H_
#define HLO_GPU_EMITTERS_COMPLEX_H_

#include <span>
#include <vector>

#include "gpu/kernel/builder.h"
#include "ir/instruction.h"

namespace hlo::gpu {

// `parts` has the parts of each operand in turn. A real operand has one part.
std::vector<kernel::Value> EmitComplex(const Instruction& inst, std::span<const kernel::Value> parts);

std::vector<kernel::Value> AddComplexProduct(std::span<const kernel::Value> sum, std::span<const kernel::Value> a,
                                             std::span<const kernel::Value> b);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_COMPLEX_H_
