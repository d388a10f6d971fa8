#include "gpu/plan/transpose_space.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kLeastRun = 16;  // Shorter runs gain nothing from a tile.

// Shuffles of a few vectors combine at most this many runs.
constexpr int64_t kMostInterleaved = 8;

}  // namespace

Staged FindStaged(const LoopSpace& space) {
  Staged staged;
  if (space.variables.size() < 2) return staged;
  const IndexExpr minor = space.minor().e;
  for (const NodeId id : space.graph.Reachable(space.Values())) {
    const ElementNode& node = space.graph.node(id);
    if (node.kind != ElementNode::Kind::kLoad || !space.pool.DependsOn(node.offset, minor)) continue;
    if (IsComplex(node.inst->shape().type())) continue;
    const int64_t stride = space.pool.Coefficient(node.offset, minor);
    if (stride == 1 || stride == IndexPool::kNotLinear) continue;
    for (size_t v = 0; v + 1 < space.variables.size(); ++v) {
      if (space.pool.Coefficient(node.offset, space.variables[v].e) != 1) continue;
      if (!staged.loads.empty() && staged.across != v) return {};
      staged.across = v;
      staged.loads.push_back(id);
    }
  }
  if (!staged.loads.empty() && (space.variables[staged.across].size < kLeastRun || space.minor().size < kLeastRun))
    return {};
  return staged;
}

bool Interleaves(const LoopSpace& space) {
  if (space.variables.size() < 2 || space.minor().size > kMostInterleaved || space.outputs[0].in_place_leaf >= 0)
    return false;
  const IndexPool& pool = space.pool;
  const LoopSpace::Variable& across = space.variables[space.variables.size() - 2];
  const int64_t runs = space.minor().size;
  if (across.size < kLeastRun) return false;
  bool any = false;
  for (const NodeId id : space.graph.Reachable(space.Values())) {
    const ElementNode& node = space.graph.node(id);
    if (node.kind == ElementNode::Kind::kScalar) continue;
    if (node.kind != ElementNode::Kind::kLoad || IsComplex(node.inst->shape().type())) return false;
    const int64_t along = pool.Coefficient(node.offset, across.e),
                  over = pool.Coefficient(node.offset, space.minor().e);
    if (along == IndexPool::kNotLinear || over == IndexPool::kNotLinear) return false;
    if (along != 0 && along != 1 && along != runs) return false;
    any = any || (along == 1 && over != 0);
  }
  return any;
}

}  // namespace hlo::gpu
