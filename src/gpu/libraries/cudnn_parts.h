// The parts of a call besides cuDNN's convolution, as modules whose root is a fusion.
#ifndef HLO_GPU_LIBRARIES_CUDNN_PARTS_H_
#define HLO_GPU_LIBRARIES_CUDNN_PARTS_H_

#include <memory>

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/cudnn_graph.h"
#include "ir/module.h"

namespace hlo::gpu::cudnn {

// Converts the weights, the only parameter, to cuDNN's order.
std::unique_ptr<Module> PackModule(const PreparedConvolution& prepared);

// The epilogue and the requested order. The product is an additional last parameter in cuDNN's order. Null for layouts
// other than plain ones.
std::unique_ptr<Module> FinishModule(const Contraction& contraction, const PreparedConvolution& prepared);

// The results except the stored one, which is an additional last parameter.
std::unique_ptr<Module> SumsModule(const Contraction& contraction);

// The sums are additional last parameters. Null if no results are computed from sums.
std::unique_ptr<Module> OfSumsModule(const Contraction& contraction);

}  // namespace hlo::gpu::cudnn

#endif  // HLO_GPU_LIBRARIES_CUDNN_PARTS_H_
