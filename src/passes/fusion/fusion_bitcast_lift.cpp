// Inside a kernel with a reduction, reduce(reshape(f(x))) => reduce(f(reshape(x))), for elementwise f. The reshape of
// an operand becomes a bitcast outside, and indices have fewer dimensions.
#include <algorithm>
#include <unordered_set>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

bool IsRowMajor(const Instruction& inst) { return inst.shape().IsArray() && inst.shape().HasDefaultLayout(); }

// The reshapes, if all have the same operand and result dimensions, and the result has fewer. Otherwise empty.
std::vector<Instruction*> EqualReshapes(const Computation& body) {
  std::vector<Instruction*> reshapes;
  for (Instruction* inst : body.PostOrder()) {
    if (!inst->Is(kView)) continue;
    const Instruction& first = reshapes.empty() ? *inst : *reshapes.front();
    if (!IsRowMajor(*inst) || !IsRowMajor(inst->operand(0)) ||
        inst->shape().type() != inst->operand(0).shape().type() ||
        inst->shape().rank() >= inst->operand(0).shape().rank() || !SameDims(inst->shape(), first.shape()) ||
        !SameDims(inst->operand(0).shape(), first.operand(0).shape()))
      return {};
    reshapes.push_back(inst);
  }
  return reshapes;
}

// The instructions that compute the reshapes' operands. Empty if one has other users or cannot have fewer dimensions.
std::vector<Instruction*> Region(const std::vector<Instruction*>& reshapes) {
  const Shape& from = reshapes.front()->operand(0).shape();
  std::vector<Instruction*> region;
  std::unordered_set<const Instruction*> seen;
  const auto add = [&](Instruction& inst) {
    if (seen.insert(&inst).second) region.push_back(&inst);
  };
  for (Instruction* reshape : reshapes) add(reshape->operand(0));
  for (size_t i = 0; i < region.size(); ++i) {
    Instruction& inst = *region[i];
    const bool spreads = inst.Is(Opcode::kBroadcast) && inst.operand(0).shape().IsScalar();
    if (!IsRowMajor(inst) || !(inst.Is(Opcode::kParameter) || inst.Is(kElementwise) || spreads)) return {};
    if (inst.Is(Opcode::kParameter) || spreads) continue;
    for (Instruction* operand : inst.operands()) {
      if (SameDims(operand->shape(), from)) add(*operand);
      else if (!operand->shape().IsScalar()) return {};
    }
  }
  for (const Instruction* inst : region) {
    const auto is_within = [&](const Instruction* user) { return seen.contains(user) || user->Is(kView); };
    if (inst->IsRoot() || !std::ranges::all_of(inst->users(), is_within)) return {};
  }
  return region;
}

bool Lift(Computation& computation, Instruction& fusion) {
  Computation& body = *fusion.attrs<FusionAttrs>().calls;
  const std::vector<Instruction*> reshapes = EqualReshapes(body);
  if (reshapes.empty()) return false;
  const std::vector<Instruction*> region = Region(reshapes);
  if (region.empty()) return false;
  const Shape to = reshapes.front()->shape();
  for (Instruction* inst : region) {
    Shape shape = to;
    shape.SetType(inst->shape().type());
    if (inst->Is(Opcode::kParameter)) {
      Instruction& operand = fusion.operand(inst->parameter_number());
      Instruction& bitcast = computation.AddLike(operand, Opcode::kBitcast, shape, {&operand});
      bitcast.SetOrigin(operand.origin());
      fusion.SetOperand(inst->parameter_number(), bitcast);
    }
    inst->SetShape(std::move(shape));
  }
  for (Instruction* reshape : reshapes) {
    reshape->ReplaceAllUses(reshape->operand(0));
    body.Remove(*reshape);
  }
  return true;
}

}  // namespace

Result<bool> LiftBitcasts(Module& module, const PassContext&) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->PostOrder()) {
      if (IsKernel(*inst) && inst->attrs<FusionAttrs>().kind == FusionKind::kInput)
        changed |= Lift(*computation, *inst);
    }
  }
  return changed;
}

}  // namespace hlo
