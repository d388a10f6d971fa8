// The longest dependency chain in a kernel. LLVM's code generator recurses over it.
#ifndef HLO_GPU_KERNEL_DEPTH_H_
#define HLO_GPU_KERNEL_DEPTH_H_

#include <cstdint>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// LLVM 19 overflows a stack of 8 MiB at a depth of 52,000 nodes (DAGTypeLegalizer::AnalyzeNewNode).
constexpr int64_t kMostDepth = 40'000;

// Estimated depth in nodes of LLVM's selection DAG.
int64_t Depth(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_DEPTH_H_
