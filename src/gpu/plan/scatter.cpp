#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "gpu/kernel/builder.h"
#include "gpu/plan/launch_shape.h"
#include "gpu/plan/planner.h"
#include "gpu/plan/scalar.h"
#include "gpu/plan/scatter_space.h"

namespace hlo::gpu {

namespace {

// Each block examines all indices and updates its own starts, so it needs enough threads.
void ShareAmongBlocks(const ScatterSpace& space, const DeviceDescription& device, KernelPlan& plan) {
  constexpr int64_t kBlocksOfMultiprocessor = 4, kLeastThreads = 128, kLeastIndices = 64;
  const int64_t indices = space.indices().size;
  if (!device.is_gpu || space.windows_overlap || indices < 2 * kLeastIndices || indices > UINT32_MAX) return;
  const int64_t threads = std::max(plan.threads, kLeastThreads);
  const int64_t blocks = kBlocksOfMultiprocessor * device.multiprocessors;
  const int64_t splits = std::min(blocks / kernel::CeilDiv(space.window().size, threads), indices / kLeastIndices);
  if (splits <= 1) return;
  plan.splits = splits;
  plan.threads = threads;
}

}  // namespace

Result<PlanAnswer> PlanScatter(PlanRequest& request) {
  const FusionBody& body = request.body();
  if (body.roots().empty() || !body.roots()[0].inst->Is(Opcode::kScatter)) return PlanAnswer{};
  const FusionBody::Root& root = body.roots()[0];
  const Instruction& inst = *root.inst;
  if (body.roots().size() != 1 || inst.operand_count() != 3) {
    FAIL(UnsupportedAt(inst, "U109",
                       Str("no emitter for 'scatter' with ", inst.operand_count() / 2,
                           " operands or in a fusion with other results")));
  }
  TRY(CheckOneFloatType(inst));
  const Computation& combiner = *inst.attrs<ScatterAttrs>().to_apply;
  if (const PrimitiveType type = inst.operand(2).shape().type(); combiner.parameter(1).shape().type() != type)
    FAIL(UnsupportedAt(
        inst, "U109",
        Str("no emitter for 'scatter' of updates of ", type, ", which is not the type that its computation takes")));
  TRY(CheckScalarComputation(combiner));
  PlanAnswer answer;
  KernelPlan plan{.kind = KernelKind::kScatter};
  if (body.source().Is(Opcode::kFusion)) plan.heroes.emplace_back(inst.name());
  const bool updates = inst.operand(2).shape().NumElements() > 0;
  if (updates) {
    const auto space = TRY(ScatterSpaceOf(body));
    plan.in_place = space->outputs[0].in_place_leaf >= 0;
    plan.threads = space->windows_overlap ? 32 : ThreadsFor(space->window().size);
    ShareAmongBlocks(*space, request.device(), plan);
    if (space->windows_overlap) answer.why = "one thread makes all updates, because windows of the scatter may overlap";
  }
  std::vector<KernelPlan> kernels;
  if (!plan.in_place) {
    const FusionBody::Root copied{&inst.operand(0), 0, root.index, root.shape};
    const LoopSpaces spaces = TRY(LoopSpacesOf(body, {&copied}));
    std::vector<const LoopSpace*> borrowed;
    for (const auto& space : spaces) borrowed.push_back(space.get());
    kernels = TRY(PlanElements(borrowed, request.device(), /*tiles=*/true));
    for (KernelPlan& kernel : kernels) {
      kernel.roots.clear();
      kernel.operand = true;
    }
  }
  if (updates) kernels.push_back(std::move(plan));
  answer.candidates = {std::move(kernels)};
  return answer;
}

}  // namespace hlo::gpu
