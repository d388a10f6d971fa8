#include "gpu/plan/launch_shape.h"

#include <algorithm>

#include "gpu/plan/scalar.h"

namespace hlo::gpu {

int VectorWidth(const ElementGraph& graph, std::span<const NodeId> nodes, const std::vector<FusionBody::Root>& roots) {
  int widest = 1;
  for (const FusionBody::Root& root : roots) widest = std::max(widest, kernel::Bytes(KernelTypeOf(root.shape->type())));
  for (const NodeId id : graph.Reachable(nodes)) {
    const ElementNode& node = graph.node(id);
    if (node.kind != ElementNode::Kind::kLoad || node.variables.empty()) continue;
    widest = std::max(widest, kernel::Bytes(KernelTypeOf(node.inst->shape().type())));
  }
  return 16 / widest;
}

int ThreadsFor(int64_t work, int most) {
  return static_cast<int>(std::clamp<int64_t>((work + 31) / 32 * 32, 32, most));
}

}  // namespace hlo::gpu
