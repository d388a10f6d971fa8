// What ptxas says of kernels with -v, by itself or in a library that has it inside.
#ifndef HLO_GPU_KERNEL_PTXAS_LOG_H_
#define HLO_GPU_KERNEL_PTXAS_LOG_H_

#include <string_view>
#include <vector>

#include "gpu/kernel/nvptx.h"

namespace hlo::kernel {

// One for each that the text names.
std::vector<PtxasKernel> KernelsInLog(std::string_view text);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_PTXAS_LOG_H_
