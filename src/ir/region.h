// Regions: several kernels that may become one launch.
//
//   region.1 = f32[64,128] fusion(x), kind=kCustom, calls=region_rows, backend_config={"region":"rows"}
//
// The computation contains kernels and library calls (fusions, copies), loops of them, and renaming instructions. Only
// operands and results of the region need memory. The compiler turns rows or attention into one fusion if a planner has
// a kernel, and statistics into a library call if a library supports it. Other regions are expanded, and their kernels
// run one by one (gpu/plan/planner.h).
//
//   block       One block of threads, or a cluster of blocks for a recurrent loop, runs the kernels and loops of them
//               one after another.
//   rows        Each block computes one row of all values. Results of reductions stay on chip.
//   attention   Rows of a softmax between two matrix products, processed in parts of a row.
//   product     A matrix product that reads its operands in place, in another type or as part of a stack.
//   attention_gradient
//               The five products of the gradients of an attention and the instructions between them: a library call.
//   statistics  A library's convolution together with sums of its result for each channel.
//   segments    Kernels that do not read each other's results share the blocks of one launch.
#ifndef HLO_IR_REGION_H_
#define HLO_IR_REGION_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

class Computation;
class Module;

// The kind, such as "rows", or "" if `inst` is not a region.
std::string RegionOf(const Instruction& inst);
inline bool IsRegion(const Instruction& inst) { return !RegionOf(inst).empty(); }

// The computations whose instructions run as kernels or library calls: sequential ones (ir/fusion.h), regions, and
// loops in regions. Callees first.
std::vector<Computation*> ComputationsOfKernels(const Module& module);

// A copy that takes over the name of `inst`, which is about to be removed.
Instruction& AddInPlaceOf(Computation& computation, const Instruction& inst, std::span<Instruction* const> operands);

// Adds a fusion with the contents of the region's kernels; a library call for statistics. Returns null if the region
// contains other instructions than single kernels and products, or for statistics than a convolution.
Instruction* AddFlattened(Instruction& region);
// Replaces each region by its fusion, at the region's place. The fusions must be the last instructions of the
// computation.
struct RegionAndFusion {
  Instruction *region, *fusion;
};
void ReplaceRegions(Computation& computation, std::span<const RegionAndFusion> flat);

using RegionGroups = std::vector<std::vector<const Instruction*>>;
// Moves the instructions of regions to the computation of the region, at its place. Each group becomes a region of the
// same kind. A region for which `groups_of` returns nullopt stays. Returns whether any was expanded.
bool TakeRegionsApart(Module& module,
                      const std::function<std::optional<RegionGroups>(const Instruction& region)>& groups_of);
bool TakeRegionsApart(Module& module);

}  // namespace hlo

#endif  // HLO_IR_REGION_H_
