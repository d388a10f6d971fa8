#include "ir/text/print_order.h"

#include <algorithm>
#include <unordered_map>

namespace hlo {

std::vector<Instruction*> PrintOrder::InstructionsOf(const Computation& computation) {
  state_.resize(computation.module().id_limit(), kNew);
  std::vector<Instruction*> order;
  std::vector<Instruction*> stack;
  const std::vector<Instruction*> all = computation.Instructions();
  for (Instruction* start : all) {
    if (!start->users().empty()) continue;
    stack.push_back(start);
    while (!stack.empty()) {
      Instruction* inst = stack.back();
      if (state_[inst->id()] != kNew) {
        stack.pop_back();
        if (state_[inst->id()] == kOpen) {
          state_[inst->id()] = kDone;
          order.push_back(inst);
        }
        continue;
      }
      state_[inst->id()] = kOpen;
      // Control predecessors are popped first.
      const auto operands = inst->operands();
      for (size_t i = operands.size(); i-- > 0;) {
        if (state_[operands[i]->id()] == kNew) stack.push_back(operands[i]);
      }
      for (Instruction* before : inst->control_predecessors()) {
        if (state_[before->id()] == kNew) stack.push_back(before);
      }
    }
  }
  for (const Instruction* inst : order) state_[inst->id()] = kNew;
  return order;
}

std::vector<Computation*> PrintOrder::ComputationsOf(const Module& module, bool as_listed) {
  const std::vector<Computation*> all = module.Computations();
  std::unordered_map<const Computation*, size_t> position;
  for (size_t i = 0; i < all.size(); ++i) position[all[i]] = i;
  std::vector<std::vector<size_t>> callees(all.size());
  std::vector<bool> called(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    for (const Instruction* inst : all[i]->Instructions()) {
      std::vector<Computation*> of_inst = CalledComputations(*inst);
      if (inst->Is(Opcode::kWhile)) std::reverse(of_inst.begin(), of_inst.end());  // The body precedes the condition.
      for (const Computation* callee : of_inst) callees[i].push_back(position.at(callee));
    }
    for (const size_t callee : callees[i]) called[callee] = true;
  }
  std::vector<Computation*> order;
  std::vector<bool> seen(all.size());
  std::vector<std::pair<size_t, size_t>> stack;  // Computation and its next callee.
  for (size_t start = 0; start < all.size(); ++start) {
    if ((called[start] && !as_listed) || seen[start]) continue;
    seen[start] = true;
    stack.emplace_back(start, 0);
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      if (next == callees[at].size()) {
        order.push_back(all[at]);
        stack.pop_back();
        continue;
      }
      const size_t callee = callees[at][next++];
      if (!seen[callee]) {
        seen[callee] = true;
        stack.emplace_back(callee, 0);
      }
    }
  }
  return order;
}

}  // namespace hlo
