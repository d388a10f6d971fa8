// The planner of sorts and topk.
#include <algorithm>
#include <bit>

#include "gpu/plan/planner.h"
#include "gpu/plan/scalar.h"
#include "gpu/plan/sort_space.h"

namespace hlo::gpu {
namespace {

// How the tiles of a sort are taken. On a GPU a thread goes through some positions, and small digits keep a counter for
// each of them and each thread in shared memory. On the host one walk goes through all of a tile, since it is as fast
// as 32 and reads memory in order; a tile of long lines is large, so that the counters of its digits cost nothing.
struct SortNumbers {
  int64_t threads, digits;
  int64_t line_bytes;              // Of keys and what moves with them, twice: lines up to here are one tile.
  int64_t radix_tile, merge_tile;  // Of longer ones.
  int64_t least_radix;             // Shorter lines are merged.
};
constexpr SortNumbers kGpu = {256, 16, 64 << 10, 4096, 4096, 128};
constexpr SortNumbers kHost = {256, 256, 1 << 20, 64 << 10, 32 << 10, 64};

// Positions of a tile for a line of so many: a power of two, of at least a warp.
int64_t TileFor(int64_t length) {
  return std::max<int64_t>(32, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length))));
}

}  // namespace

Result<PlanAnswer> PlanSort(PlanRequest& request) {
  const auto space = TRY(SortSpaceOf(request.body()));
  if (space == nullptr) return PlanAnswer{};
  const SortNumbers& numbers = request.device().is_gpu ? kGpu : kHost;
  const bool is_radix = space->HasDigits() && space->length >= numbers.least_radix;
  const int64_t bytes = 2 * (is_radix ? BytesMoved(*space) : 4);
  int64_t tile = TileFor(space->length);
  if (tile * bytes > numbers.line_bytes) tile = is_radix ? numbers.radix_tile : numbers.merge_tile;
  KernelPlan plan{.kind = KernelKind::kSort};
  if (request.body().source().Is(Opcode::kFusion)) plan.heroes.emplace_back(space->inst->name());
  plan.threads = std::min(numbers.threads, tile);
  plan.tile = {tile, request.device().is_gpu ? tile / plan.threads : tile, is_radix ? numbers.digits : 1};
  std::vector<KernelPlan> kernels;
  for (const SortStepAt& each : SortSteps(*space, SortShape(plan))) {
    plan.algorithm = ToString(each.step);
    kernels.push_back(plan);
  }
  return PlanAnswer{.candidates = {std::move(kernels)}};
}

}  // namespace hlo::gpu
