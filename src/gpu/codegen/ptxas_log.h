// Parses the messages of ptxas -v, run directly or within a library.
#ifndef HLO_GPU_CODEGEN_PTXAS_LOG_H_
#define HLO_GPU_CODEGEN_PTXAS_LOG_H_

#include <string_view>
#include <vector>

#include "gpu/codegen/nvptx.h"

namespace hlo::kernel {

std::vector<PtxasKernel> KernelsInLog(std::string_view text);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_PTXAS_LOG_H_
