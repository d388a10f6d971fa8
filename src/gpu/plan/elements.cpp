#include <algorithm>

#include "gpu/kernel/builder.h"
#include "gpu/plan/launch_shape.h"
#include "gpu/plan/planner.h"
#include "gpu/plan/scalar.h"
#include "gpu/plan/transpose_box.h"
#include "gpu/plan/transpose_space.h"
#include "ir/device_limits.h"

namespace hlo::gpu {
namespace {

using kernel::CeilDiv;

// Numbers of written roots. Empty if the kernel writes all that have elements.
std::vector<int64_t> RootsOf(const LoopSpace& space) {
  const std::vector<FusionBody::Root>& all = space.graph.body().roots();
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto writes = [&](const LoopSpace::Output& output) { return output.root == &all[i]; };
    if (std::ranges::any_of(space.outputs, writes)) numbers.push_back(static_cast<int64_t>(i));
  }
  const auto with_elements = std::ranges::count_if(all, [](const auto& root) { return root.shape->NumElements() > 0; });
  if (std::ssize(numbers) == with_elements) numbers.clear();
  return numbers;
}

KernelPlan KernelOf(KernelKind kind, const LoopSpace& space) {
  return {.kind = kind, .roots = RootsOf(space), .in_place = space.outputs[0].in_place_leaf >= 0};
}

Result<KernelPlan> LoopKernel(const LoopSpace& merged, const DeviceDescription& device) {
  constexpr int64_t kShortRow = 32;
  KernelPlan plan = KernelOf(KernelKind::kLoop, merged);
  const LoopSpace* space = &merged;
  std::unique_ptr<LoopSpace> flat;
  if (merged.variables.size() > 1 && merged.minor().size < kShortRow) {
    LoopRequest request{.in_place = plan.in_place};
    for (const auto& output : merged.outputs) request.roots.push_back(output.root);
    flat = TRY(LoopSpaceOf(merged.graph.body(), request, /*flat=*/true));
    space = flat.get();
  }
  int width = VectorWidth(space->graph, space->Values(), space->graph.body().roots(), device.vector_bytes);
  if (space->variables.size() > 1) {
    ShapeAlongMinor(space->minor().size, width, /*warp_lanes=*/32, plan);
    return plan;
  }
  const int64_t elements = space->Size();
  while (width > 1 && elements / (256 * width) < device.multiprocessors) width /= 2;
  plan.vector = width;
  plan.threads = ThreadsFor(CeilDiv(elements, width));
  plan.tile = {plan.threads * width};
  return plan;
}

// Hosts transpose large arrays of 2- or 4-byte elements in squares along a strip of rows. A square's side is a cache
// line, so each line is read and written once, and prefetchers can follow the rows. Except for short rows and few
// columns, this is faster than tiles (bench/results/transposes.md#squares). For processors that fetch lines in pairs, a
// square is two lines wide (bench/results/transposes.md#pairs-of-lines).
constexpr int64_t kLineBytes = 64, kLinesStrip = 4096;

// Elements of a line, 0 if squares of lines do not fit or are slower.
int64_t ElementsOfLines(const LoopSpace& space, const Staged& staged) {
  constexpr int64_t kLeastBytes = 8 << 20, kLeastRowLines = 6, kLeastColumns = 64;
  if (staged.loads.size() != 1 || space.outputs.size() != 1) return 0;
  const Shape& result = *space.outputs[0].root->shape;
  const int64_t bits = BitWidth(result.type()), line = 8 * kLineBytes / bits;
  const int64_t rows = space.variables[staged.across].size, columns = space.minor().size;
  const bool fits = (bits == 32 || bits == 16) &&
                    BitWidth(space.graph.node(staged.loads[0]).inst->shape().type()) == bits && rows % line == 0 &&
                    columns % line == 0 && rows >= kLeastRowLines * line && columns >= kLeastColumns &&
                    result.ByteSize() >= kLeastBytes;
  return fits ? line : 0;
}

// A loop along long runs reads cache lines several times. It is faster than boxes if a run's lines stay in a core's own
// cache, or if the arrays stay in the last-level cache and vectors load with stride 1, 2 or 4
// (bench/results/transposes.md#small-dimensions).
bool IsFasterAlongRuns(const LoopSpace& space, const DeviceDescription& device) {
  constexpr int64_t kLongRun = 256;
  if (space.variables.empty() || space.minor().size < kLongRun) return false;
  int64_t bytes = 0;
  bool in_vectors = true, near = true;
  for (const NodeId id : space.graph.Reachable(space.Values())) {
    const ElementNode& node = space.graph.node(id);
    if (node.kind != ElementNode::Kind::kLoad) continue;
    const int64_t stride = space.pool.Coefficient(node.offset, space.minor().e);
    if (stride < 0) return false;
    in_vectors = in_vectors && stride != 3 && stride <= 4;
    near = near && stride <= kSecondCacheBytes / ByteWidth(node.inst->shape().type()) / space.minor().size;
    bytes += node.inst->shape().ByteSize();
  }
  return near || (in_vectors && bytes < device.cache_bytes);
}

KernelPlan BoxKernel(const LoopSpace& space, const TransposeBox& box) {
  KernelPlan plan = KernelOf(KernelKind::kTranspose, space);
  plan.algorithm = kTransposeBox;
  plan.tile = box.sides;
  plan.threads = ThreadsFor(std::max(box.RunElements(), box.LoadedRunElements()));
  return plan;
}

// nullopt unless an operand is read across its memory order. Interleaved results are for hosts only: a GPU's cache
// combines several threads' stores to a line, but a host's loop would store single elements.
std::optional<KernelPlan> TransposeKernel(const LoopSpace& space, const DeviceDescription& device) {
  if (!device.is_gpu && Interleaves(space)) {
    KernelPlan plan = KernelOf(KernelKind::kTranspose, space);
    plan.threads = ThreadsFor(space.variables[space.variables.size() - 2].size);
    plan.tile = {plan.threads, space.minor().size};
    return plan;
  }
  constexpr int64_t kLine = 64;
  const Staged staged = FindStaged(space);
  if (staged.loads.empty() && !device.is_gpu && !IsFasterAlongRuns(space, device)) {
    if (const auto box = FindBox(space)) return BoxKernel(space, *box);
  }
  if (staged.loads.empty() || space.outputs[0].in_place_leaf >= 0) return std::nullopt;
  const int64_t rows = space.variables[staged.across].size, columns = space.minor().size;
  int64_t element_bytes = 0, output_bytes = kLine;
  for (const NodeId load : staged.loads) element_bytes += ByteWidth(space.graph.node(load).inst->shape().type());
  for (const LoopSpace::Output& output : space.outputs)
    output_bytes = std::min<int64_t>(output_bytes, ByteWidth(output.root->shape->type()));
  const auto fits = [&](int64_t r, int64_t c) { return c * (r + 1) * element_bytes <= kStaticValueBytes; };
  // A CPU's prefetchers follow about 32 rows. Tiles have 64 columns if 32 output elements fill at most one cache line,
  // rows do not end at a line, or a host's rows have 33 to 63 elements.
  const bool runs_are_lines = columns * output_bytes % kLine == 0 && 32 * output_bytes >= 2 * kLine;
  const int64_t tile_rows = rows >= 64 && fits(64, 32) ? 64 : 32;
  const bool is_narrow = !device.is_gpu && columns > 32 && columns < 64;
  const int64_t tile_columns = ((!runs_are_lines && columns >= 64) || is_narrow) && fits(tile_rows, 64) ? 64 : 32;
  if (!fits(tile_rows, tile_columns)) return std::nullopt;
  KernelPlan plan = KernelOf(KernelKind::kTranspose, space);
  plan.tile = {tile_rows, tile_columns};
  plan.threads = 256;
  if (const int64_t line = device.is_gpu ? 0 : ElementsOfLines(space, staged); line > 0) {
    const int64_t fetched = line * device.fetched_bytes / kLineBytes;
    plan.tile = {kLinesStrip, columns % fetched == 0 ? fetched : line, line};
    plan.threads = 32;
  }
  return plan;
}

// Why the fusion needs several launches. Empty for one kernel or updates in place.
std::string WhySeveral(const std::vector<KernelPlan>& plans) {
  const bool in_place = std::ranges::any_of(plans, &KernelPlan::in_place);
  return plans.size() > 1 && !in_place ? "its results have different sizes, and each size takes a launch" : "";
}

}  // namespace

