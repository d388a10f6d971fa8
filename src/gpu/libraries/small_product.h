// Our own matrix product on the host without packing, for products so small that a library's call costs more.
#ifndef HLO_GPU_LIBRARIES_SMALL_PRODUCT_H_
#define HLO_GPU_LIBRARIES_SMALL_PRODUCT_H_

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/open.h"

namespace hlo::gpu {

// Refuses products for which other libraries are faster on this CPU, unless the plan names kOwnLibrary. With `options`
// null, makes no call and reports only refusals that hold on every CPU.
LibraryAnswer SmallMatrixProduct(const MatrixProduct& product, const LibraryOptions* options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_SMALL_PRODUCT_H_
