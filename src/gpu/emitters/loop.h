// Parts of the loop emitter that other emitters use.
#ifndef HLO_GPU_EMITTERS_LOOP_H_
#define HLO_GPU_EMITTERS_LOOP_H_

#include <functional>
#include <memory>
#include <vector>

#include "gpu/emitters/emitter.h"
#include "gpu/emitters/frame.h"
#include "gpu/plan/loop_space.h"

namespace hlo::gpu {

// The results that a loop or transpose plan writes.
class LoopTarget {
 public:
  // This object must outlive the space.
  Result<std::unique_ptr<LoopSpace>> SpaceOf(const EmitRequest& request, bool flat);

 private:
  FusionBody::Root operand_;
};

// Emits all outputs over a tile. Choices that are the same for the whole tile become branches around it. `lane` runs
// over [begin, begin + step). Other variables must be bound. `in_tile` is called in the tile and may bind more values.
void EmitTile(LoopSpace& space, KernelFrame& frame, const std::vector<Array>& arrays, int width, IndexExpr lane,
              Value begin, int64_t step, const std::function<void(Value)>& in_tile = nullptr);

// Makes the outputs' arrays, and marks operands that may share their buffers. `needed`: the nodes that the kernel
// reads.
std::vector<Array> MakeOutputs(const IterationSpace& space, std::span<const NodeId> needed, KernelFrame& frame);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_LOOP_H_
