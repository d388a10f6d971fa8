// Regions: kernels that are to be one launch.
//
//   region.1 = f32[64,128] fusion(x), kind=kCustom, calls=region_rows, backend_config={"region":"rows"}
//
// The computation holds kernels and library calls (fusions, copies), loops of them, and what only names values; its
// operands and results are all that the launch reads and writes in memory. The compiler makes one fusion of what a
// region of rows or an attention computes, where that is a kernel, or of statistics, where a library takes them. What
// no planner takes as one kernel (gpu/plan/planner.h) it takes apart: then the kernels run one by one, as they would
// have without.
//
//   block      One block of threads runs the kernels, and loops of them, in turn; or a cluster a recurrent loop.
//   rows       Each block makes one row of all values, from rows of others: what a reduction gives stays on chip.
//   attention  The same around a softmax between two products of matrices, a part of a row at a time.
//   product    A product of matrices reads operands as they lie, in another type or as part of a stack.
//   attention_gradient  The five products of an attention's gradients and what is between: a library's call, or taken
//              apart.
//   statistics A library's convolution with sums of its result for each channel: the library's call, or taken apart.
//   segments   Kernels that do not read each other's results share the blocks of one launch.
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

// "rows", or "" when this is no region.
std::string RegionOf(const Instruction& inst);
inline bool IsRegion(const Instruction& inst) { return !RegionOf(inst).empty(); }

// The computations whose instructions are kernels or call such: those that run step by step (ir/fusion.h), those of
// regions, and of loops in them. Callees first.
std::vector<Computation*> ComputationsOfKernels(const Module& module);

// A copy of `inst`, which goes, with its name.
Instruction& AddInPlaceOf(Computation& computation, const Instruction& inst, std::span<Instruction* const> operands);

// A fusion beside the region that computes what its kernels do, without them: what their computations hold is its own;
// of statistics a library's call. Null where the region holds something else than kernels of one launch each and
// products; of statistics, a convolution.
Instruction* AddFlattened(Instruction& region);
// Such fusions take the places of their regions, in the order of the computation: the last that were added to it.
struct RegionAndFusion {
  Instruction *region, *fusion;
};
void ReplaceRegions(Computation& computation, std::span<const RegionAndFusion> flat);

// Kernels of a region of segments that stay together.
using RegionGroups = std::vector<std::vector<const Instruction*>>;
// What stands in a region stands in its place, in the order in which the module runs if it is scheduled; each of its
// groups as a region of the same kind. Nothing: the region stays. True when there was one that did not.
bool TakeRegionsApart(Module& module,
                      const std::function<std::optional<RegionGroups>(const Instruction& region)>& groups_of);
bool TakeRegionsApart(Module& module);  // All of them.

}  // namespace hlo

#endif  // HLO_IR_REGION_H_
