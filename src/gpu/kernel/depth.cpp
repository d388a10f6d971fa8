#include "gpu/kernel/depth.h"

#include <algorithm>
#include <vector>

namespace hlo::kernel {
namespace {

// Small floats need several nodes: integer operations round to bf16 (codegen/scalar.h), and f16 is converted in both
// directions.
int64_t NodesOf(const Instruction& inst) { return IsSmallFloat(inst.type) ? 8 : 1; }

int64_t DepthOf(const Region& region, int64_t outside, std::vector<int64_t>& depths) {
  int64_t deepest = outside;
  for (const int32_t argument : region.arguments) depths[argument] = outside;
  for (const Instruction& inst : region.body) {
    int64_t depth = 0;
    for (const int32_t operand : inst.operands) depth = std::max(depth, depths[operand]);
    depth += NodesOf(inst);
    for (const Region& inner : inst.regions) depth = std::max(depth, DepthOf(inner, depth, depths));
    // Results after the first, as of vector loads, have depth 0.
    if (inst.result >= 0) depths[inst.result] = depth;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

}  // namespace

int64_t Depth(const Kernel& kernel) {
  std::vector<int64_t> depths(kernel.values);
  return DepthOf(kernel.body, 0, depths);
}

}  // namespace hlo::kernel
