// The emitter of regions that run in one block: kernels one after the other, with barriers in place of launches, and
// loops of kernels. A recurrent loop may run in a cluster. Then each block computes the elements in its columns
// (ir/analysis/recurrent_loop.h), but its arrays have the whole size.
//
//   one element    a block-level value, the same for all threads, in a register and without barriers
//   several        an array in shared memory while there is room, else in scratch memory
//   loop state     a variable for one element, else an array; the body writes the next value into it if it may
//                  (BlockPart::state_of_root), else the next value is copied at the end of the trip
#include "base/text.h"
#include "gpu/emitters/block/state.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"

namespace hlo::gpu {
namespace {

EmittedKernel Emit(BlockState& block) {
  block.k.SetSource(std::string(block.region.name()));
  const Computation& computation = FusedComputation(block.region);
  Known known;
  for (const Instruction* parameter : computation.parameters()) known[parameter].resize(parameter->shape().LeafCount());
  if (block.columns) {
    block.columns->Open();
    FindFilled(block);
  }
  for (const FusionBody::Leaf& leaf : block.request.body.leaves()) TakeLeaf(block, leaf, known);
  if (block.space.has_loops) OpenTrips(block);
  EmitComputation(block, computation, known);
  StoreResults(block, known.at(&computation.root()));
  block.kernel.kernel = std::make_shared<const kernel::Kernel>(std::move(block.k).Build());
  block.kernel.emitter = block.columns           ? "loop of one cluster"
                         : block.space.has_loops ? "loops of one block"
                                                 : "one block";
  block.kernel.source = &block.region;
  return std::move(block.kernel);
}

constexpr int64_t kMostBlocksOfCluster = 8;

Status CheckCluster(const EmitRequest& request, int64_t period) {
  const KernelPlan& plan = request.plan;
  TRY(request.Require(plan.splits <= kMostBlocksOfCluster && period % plan.splits == 0,
                      Str("its ", period, " units cannot be divided equally among ", plan.splits, " blocks")));
  return request.Require(period / plan.splits % plan.vector == 0,
                         Str(period / plan.splits, " columns of a block are not a multiple of vector, ", plan.vector));
}

}  // namespace

void EmitComputation(BlockState& block, const Computation& computation, Known& known) {
  for (const Instruction* inst : computation.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) continue;
    Homes homes;
    if (inst->Is(Opcode::kConstant)) homes = {HomeOf(block, inst->literal())};
    else if (inst->Is(Opcode::kBitcast)) homes = known.at(&inst->operand(0));
    else if (inst->Is(Opcode::kTuple)) {
      for (const Instruction* operand : inst->operands()) homes.push_back(known.at(operand)[0]);
    } else if (inst->Is(Opcode::kGetTupleElement)) homes = {known.at(&inst->operand(0))[inst->tuple_index()]};
    else if (inst->Is(Opcode::kWhile)) homes = EmitLoop(block, *inst, known.at(&inst->operand(0)));
    else homes = EmitPart(block, *block.space.parts.at(inst), known);
    known[inst] = std::move(homes);
  }
}

Result<EmittedKernel> EmitBlock(const EmitRequest& request) {
  TRY(request.Require(RegionOf(request.body.source()) == "block", "it is not a region of kind block"));
  TRY(request.RequireBlock(0));
  const auto space = TRY(BlockSpaceOf(request.body.source(), /*in_cluster=*/request.plan.splits > 1));
  if (space->recurrent) TRY(CheckCluster(request, space->recurrent->period));
  BlockState block(*space, request);
  return Emit(block);
}

}  // namespace hlo::gpu
