// Elementwise ops (kComplexOps) on complex numbers. Real and imaginary parts are separate values.
#ifndef HLO_GPU_EMITTERS_COMPLEX_H_
#define HLO_GPU_EMITTERS_COMPLEX_H_

#include <span>
#include <vector>

#include "gpu/emitters/names.h"
#include "ir/instruction.h"

namespace hlo::gpu {

// `parts` has the parts of each operand in turn. A real operand has one part.
std::vector<Value> EmitComplex(const Instruction& inst, std::span<const Value> parts);

std::vector<Value> AddComplexProduct(std::span<const Value> sum, std::span<const Value> a, std::span<const Value> b);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_COMPLEX_H_
