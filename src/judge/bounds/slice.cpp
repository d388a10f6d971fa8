#include "judge/bounds/slice.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "judge/bounds/sample_points.h"
#include "judge/bounds/slice_plan.h"

namespace hlo::shadow {
namespace {

// Makes both slices take the same elements of arguments with the same key. Returns the arguments of both.
SharedArguments ShareArguments(const SlicePlan& a, const SlicePlan& b) {
  SharedArguments shared;
  for (const SlicePlan* plan : {&a, &b}) {
    for (const Instruction* parameter : plan->cone->module->entry().parameters()) {
      const auto found = plan->places.find(parameter);
      if (found == plan->places.end()) continue;
      const ConeArgument& argument = plan->cone->args[parameter->parameter_number()];
      SharedArgument& all = shared[argument.key];
      all.literal = argument.literal;
      if (found->second.all) all.places = {.all = true};
      else all.places.Add(found->second.at);
    }
  }
  for (auto& [key, argument] : shared) {
    if (!argument.places.all) MakeAscending(argument.places.at, argument.literal->shape().NumElements());
  }
  return shared;
}

// Takes about `limit` steps, or about `fewest` points if these take more.
Result<SlicePlan> BestPlan(const Cone& cone, int64_t limit, uint64_t seed, int64_t fewest = kFewestPoints) {
  const std::vector<const Instruction*> outputs = OutputsOf(cone);
  int64_t largest = 0;
  for (const Instruction* output : outputs) largest = std::max(largest, output->shape().NumElements());
  const auto plan = [&](Spread spread, int64_t wanted) {
    std::vector<std::vector<int64_t>> points;
    for (const Instruction* output : outputs) points.push_back(Points(output->shape(), spread, wanted, seed));
    return PlanSlice(cone, std::move(points));
  };
  std::optional<SlicePlan> best;
  Spread spread = Spread::kEverywhere;
  for (const Spread other : {Spread::kEverywhere, Spread::kInGrid, Spread::kInRows, Spread::kInColumns}) {
    SlicePlan next = TRY(plan(other, fewest));
    // kEverywhere is the most informative. Others must cost less than half, or stay below the limit.
    if (best && next.steps > limit && 2 * next.steps > best->steps) continue;
    best.emplace(std::move(next));
    spread = other;
    if (best->steps <= limit || largest <= fewest) break;  // In the second case each spread has all points.
  }
  constexpr int64_t kMostPoints = int64_t{1} << 18;
  const double room = static_cast<double>(limit) / static_cast<double>(std::max<int64_t>(1, best->steps));
  if (room > 2 && largest > fewest) {
    SlicePlan larger =
        TRY(plan(spread, static_cast<int64_t>(std::min<double>(kMostPoints, static_cast<double>(fewest) * room / 2))));
    if (larger.steps <= limit) best.emplace(std::move(larger));
  }
  return std::move(*best);
}

Result<SlicePlan> SmallestPlan(const Cone& cone, int64_t limit, uint64_t seed) {
  std::optional<SlicePlan> best;
  for (int64_t fewest = kFewestPoints; fewest >= kFewestPointsOfTwo; fewest /= 8) {
    SlicePlan next = TRY(BestPlan(cone, limit, seed, fewest));
    if (!best || next.steps < best->steps) best.emplace(std::move(next));
    if (best->steps <= limit) break;
  }
  return std::move(*best);
}

std::vector<int64_t> AllPoints(const Shape& shape) {
  std::vector<int64_t> points(shape.NumElements());
  std::iota(points.begin(), points.end(), 0);
  return points;
}

// Copies called computations, and removes origins.
void MakeSelfContained(Module& module) {
  std::unordered_map<const Computation*, Computation*> copies;
  const std::function<void(Computation&)> adopt = [&](Computation& computation) {
    for (Instruction* inst : computation.Instructions()) {
      inst->SetOrigin(-1);
      if (CalledComputations(*inst).empty()) continue;
      ForEachCalled(inst->attributes(), [&](Computation*& called) {
        if (Computation*& copy = copies[called]; copy == nullptr) {
          copy = &module.CloneComputation(*called, called->name());
          adopt(*copy);
        }
        called = copies.at(called);
      });
    }
  };
  adopt(module.entry());
}

}  // namespace

Result<std::optional<Slice>> SliceAt(const Cone& cone, const std::vector<std::vector<int64_t>>& points, int64_t limit) {
  const std::vector<const Instruction*> outputs = OutputsOf(cone);
  for (const Instruction* output : outputs) {
    if (!output->shape().IsArray()) return std::optional<Slice>();
  }
  if (outputs.size() != points.size()) return std::optional<Slice>();
  SlicePlan plan = TRY(PlanSlice(cone, points));
  if (plan.steps > limit) return std::optional<Slice>();
  return std::optional(BuildSlice(std::move(plan)));
}

Result<std::optional<Slice>> SliceOf(const Cone& cone, int64_t limit, uint64_t seed) {
  const std::vector<const Instruction*> outputs = OutputsOf(cone);
  int64_t largest = 0;
  for (const Instruction* output : outputs) {
    if (!output->shape().IsArray()) return std::optional<Slice>();
    largest = std::max(largest, output->shape().NumElements());
  }
  // A small result is computed completely, unless its cone is huge, as for a slice of a value that exceeds the memory.
  constexpr int64_t kMostSteps = 10'000'000'000;
  if (largest <= kFewestPoints && cone.steps <= kMostSteps) return std::optional<Slice>();
  SlicePlan best = TRY(BestPlan(cone, limit, seed));
  if (best.steps >= cone.steps) return std::optional<Slice>();
  return std::optional(BuildSlice(std::move(best)));
}

Result<std::optional<SlicesOfTwo>> SlicesOfBoth(const Cone& before, const Cone& after, int64_t limit, int64_t most,
                                                uint64_t seed) {
  const Shape& shape = after.module->entry().root().shape();
  if (!shape.IsArray() || !before.module->entry().root().shape().IsArray()) return std::nullopt;
  const bool takes_all = std::max(before.steps, after.steps) <= limit;
  SlicePlan of_after = TRY(takes_all ? PlanSlice(after, {AllPoints(shape)}) : SmallestPlan(after, limit, seed));
  if (of_after.steps > most) return std::nullopt;
  SlicePlan of_before = TRY(PlanSlice(before, of_after.points));
  if (of_before.steps > most) return std::nullopt;
  SlicesOfTwo both;
  both.points = of_after.points[0];
  const SharedArguments shared = ShareArguments(of_before, of_after);
  for (const auto& [key, argument] : shared) {
    const Places& places = argument.places;
    both.args.push_back(places.all ? *argument.literal : TakeFrom(*argument.literal, *places.at));
  }
  const auto side = [&](SlicePlan plan) {
    const int64_t steps = plan.steps;
    Slice slice = BuildSlice(std::move(plan), shared);
    MakeSelfContained(*slice.module);
    return SlicesOfTwo::Side{std::move(slice.module), std::move(slice.wanted), steps};
  };
  both.before = side(std::move(of_before));
  both.after = side(std::move(of_after));
  return both;
}

}  // namespace hlo::shadow
