#include <algorithm>

#include "base/text.h"
#include "gpu/plan/launch_shape.h"
#include "gpu/plan/planner.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kFewTerms = 16;

int64_t TermsOf(const Instruction& reduce) {
  int64_t terms = 1;
  for (const int64_t d : reduce.attrs<ReduceAttrs>().dimensions) terms *= reduce.operand(0).shape().dim(d);
  return terms;
}

// The common space of all reduces. Null if none has many terms, or with a reason in `why`, if they have no common
// space.
Result<std::unique_ptr<ReductionSpace>> SpaceOf(const FusionBody& body, std::string* why) {
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
  if (space == nullptr) *why = Str("one thread computes each result of a reduction: ", why_not);
  return space != nullptr && many_terms(heroes[0]) ? std::move(space) : nullptr;
}

Result<PlanAnswer> PlanReduction(PlanRequest& request, KernelKind kind) {
  PlanAnswer answer;
  const auto space = TRY(SpaceOf(request.body(), &answer.why));
  const Role minor = kind == KernelKind::kRowReduction ? Role::kReduced : Role::kKept;
  if (space == nullptr || space->minor().role != minor) return answer;
  KernelPlan plan{.kind = kind};
  if (request.body().source().Is(Opcode::kFusion)) {
    for (const auto& hero : space->heroes) plan.heroes.emplace_back(hero.inst->name());
  }
  ShapeReduction(*space, request.device(), plan);
  answer.candidates = {{std::move(plan)}};
  return answer;
}

}  // namespace

Result<PlanAnswer> PlanRowReduction(PlanRequest& request) { return PlanReduction(request, KernelKind::kRowReduction); }
Result<PlanAnswer> PlanColumnReduction(PlanRequest& request) {
  return PlanReduction(request, KernelKind::kColumnReduction);
}

}  // namespace hlo::gpu
