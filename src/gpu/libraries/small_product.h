// Our own matrix product on the host, for those so small that a library's call costs more than its arithmetic: the
// steps of recurrent networks. No packing.
#ifndef HLO_GPU_LIBRARIES_SMALL_PRODUCT_H_
#define HLO_GPU_LIBRARIES_SMALL_PRODUCT_H_

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/open.h"

namespace hlo::gpu {

// Not taken when it is too large, not f32, a batch, laid out in another way than by rows, or where others are faster on
// this CPU and no plan names it. Null `options`: no call is made, and the CPU does not matter.
LibraryAnswer SmallMatrixProduct(const MatrixProduct& product, const LibraryOptions* options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_SMALL_PRODUCT_H_
