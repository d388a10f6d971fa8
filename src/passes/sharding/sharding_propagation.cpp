// sharding-propagation: gives each array a sharding that follows from the stated ones.
#include "base/log.h"
#include "base/text.h"
#include "ir/control_edges.h"
#include "ir/frontend_attributes.h"
#include "ir/markers.h"
#include "ir/mesh/stated_shardings.h"
#include "passes/pass.h"
#include "passes/sharding/preparation.h"
#include "passes/sharding/propagation.h"
#include "passes/sharding/region_border.h"
#include "passes/sharding/value_classes.h"

namespace hlo {
namespace {

constexpr std::string_view kShardyPrefix = "xla.sdy.";

Sharding ShardingOf(const Propagation& propagation, const Instruction& inst) {
  std::vector<Sharding> leaves;
  ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& shape) {
    const int64_t leaf = std::ssize(leaves);
    leaves.push_back(shape.IsArray() ? propagation.axes().Write(propagation.SplitOf(inst, leaf))
                                     : Sharding{.kind = ShardingKind::kReplicated});
  });
  if (!inst.shape().IsTuple()) return std::move(leaves[0]);
  return {.kind = ShardingKind::kTuple, .leaves = std::move(leaves)};
}

bool WriteSharding(const Propagation& propagation, Instruction& inst) {
  bool changed = false;
  // The attributes of a border say which part of the whole a device has.
  if (inst.HasCommon() && !inst.common().frontend_attributes.empty() && !IsRegionBorder(inst)) {
    const FrontendAttributes kept = WithoutEntries(inst.common().frontend_attributes, kShardyPrefix);
    changed = kept != inst.common().frontend_attributes;
    if (changed) inst.mutable_common().frontend_attributes = kept;
  }
  if (inst.shape().LeafCount() == 0 || inst.shape().IsToken()) return changed;
  Sharding sharding = ShardingOf(propagation, inst);
  if (inst.HasCommon() && !inst.common().sharding.empty() && *inst.common().sharding == sharding) return changed;
  inst.mutable_common().sharding = std::move(sharding);
  return true;
}

// Whether the marker only states a sharding, now an attribute of its value.
bool OnlyStatesSharding(const Instruction& inst) {
  constexpr std::string_view kTargets[] = {"Sharding", "sdy.sharding_constraint", "xla.sdy.FuncResultSharding",
                                           "xla.sdy.PropagationBarrier"};
  return MarkerOf(inst) == Marker::kValue && inst.operand_count() == 1 && IsIdentityMarker(inst) &&
         std::ranges::find(kTargets, inst.attrs<CustomCallAttrs>().target) != std::end(kTargets);
}

bool HaveOneSharding(const Instruction& a, const Instruction& b) {
  return a.HasCommon() && b.HasCommon() && a.common().sharding == b.common().sharding;
}

// Removes what only states a sharding. A change of the split becomes a copy.
bool ReplaceMarkers(Computation& computation) {
  Replacements gone;
  for (Instruction* inst : computation.Instructions()) {
    if (IsShardingGroup(*inst) && inst->IsDead()) {
      gone[inst] = RunsAfter(*inst);
      computation.Remove(*inst);
      continue;
    }
    if (!OnlyStatesSharding(*inst)) continue;
    Instruction* value = &inst->operand(0);
    if (value->shape() != inst->shape() || !HaveOneSharding(*inst, *value)) {
      Instruction& copy = computation.AddLike(*inst, Opcode::kCopy, inst->shape(), {value});
      copy.mutable_common().sharding = inst->common().sharding;
      value = &copy;
    }
    inst->ReplaceAllUses(*value);
    gone[inst] = RunsAfter(*inst);
    computation.Remove(*inst);
  }
  CloseGaps(computation, gone);
  return !gone.empty();
}

}  // namespace

Result<bool> PropagateShardings(Module& module, const PassContext& context) {
  if (!IsUnpartitioned(module) || Axes::Of(module).devices() <= 1) return false;
  bool changed = TakePartitionsOfShardings(module);
  // Two calls of one computation may have different splits.
  changed |= TRY(FindPass("flatten-call-graph")->function(module, {.device = context.device}));
  changed |= SeparateBorders(module);
  for (Computation* computation : ComputationsOnArrays(module)) changed |= PrepareForPropagation(*computation);
  Propagation propagation(module);
  propagation.Run(context.fuel);
  constexpr size_t kMostNotes = 5;
  std::vector<std::string> ignored = propagation.misfits();
  ignored.insert(ignored.end(), propagation.conflicts().begin(), propagation.conflicts().end());
  for (size_t i = 0; i < ignored.size(); ++i) {
    VLOG(1, "ignored: ", ignored[i]);
    if (i < kMostNotes) context.Note(Str("a stated sharding is ignored: ", ignored[i]));
  }
  if (ignored.size() > kMostNotes)
    context.Note(Str(ignored.size() - kMostNotes, " more stated shardings are ignored; --v=1 lists all"));
  for (Computation* computation : ComputationsOnArrays(module)) {
    for (Instruction* inst : computation->Instructions()) changed |= WriteSharding(propagation, *inst);
  }
  for (Computation* computation : module.Computations()) changed |= ReplaceMarkers(*computation);
  return changed;
}

}  // namespace hlo
