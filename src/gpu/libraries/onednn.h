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

// Such as "2.6.3".
Result<std::string> OneDnnVersion(const std::vector<std::string>& search);

// A refusal is an answer; errors are failures of the library. Without options, the library is not opened.
Result<LibraryAnswer> OneDnnMatrixProduct(const MatrixProduct& product, const LibraryOptions* options);
Result<LibraryAnswer> OneDnnConvolution(const Contraction& contraction, const LibraryOptions* options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_ONEDNN_H_
