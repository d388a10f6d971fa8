// Checks the plan of a sort or topk, and chooses the emitter of the kernel.
#include <bit>

#include "base/text.h"
#include "gpu/emitters/sort_kernel.h"

namespace hlo::gpu {
namespace {

bool IsPower(int64_t number) { return std::has_single_bit(static_cast<uint64_t>(number)); }

Status CheckShape(const EmitRequest& request, const SortSpace& space) {
  const KernelPlan& plan = request.plan;
  TRY(request.RequireBlock(plan.tile.size() == 4 ? 4 : 3));
  const SortShape shape(plan);
  TRY(request.Require(IsPower(shape.tile) && IsPower(shape.chunk) && IsPower(shape.digits),
                      "the sizes of its tile must be powers of 2"));
  TRY(request.Require(shape.chunk == shape.tile || shape.chunk * plan.threads == shape.tile,
                      Str("one thread must process all ", shape.tile, " positions of a tile, or each of ", plan.threads,
                          " threads its part")));
  TRY(request.Require(shape.digits == 1 || shape.walkers() == 1 || (shape.digits <= 256 && shape.chunk <= 32),
                      "with digits, a thread can have at most 32 keys of a tile and at most 256 digits"));
  TRY(request.Require(
      !shape.selects() ||
          (shape.slack > 0 && shape.digits > 1 && shape.walkers() == 1 && 0 < space.kept && space.kept <= shape.tile),
      "selecting the first elements needs one thread for a tile, digits, and room for more than the kept elements"));
  return request.Require(shape.digits == 1 || space.HasDigits(), "sorting by digits needs a comparator of one key");
}

}  // namespace

Result<EmittedKernel> EmitSort(const EmitRequest& request) {
  const auto space = TRY(SortSpaceOf(request.body));
  TRY(request.Require(space != nullptr, "there is no sort at the root"));
  const std::vector<const Instruction*> heroes = TRY(request.Heroes());
  TRY(request.Require(heroes == std::vector{space->inst},
                      Str("'", heroes[0]->name(), "' is not the sort at the root")));
  TRY(CheckShape(request, *space));
  const std::vector<SortStepAt> steps = SortSteps(*space, SortShape(request.plan));
  const bool fits =
      request.count == std::ssize(steps) && request.plan.algorithm == ToString(steps[request.number].step);
  if (!fits) {
    std::vector<std::string_view> names;
    for (const SortStepAt& each : steps) names.push_back(ToString(each.step));
    TRY(request.Require(false, Str("a sort with these tiles consists of the kernels ", Join(names, ", "))));
  }
  const SortStepAt& at = steps[request.number];
  const SortShape shape(request.plan);
  if (shape.selects()) return EmitSelect(*space, request, at);
  if (shape.digits == 1) return EmitMerge(*space, request, at);
  return shape.walkers() == 1 ? EmitRadix(*space, request, at) : EmitRanks(*space, request, at);
}

}  // namespace hlo::gpu
