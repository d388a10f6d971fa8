// What stands beside a convolution of cuDNN, as modules whose root is a fusion: its planners and emitters are those of
// all fusions.
#ifndef HLO_GPU_LIBRARIES_CUDNN_PARTS_H_
#define HLO_GPU_LIBRARIES_CUDNN_PARTS_H_

#include <memory>

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/cudnn_graph.h"
#include "ir/module.h"

namespace hlo::gpu::cudnn {

// The weights from where they lie, the only parameter, into cuDNN's order.
std::unique_ptr<Module> PackModule(const Laid& laid);

// The fused computation of `contraction`, in which the product is one more parameter, the last, in cuDNN's order: its
// epilogue, and the order that is asked for. Null where its layouts are no plain ones.
std::unique_ptr<Module> FinishModule(const Contraction& contraction, const Laid& laid);

// The results of `contraction` but the one that it stores, in their order; what it stores is one more parameter, the
// last.
std::unique_ptr<Module> SumsModule(const Contraction& contraction);

// Those that are made of sums; the sums are more parameters, the last. Null: there are none.
std::unique_ptr<Module> OfSumsModule(const Contraction& contraction);

}  // namespace hlo::gpu::cudnn

#endif  // HLO_GPU_LIBRARIES_CUDNN_PARTS_H_
