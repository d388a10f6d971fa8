// The parts of a call besides cuDNN's convolution, as modules whose root is a fusion. The usual planners and emitters
// handle them.
#ifndef HLO_GPU_LIBRARIES_CUDNN_PARTS_H_
#define HLO_GPU_LIBRARIES_CUDNN_PARTS_H_

#include <memory>

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/cudnn_graph.h"
#include "ir/module.h"

namespace hlo::gpu::cudnn {

// Converts the weights, the only parameter, from their memory order to cuDNN's order.
std::unique_ptr<Module> PackModule(const PreparedConvolution& prepared);

// The fused computation of `contraction` after the product, which is an additional last parameter in cuDNN's order: its
// epilogue and the requested order. Null for layouts other than plain ones.
std::unique_ptr<Module> FinishModule(const Contraction& contraction, const PreparedConvolution& prepared);

// The results of `contraction` except the stored one, in order. The stored one is an additional last parameter.
std::unique_ptr<Module> SumsModule(const Contraction& contraction);

// The results computed from sums, which are additional last parameters. Null if there are none.
std::unique_ptr<Module> OfSumsModule(const Contraction& contraction);

}  // namespace hlo::gpu::cudnn

#endif  // HLO_GPU_LIBRARIES_CUDNN_PARTS_H_
