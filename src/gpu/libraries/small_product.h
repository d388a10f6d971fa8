// Our own matrix product on the host, for those so small that a library's call costs more than its arithmetic: the
// steps of recurrent networks. One thread, AVX-512, no packing.
#ifndef HLO_GPU_LIBRARIES_SMALL_PRODUCT_H_
#define HLO_GPU_LIBRARIES_SMALL_PRODUCT_H_

#include <memory>

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/library.h"

namespace hlo::gpu {

// Null when it is too large, not f32, a batch, laid out in another way than by rows, or this CPU has no AVX-512.
std::unique_ptr<LibraryCall> SmallMatrixProduct(const MatrixProduct& product);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_SMALL_PRODUCT_H_
