#include "passes/control/call_sites.h"

#include "ir/module.h"

namespace hlo {

CallSites::CallSites(const Module& module) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) Add(*inst);
  }
}

int CallSites::Count(const Computation& computation) const {
  const auto found = counts_.find(&computation);
  return found == counts_.end() ? 0 : found->second;
}

void CallSites::Add(const Instruction& inst) {
  for (const Computation* called : CalledComputations(inst)) ++counts_[called];
}

Computation& CallSites::Own(Computation*& slot) {
  if (Count(*slot) <= 1) return *slot;
  --counts_[slot];
  slot = &slot->module().CloneComputation(*slot, slot->name());
  ++counts_[slot];
  for (Instruction* inst : slot->instructions()) AddCopy(*inst);
  return *slot;
}

// Each fusion needs its own computation.
void CallSites::AddCopy(Instruction& copy) {
  copy.SetOrigin(-1);
  Add(copy);
  if (copy.Is(Opcode::kFusion)) Own(copy.mutable_attrs<FusionAttrs>().calls);
}

Instruction& CallSites::Inline(Computation& caller, const Computation& callee, std::span<Instruction* const> arguments,
                               std::vector<Instruction*>* control) {
  std::vector<Instruction*> copies(callee.place_limit());
  for (const Instruction* inst : callee.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      copies[inst->place()] = arguments[inst->parameter_number()];
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(copies[operand->place()]);
    if (inst->Is(Opcode::kGetTupleElement) && operands[0]->Is(Opcode::kTuple) && inst->control_predecessors().empty()) {
      copies[inst->place()] = &operands[0]->operand(inst->tuple_index());
      continue;
    }
    Instruction& copy = caller.AddClone(*inst, operands);
    for (const Instruction* before : inst->control_predecessors()) copy.AddControlPredecessor(*copies[before->place()]);
    AddCopy(copy);
    if (control != nullptr && copy.Is(kControl)) control->push_back(&copy);
    copies[inst->place()] = &copy;
  }
  return *copies[callee.root().place()];
}

bool HasControlEdges(const Computation& computation) {
  for (const Instruction* inst : computation.instructions()) {
    if (!inst->control_predecessors().empty()) return true;
  }
  return false;
}

Instruction& ElementOf(Instruction& whole, int64_t i) {
  return whole.Is(Opcode::kTuple) ? whole.operand(i) : whole.computation().AddGetTupleElement(whole, i);
}

}  // namespace hlo
