// cuBLASLt: matrix products on cuda. Opened when first used.
#ifndef HLO_GPU_LIBRARIES_CUBLASLT_H_
#define HLO_GPU_LIBRARIES_CUBLASLT_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/libraries/contraction.h"
#include "gpu/libraries/open.h"

namespace hlo::gpu {

// "13.0.2", or why there is none. Needs no GPU.
Result<std::string> CublasLtVersion(const std::vector<std::string>& search);

// Null `device`: what can be said without opening it.
Result<LibraryAnswer> CublasLtMatrixProduct(const MatrixProduct& product, Device* device,
                                            const LibraryOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_CUBLASLT_H_
