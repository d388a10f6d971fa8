#include "passes/fusion/walk.h"

#include <algorithm>
#include <unordered_set>

#include "ir/analysis/running_fold.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {
namespace {

bool MovesMinorDimension(const Instruction& transpose) {
  const std::vector<int64_t>& order = transpose.dimensions();
  // Size 1 does not affect the memory order.
  for (int64_t i = static_cast<int64_t>(order.size()) - 1, j = i; i >= 0 && j >= 0;) {
    if (transpose.shape().dim(i) == 1) {
      --i;
      continue;
    }
    if (transpose.operand(0).shape().dim(j) == 1) {
      --j;
      continue;
    }
    return order[i] != j;
  }
  return false;
}

// A reduce, a running fold, or a transpose that moves the minor dimension, which `root` reads through elementwise
// instructions and reshapes. Otherwise `root`.
const Instruction& HeroOf(const Instruction& root) {
  std::vector<const Instruction*> worklist = {&root};
  std::unordered_set<const Instruction*> seen;
  while (!worklist.empty()) {
    const Instruction* inst = worklist.back();
    worklist.pop_back();
    if (!seen.insert(inst).second) continue;
    if (inst->Is(Opcode::kReduce) || RunningFoldOf(*inst)) return *inst;
    if (inst->Is(Opcode::kTranspose) && MovesMinorDimension(*inst)) return *inst;
    if (inst->Is(kElementwise) || inst->Is(kView)) {
      for (const Instruction* operand : inst->operands()) worklist.push_back(operand);
    }
  }
  return root;
}

}  // namespace

bool IsUsedByElements(const Instruction& fusion) {
  const auto is_element = [](const Instruction* user) { return user->Is(Opcode::kGetTupleElement); };
  return !fusion.shape().IsTuple() || (!fusion.IsRoot() && std::ranges::all_of(fusion.users(), is_element));
}

namespace {

std::optional<FusionNote> WhyNotMergeable(const Instruction& fusion, std::span<const Instruction* const> roots) {
  if (!fusion.control_predecessors().empty())
    return FusionNote{FusionReason::kControlled, fusion.control_predecessors().front()};
  if (!fusion.attrs<FusionAttrs>().aliases.empty()) return FusionNote{FusionReason::kUpdatesInPlace};
  if (!IsUsedByElements(fusion)) return FusionNote{FusionReason::kUsedWhole};
  if (roots.empty()) return FusionNote{FusionReason::kSeveralValues};  // An empty tuple has no iteration.
  for (size_t i = 0; i < roots.size(); ++i) {
    const Instruction& hero = HeroOf(*roots[i]);
    if (!roots[i]->shape().IsArray()) return FusionNote{FusionReason::kSeveralValues};
    if (hero.Is(Opcode::kDynamicUpdateSlice) && CanUpdateInPlace(fusion, static_cast<int64_t>(i)))
      return FusionNote{FusionReason::kUpdatesInPlace};
    if (hero.Is(Opcode::kTranspose) && MovesMinorDimension(hero)) return FusionNote{FusionReason::kTransposes, &hero};
    if (RunningFoldOf(hero)) return FusionNote{FusionReason::kCarries, &hero};
    if (hero.Is(kStandsAlone)) return FusionNote{FusionReason::kByItself};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Walk> WalkOf(const Instruction& fusion, FusionNote* why_not) {
  const std::vector<const Instruction*> roots = FusionRoots(fusion);
  if (const auto note = WhyNotMergeable(fusion, roots)) {
    if (why_not != nullptr) *why_not = *note;
    return std::nullopt;
  }
  Walk walk{.instructions = FusedComputation(fusion).InstructionCount()};
  const auto reduced = std::ranges::find_if(roots, [](const Instruction* root) { return IsReduced(*root); });
  walk.reduces = reduced != roots.end();
  const auto as_first = [&](const Instruction* root) { return SameDims(root->shape(), roots.front()->shape()); };
  if (!walk.reduces && !std::ranges::all_of(roots, as_first)) {
    if (why_not != nullptr) *why_not = {FusionReason::kSeveralWalks};
    return std::nullopt;
  }
  const Instruction& hero = HeroOf(walk.reduces ? **reduced : *roots.front());
  walk.iteration = (walk.reduces ? hero.operand(0) : *roots.front()).shape().WithDefaultLayout();
  if (walk.reduces) walk.reduced = hero.attrs<ReduceAttrs>().dimensions;
  return walk;
}

std::optional<FusionNote> OtherWalk(const Walk& a, const Walk& b) {
  if (!SameDims(a.iteration, b.iteration)) return FusionNote{FusionReason::kOtherDimensions};
  if (a.reduces && b.reduces && a.reduced != b.reduced) return FusionNote{FusionReason::kOtherReduction};
  return std::nullopt;
}

void Join(const Walk& other, Walk* walk) {
  walk->instructions += other.instructions;
  if (!other.reduces) return;
  walk->reduces = true;
  walk->reduced = other.reduced;
}

bool IsReduced(const Instruction& root) { return HeroOf(root).Is(Opcode::kReduce); }

}  // namespace hlo
