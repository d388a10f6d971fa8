// Regions: several kernels that may become one launch.
//
//   region.1 = f32[64,128] fusion(x), kind=kCustom, calls=region_rows, backend_config={"region":"rows"}
//
// The computation contains kernels and library calls (fusions, copies), loops of them, and renaming instructions. Only
// operands and results of the region need memory. The compiler keeps planned regions of kind block or segments, and
// turns a region of another kind into one fusion if a planner or a library has a kernel for it. It expands all others,
// so that their kernels run one by one (gpu/plan/planner.h).
//
//   block       One block of threads, or a cluster of blocks for a recurrent loop, runs the kernels and loops of them
//               one after another.
//   rows        Each block computes some rows of all values. Results of reductions stay on chip.
//   attention   A softmax of rows between two matrix products. Rows of the scores stay on chip.
//   product     A matrix product that reads its operands in place, in another type or as part of a stack.
//   attention_gradient
//               The five products of the gradients of an attention and the instructions between them: a library call.
//   statistics  A library's convolution together with sums of its result for each channel.
//   segments    Kernels that do not read each other's results share the blocks of one launch.
#ifndef HLO_IR_ANALYSIS_REGION_H_
#define HLO_IR_ANALYSIS_REGION_H_

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

std::string RegionOf(const Instruction& inst);
inline bool IsRegion(const Instruction& inst) { return !RegionOf(inst).empty(); }

// Computations that run as kernels or library calls: sequential ones (ir/fusion.h), regions, and loops in regions.
// Callees first.
std::vector<Computation*> ComputationsOfKernels(const Module& module);

// The new instruction takes over the name of `inst`, which the caller must remove.
Instruction& AddInPlaceOf(Computation& computation, const Instruction& inst, std::span<Instruction* const> operands);

// Adds one fusion of the region's kernels and library products, or for statistics a library call of a convolution.
// Returns null if the region contains something else, such as a loop or a copy.
Instruction* AddFlattened(Instruction& region);
// ReplaceRegions puts each fusion in its region's place. The fusions must be the last instructions, and `flat` in the
// order of the regions.
struct RegionAndFusion {
  Instruction *region, *fusion;
};
void ReplaceRegions(Computation& computation, std::span<const RegionAndFusion> flat);

using RegionGroups = std::vector<std::vector<const Instruction*>>;
// Moves the instructions of a region to its place in the outer computation. Each group becomes a region of the same
// kind. A region for which `groups_of` returns nullopt stays. Without `groups_of`, all become single kernels. Returns
// whether any region was expanded.
bool TakeRegionsApart(Module& module,
                      const std::function<std::optional<RegionGroups>(const Instruction& region)>& groups_of);
bool TakeRegionsApart(Module& module);

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_REGION_H_
