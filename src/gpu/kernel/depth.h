// How far the values of a kernel follow from each other. LLVM's code generation walks them on its stack.
#ifndef HLO_GPU_KERNEL_DEPTH_H_
#define HLO_GPU_KERNEL_DEPTH_H_

#include <cstdint>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// LLVM 19 ends a stack of 8 MiB in 52,000 nodes below each other (DAGTypeLegalizer::AnalyzeNewNode).
constexpr int64_t kMostDepth = 40'000;

// The longest chain of operations, in nodes that LLVM makes of them.
int64_t Depth(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_DEPTH_H_
