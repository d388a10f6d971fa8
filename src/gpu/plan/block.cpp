#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "gpu/kernel/builder.h"
#include "gpu/plan/block_space.h"
#include "gpu/plan/launch_shape.h"
#include "gpu/plan/planner.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"

namespace hlo::gpu {
namespace {

// On a host, larger kernels are faster as separate steps, which use all cores.
constexpr int64_t kMostElementsOnHost = 16 * 1024;
// On a host, loops over some thousand elements are faster with 128 threads than with 1024, because each further warp
// makes barriers and sums slower.
constexpr int kMostThreads = 128;
constexpr int kVector = 4;

std::optional<ClusterShape> ClusterOf(const Instruction& region, const DeviceDescription& device,
                                      std::string* why_not) {
  const Instruction* const loop = OnlyLoopOf(region);
  const auto recurrent = loop == nullptr ? std::nullopt : RecurrentLoopOf(*loop, why_not);
  return recurrent ? ClusterFor(*recurrent, device, why_not) : std::nullopt;
}

}  // namespace

Result<PlanAnswer> PlanBlock(PlanRequest& request) {
  const Instruction& region = request.body().source();
  if (RegionOf(region) != "block") return PlanAnswer{};
  // This is checked first, because a module can have thousands of regions without a loop.
  const auto is_loop = [](const Instruction* inst) { return inst->Is(Opcode::kWhile); };
  if (std::ranges::none_of(FusedComputation(region).Instructions(), is_loop))
    FAIL(UnsupportedAt(region, "U103", "a region without a loop has no kernel yet, so its kernels run one by one"));
  std::string why_not;
  if (const auto shape = ClusterOf(region, request.device(), &why_not)) {
    const auto space = TRY(BlockSpaceOf(region, /*in_cluster=*/true));
    KernelPlan plan{.kind = KernelKind::kBlock};
    plan.vector = std::gcd(kVector, space->recurrent->period / shape->blocks);
    plan.threads = shape->threads;
    plan.splits = shape->blocks;
    return PlanAnswer{.candidates = {{std::move(plan)}}};
  }
  const auto space = TRY(BlockSpaceOf(region));
  const bool is_gpu = request.device().is_gpu;
  if (!is_gpu && space->most_elements > kMostElementsOnHost) {
    FAIL(UnsupportedAt(
        region, "U103",
        Str("one of its kernels has ", space->most_elements, " elements, for which all cores are needed")));
  }
  KernelPlan plan{.kind = KernelKind::kBlock};
  plan.vector = space->most_elements > kMostThreads ? kVector : 1;
  plan.threads = ThreadsFor(kernel::CeilDiv(space->most_elements, plan.vector), kMostThreads);
  return PlanAnswer{.candidates = {{std::move(plan)}}};
}

}  // namespace hlo::gpu
