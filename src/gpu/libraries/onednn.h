// oneDNN: matrix products and convolutions on the host, with what follows them. Opened when first used; versions 2
// and 3.
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

// "2.6.3", or why there is none.
Result<std::string> OneDnnVersion(const std::vector<std::string>& search);

// Not taken is an answer; errors are the library's own failures. Null options: what can be said without opening it.
Result<LibraryAnswer> OneDnnMatrixProduct(const MatrixProduct& product, const LibraryOptions* options);
Result<LibraryAnswer> OneDnnConvolution(const Contraction& contraction, const LibraryOptions* options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_ONEDNN_H_
