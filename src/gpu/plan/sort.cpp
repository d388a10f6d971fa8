#include <algorithm>
#include <bit>

#include "gpu/kernel/builder.h"
#include "gpu/plan/planner.h"
#include "gpu/plan/scalar.h"
#include "gpu/plan/sort_space.h"

namespace hlo::gpu {
namespace {

// A sort's tiles. A GPU's thread holds keys in registers while it ranks them. On a host, one walk through a whole tile
// is as fast as 32 walks through its parts, and reads memory in order. In long lines, large tiles make the host's
// counters of digits cheap.
struct SortNumbers {
  int64_t line_bytes;
  int copies;                      // Copies of a tile's data in a radix sort.
  int64_t line_tile;               // Longest line that is one tile, if its bytes fit.
  int64_t radix_tile, merge_tile;  // For longer lines, halved until they fit.
  int64_t least_radix;
};
constexpr SortNumbers kGpu = {64 << 10, 1, 16 << 10, 8192, 4096, 128};
constexpr SortNumbers kHost = {1 << 20, 2, 1 << 20, 64 << 10, 32 << 10, 64};
constexpr int64_t kDigits = 256, kThreads = 256, kWarp = 32;
// A thread ranks kFewOfThread keys in tiles of at most kFewKeys, else kKeysOfThread. More keys compete for a warp's
// counters. Fewer keys need more warps, which wait for each other.
constexpr int64_t kFewKeys = 4096, kFewOfThread = 8, kKeysOfThread = 16;

int64_t TileFor(int64_t length) {
  return std::max<int64_t>(32, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length))));
}

// On a host, plans a selection if few elements are kept. Too few lines to occupy the processor are divided into tiles.
// `threads` elements are examined together.
void SelectFirst(const SortSpace& space, const DeviceDescription& device, KernelPlan& plan) {
  constexpr int64_t kLeastLine = 512, kLeastOfKept = 8, kMostKept = 32 << 10, kLeastTile = 4096, kLeastSlack = 128;
  constexpr int64_t kTogether = 64;
  if (device.is_gpu || !space.HasDigits() || space.kept == 0 || space.kept > kMostKept) return;
  if (space.length < std::max(kLeastLine, kLeastOfKept * space.kept)) return;
  const int64_t least_tile = std::max(kLeastTile, kLeastOfKept * TileFor(space.kept));
  int64_t tile = TileFor(space.length);
  while (tile / 2 >= least_tile && space.lines() * kernel::CeilDiv(space.length, tile) < 2 * device.multiprocessors)
    tile /= 2;
  plan.threads = kTogether;
  plan.tile = {tile, tile, kDigits, std::max(kLeastSlack, space.kept)};
}

}  // namespace

Result<PlanAnswer> PlanSort(PlanRequest& request) {
  const auto space = TRY(SortSpaceOf(request.body()));
  if (space == nullptr) return PlanAnswer{};
  const bool is_gpu = request.device().is_gpu;
  const SortNumbers& numbers = is_gpu ? kGpu : kHost;
  const bool is_radix = space->HasDigits() && space->length >= numbers.least_radix;
  const int64_t bytes = is_radix ? numbers.copies * BytesMoved(*space) : 2 * 4;
  int64_t tile = TileFor(space->length);
  if (tile > numbers.line_tile || tile * bytes > numbers.line_bytes) {
    tile = is_radix ? numbers.radix_tile : numbers.merge_tile;
    while (tile * bytes > numbers.line_bytes) tile /= 2;
  }
  KernelPlan plan{.kind = KernelKind::kSort};
  if (request.body().source().Is(Opcode::kFusion)) plan.heroes.emplace_back(space->inst->name());
  plan.threads = std::min(kThreads, tile);
  if (is_gpu && is_radix) plan.threads = std::max(kWarp, tile / (tile <= kFewKeys ? kFewOfThread : kKeysOfThread));
  plan.tile = {tile, is_gpu ? tile / plan.threads : tile, is_radix ? kDigits : 1};
  SelectFirst(*space, request.device(), plan);
  std::vector<KernelPlan> kernels;
  for (const SortStepAt& each : SortSteps(*space, SortShape(plan))) {
    plan.algorithm = ToString(each.step);
    kernels.push_back(plan);
  }
  return PlanAnswer{.candidates = {std::move(kernels)}};
}

}  // namespace hlo::gpu
