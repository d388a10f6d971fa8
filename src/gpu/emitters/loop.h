// Parts of the loop emitter that others use.
#ifndef HLO_GPU_EMITTERS_LOOP_H_
#define HLO_GPU_EMITTERS_LOOP_H_

#include <functional>
#include <memory>
#include <vector>

#include "gpu/emitters/emitter.h"
#include "gpu/emitters/frame.h"
#include "gpu/plan/loop_space.h"

namespace hlo::gpu {

// What a plan of kind loop or transpose writes, as a space to go through.
class LoopTarget {
 public:
  // Lives as long as this does.
  Result<std::unique_ptr<LoopSpace>> SpaceOf(const EmitRequest& request, bool flat);

 private:
  FusionBody::Root operand_;  // Of a scatter, under the name of its result.
};

// Emits the outputs over a tile: choices that are the same for the whole tile become branches around it.
// `lane` varies in the tile, over [begin, begin + step) of its size; the other variables are bound. `in_tile` may bind
// more.
void EmitTile(LoopSpace& space, KernelFrame& frame, const std::vector<kernel::Array>& arrays, int width, IndexExpr lane,
              kernel::Value begin, int64_t step, const std::function<void(kernel::Value)>& in_tile = nullptr);

// Arrays for the outputs of a space, marked sharable where that is right. `needed`: all that is read for them.
std::vector<kernel::Array> MakeOutputs(const IterationSpace& space, std::span<const NodeId> needed, KernelFrame& frame);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_LOOP_H_
