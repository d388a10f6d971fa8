#ifndef HLO_GPU_EMITTERS_TRANSPOSE_BOX_H_
#define HLO_GPU_EMITTERS_TRANSPOSE_BOX_H_

#include "gpu/emitters/emitter.h"
#include "gpu/plan/loop_space.h"

namespace hlo::gpu {

Result<EmittedKernel> EmitTransposeBox(LoopSpace& space, const EmitRequest& request);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_TRANSPOSE_BOX_H_
