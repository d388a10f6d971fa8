// The planner of regions that one block of threads runs.
#include "base/text.h"
#include "gpu/kernel/builder.h"
#include "gpu/plan/block_space.h"
#include "gpu/plan/launch_shape.h"
#include "gpu/plan/planner.h"
#include "ir/region.h"

namespace hlo::gpu {
namespace {

// On a host a step of its own costs less than a microsecond, and large kernels are shared out over its cores.
constexpr int64_t kMostElementsOnHost = 16 * 1024;
constexpr int kMostThreads = 1024, kMostThreadsOnHost = 256;  // There threads are lanes of the accumulators of sums.
constexpr int kVector = 4;

}  // namespace

Result<PlanAnswer> PlanBlock(PlanRequest& request) {
  const Instruction& region = request.body().source();
  if (RegionOf(region) != "block") return PlanAnswer{};
  const auto space = TRY(BlockSpaceOf(region));
  const bool is_gpu = request.device().is_gpu;
  // Each is judged by itself then, and named.
  if (!space->has_loops) FAIL(UnsupportedAt(region, "U103", "kernels in a row, without a loop, run one by one so far"));
  if (!is_gpu && space->most_elements > kMostElementsOnHost) {
    FAIL(UnsupportedAt(region, "U103",
                       Str("one of its kernels has ", space->most_elements, " elements, which all cores share")));
  }
  const int most_threads = is_gpu ? kMostThreads : kMostThreadsOnHost;
  KernelPlan plan{.kind = KernelKind::kBlock};
  plan.vector = space->most_elements > most_threads ? kVector : 1;
  plan.threads = ThreadsFor(kernel::CeilDiv(space->most_elements, plan.vector), most_threads);
  return PlanAnswer{.candidates = {{std::move(plan)}}};
}

}  // namespace hlo::gpu
