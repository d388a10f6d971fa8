// The parts of a call besides cuDNN's convolution, as modules with a fusion as root.
#ifndef HLO_GPU_LIBRARIES_CUDNN_PARTS_H_
#define HLO_GPU_LIBRARIES_CUDNN_PARTS_H_

#include <memory>

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/cudnn_graph.h"
#include "ir/module.h"

namespace hlo::gpu::cudnn {

// Converts the weights, the only parameter, to cuDNN's order.
std::unique_ptr<Module> PackModule(const PreparedConvolution& prepared);

// Computes the epilogue, and the requested order of the result. An additional last parameter has the product in cuDNN's
// order. Null if product or result has another layout than the default.
std::unique_ptr<Module> FinishModule(const Contraction& contraction, const PreparedConvolution& prepared);

// Computes the other results from the stored one, an additional last parameter.
std::unique_ptr<Module> SumsModule(const Contraction& contraction);

// Computes the results that depend on sums, which are additional last parameters. Null without such results.
std::unique_ptr<Module> OfSumsModule(const Contraction& contraction);

}  // namespace hlo::gpu::cudnn

#endif  // HLO_GPU_LIBRARIES_CUDNN_PARTS_H_
