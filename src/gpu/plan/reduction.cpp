// Planners of reductions.
#include <algorithm>

#include "base/text.h"
#include "gpu/kernel/builder.h"
#include "gpu/plan/launch_shape.h"
#include "gpu/plan/planner.h"
#include "gpu/plan/reduction_space.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

using kernel::CeilDiv;

// Fewer terms than this are folded by one thread: the loop emitter's.
constexpr int64_t kFewTerms = 16;
// Blocks that a reduction is split into, where there are fewer rows or columns.
constexpr int kWavesOfBlocks = 4;

int64_t TermsOf(const Instruction& reduce) {
  int64_t terms = 1;
  for (const int64_t d : reduce.attrs<ReduceAttrs>().dimensions) terms *= reduce.operand(0).shape().dim(d);
  return terms;
}

// Is the dimension that lies closest together reduced? Those of size 1 lie nowhere.
bool ReducesMinor(const Instruction& reduce) {
  const Shape& shape = reduce.operand(0).shape();
  for (const int64_t d : shape.layout().minor_to_major) {
    if (shape.dim(d) > 1) return std::ranges::count(reduce.attrs<ReduceAttrs>().dimensions, d) > 0;
  }
  return false;
}

// The space of the fusion's reduces, where a kernel of their own pays for them; else null, and `why`.
Result<std::unique_ptr<ReductionSpace>> SpaceOf(const FusionBody& body, bool minor, std::string* why) {
  std::vector<const Instruction*> heroes;
  for (const Instruction* inst : body.instructions()) {
    if (inst->Is(Opcode::kReduce)) heroes.push_back(inst);
  }
  const auto many_terms = [](const Instruction* hero) { return TermsOf(*hero) > kFewTerms; };
  if (std::ranges::none_of(heroes, many_terms)) return nullptr;
  const Shape& shape = heroes[0]->operand(0).shape();
  if (shape.NumElements() == 0 || !shape.layout().tiling->tiles.empty()) return nullptr;
  std::string why_not;
  auto space = TRY(ReductionSpaceOf(body, heroes, &why_not));
  if (space == nullptr) {
    *why = Str("one thread for each result of a reduction: ", why_not);
    return nullptr;
  }
  return many_terms(heroes[0]) && ReducesMinor(*heroes[0]) == minor ? std::move(space) : nullptr;
}

// Blocks to give each of `groups` independent reductions of `steps` steps.
int64_t SplitsFor(int64_t groups, int64_t steps, int64_t least_steps, const DeviceDescription& device) {
  const int64_t wanted = int64_t{kWavesOfBlocks} * device.multiprocessors;
  if (groups * 2 > wanted) return 1;
  return std::clamp<int64_t>(CeilDiv(wanted, groups), 1, std::max<int64_t>(1, steps / least_steps));
}

KernelPlan KernelOf(KernelKind kind, const ReductionSpace& space) {
  KernelPlan plan{.kind = kind};
  if (!space.graph.body().source().Is(Opcode::kFusion)) return plan;
  for (const auto& hero : space.heroes) plan.heroes.emplace_back(hero.inst->name());
  return plan;
}

}  // namespace

Result<PlanAnswer> PlanRowReduction(PlanRequest& request) {
  PlanAnswer answer;
  const auto space = TRY(SpaceOf(request.body(), /*minor=*/true, &answer.why));
  if (space == nullptr) return answer;
  const int64_t row = space->variables.back().size, outer = space->Size(true) / row, rows = space->Size(false);
  int width = VectorWidth(space->graph, space->Inputs(), {});
  while (width > 1 && row % width != 0) width /= 2;
  const bool by_warp = CeilDiv(row, width) <= 64;
  KernelPlan plan = KernelOf(KernelKind::kRowReduction, *space);
  plan.vector = width;
  plan.threads = by_warp ? 256 : ThreadsFor(CeilDiv(row, width));
  plan.tile =
      by_warp ? std::vector<int64_t>{plan.threads / 32, 32 * width} : std::vector<int64_t>{1, plan.threads * width};
  const int64_t step = plan.tile[1], steps = outer * CeilDiv(row, step);
  plan.unroll = row % step == 0 && steps % 4 == 0 ? 4 : 1;
  plan.splits = by_warp ? 1 : SplitsFor(rows, steps, 4, request.device());
  answer.candidates = {{std::move(plan)}};
  return answer;
}

Result<PlanAnswer> PlanColumnReduction(PlanRequest& request) {
  PlanAnswer answer;
  const auto space = TRY(SpaceOf(request.body(), /*minor=*/false, &answer.why));
  if (space == nullptr) return answer;
  const int64_t columns = space->variables.back().size, outer = space->Size(false) / columns;
  const int64_t terms = space->Size(true);
  int width = VectorWidth(space->graph, space->Inputs(), {});
  while (width > 1 && columns % width != 0) width /= 2;
  // Narrow: the warps of a block take different rows.
  const bool narrow = CeilDiv(columns, width) <= 32;
  KernelPlan plan = KernelOf(KernelKind::kColumnReduction, *space);
  plan.vector = width;
  plan.threads = narrow ? 256 : ThreadsFor(CeilDiv(columns, width));
  plan.tile =
      narrow ? std::vector<int64_t>{plan.threads / 32, 32 * width} : std::vector<int64_t>{1, plan.threads * width};
  const int64_t groups = narrow ? outer : outer * CeilDiv(columns, plan.tile[1]);
  plan.splits = SplitsFor(groups, terms, narrow ? 64 : 32, request.device());
  plan.unroll = terms % (8 * plan.tile[0]) == 0 ? 8 : 1;
  answer.candidates = {{std::move(plan)}};
  return answer;
}

}  // namespace hlo::gpu
