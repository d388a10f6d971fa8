// oneDNN 2 and 3: matrix products and convolutions on the host. Opened on first use.
#ifndef HLO_GPU_LIBRARIES_ONEDNN_H_
#define HLO_GPU_LIBRARIES_ONEDNN_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/libraries/contraction.h"
#include "gpu/libraries/library.h"
#include "gpu/libraries/open.h"

namespace hlo::gpu {

Result<std::string> OneDnnVersion(const std::vector<std::string>& search);

// If oneDNN refuses, the answer has the reason. Errors are failures of the library. With `options` null, the library is
// not opened and the answer has no call.
Result<LibraryAnswer> OneDnnMatrixProduct(const MatrixProduct& product, const LibraryOptions* options);
Result<LibraryAnswer> OneDnnConvolution(const Contraction& contraction, const LibraryOptions* options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_ONEDNN_H_