Result<std::vector<KernelPlan>> PlanElements(std::span<const LoopSpace* const> spaces, const DeviceDescription& device,
                                             bool tiles) {
  std::vector<KernelPlan> plans;
  for (const LoopSpace* space : spaces) {
    std::optional<KernelPlan> transpose = tiles ? TransposeKernel(*space, device) : std::nullopt;
    plans.push_back(transpose ? std::move(*transpose) : TRY(LoopKernel(*space, device)));
  }
  return plans;
}

Result<PlanAnswer> PlanTranspose(PlanRequest& request) {
  auto plans = TRY(PlanElements(TRY(request.Loops()), request.device(), /*tiles=*/true));
  const auto is_transpose = [](const KernelPlan& plan) { return plan.kind == KernelKind::kTranspose; };
  if (std::ranges::none_of(plans, is_transpose)) return PlanAnswer{};
  std::string why = WhySeveral(plans);
  return PlanAnswer{.candidates = {std::move(plans)}, .why = std::move(why)};
}

Result<PlanAnswer> PlanLoop(PlanRequest& request) {
  auto plans = TRY(PlanElements(TRY(request.Loops()), request.device(), /*tiles=*/false));
  std::string why = WhySeveral(plans);
  return PlanAnswer{.candidates = {std::move(plans)}, .why = std::move(why)};
}

}  // namespace hlo::gpu
