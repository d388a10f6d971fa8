#include "ir/region.h"

#include "ir/attrs.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Values of the region's instructions outside of it, by place there; `order` is added to.
void Inline(Instruction& region, std::vector<Instruction*>* order) {
  Computation& computation = region.computation();
  Computation& held = *region.attrs<FusionAttrs>().calls;
  std::vector<Instruction*> copies(held.place_limit());
  for (Instruction* inst : held.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      copies[inst->place()] = &region.operand(inst->parameter_number());
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(copies[operand->place()]);
    Instruction& copy = AddInPlaceOf(computation, *inst, operands);
    for (const Instruction* before : inst->control_predecessors()) copy.AddControlPredecessor(*copies[before->place()]);
    copies[inst->place()] = &copy;
    order->push_back(&copy);
  }
  // Who takes results one by one takes the values themselves; the tuple goes, unless someone has it whole.
  Instruction& result = *copies[held.root().place()];
  if (held.root().Is(Opcode::kTuple)) {
    const std::vector<Instruction*> users(region.users().begin(), region.users().end());
    for (Instruction* user : users) {
      if (!user->Is(Opcode::kGetTupleElement)) continue;
      user->ReplaceAllUses(result.operand(user->tuple_index()));
      computation.Remove(*user);
    }
  }
  region.ReplaceAllUses(result);
  computation.Remove(region);
  if (!result.Is(Opcode::kTuple) || result.IsRoot() || result.UseCount() > 0) return;
  order->pop_back();
  computation.Remove(result);
}

using Stays = std::function<bool(const Instruction&)>;

bool TakeApart(Computation& computation, const Stays& stays) {
  const std::vector<Instruction*> before = computation.Instructions();
  std::vector<Instruction*> order;
  bool changed = false;
  for (Instruction* inst : before) {
    if (inst->removed()) continue;
    if (!IsRegion(*inst) || (stays && stays(*inst))) {
      order.push_back(inst);
      continue;
    }
    Inline(*inst, &order);
    changed = true;
  }
  if (!changed) return false;
  std::erase_if(order, [](const Instruction* inst) { return inst->removed(); });
  if (computation.module().header.is_scheduled) computation.SetOrder(order);
  return true;
}

}  // namespace

std::string RegionOf(const Instruction& inst) {
  if (!IsFusion(inst) || inst.attrs<FusionAttrs>().kind != FusionKind::kCustom) return "";
  return ConfigValue(inst, "region").value_or("");
}

std::vector<Computation*> ComputationsOfKernels(const Module& module) {
  std::vector<Computation*> found = {&module.entry()};
  std::vector<bool> seen(module.computation_id_limit());
  seen[module.entry().id()] = true;
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Instruction* inst : found[i]->instructions()) {
      if (!inst->Is(kControl) && !IsRegion(*inst)) continue;
      for (Computation* called : CalledComputations(*inst)) {
        if (!seen[called->id()]) found.push_back(called);
        seen[called->id()] = true;
      }
    }
  }
  std::vector<Computation*> order;
  for (Computation* computation : module.PostOrder()) {
    if (seen[computation->id()]) order.push_back(computation);
  }
  return order;
}

Instruction& AddInPlaceOf(Computation& computation, const Instruction& inst, std::span<Instruction* const> operands) {
  Operands of_copy;
  for (Instruction* operand : operands) of_copy.push_back(operand);
  Instruction& copy = computation.AddNamed(inst.opcode(), Shape(inst.shape()), std::move(of_copy),
                                           Attributes(inst.attributes()), inst.name());
  copy.SetRange(inst.range());
  copy.SetOrigin(inst.origin());
  if (inst.HasCommon()) copy.SetCommon(inst.common());
  return copy;
}

bool TakeRegionsApart(Module& module, const Stays& stays) {
  bool changed = false;
  // A region in a region is one of the computation that it has come to.
  for (bool again = true; again;) {
    again = false;
    for (Computation* computation : ComputationsOfKernels(module)) again |= TakeApart(*computation, stays);
    changed |= again;
  }
  if (changed) module.RemoveUnreachable();
  return changed;
}

}  // namespace hlo
