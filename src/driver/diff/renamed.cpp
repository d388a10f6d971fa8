#include "driver/diff/renamed.h"

#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace hlo {
namespace {

std::vector<Instruction*> OrderOf(const Computation& computation, const Renaming& renaming) {
  std::vector<Instruction*> order =
      computation.module().header.is_scheduled ? computation.Instructions() : computation.PostOrder();
  if (!renaming.rank || computation.module().header.is_scheduled) return order;
  using Entry = std::tuple<int64_t, size_t, Instruction*>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<size_t> place(computation.place_limit()), waits_for(computation.place_limit());
  std::vector<std::vector<Instruction*>> waiting(computation.place_limit());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]->place()] = i;
  const auto add = [&](Instruction* inst) { ready.emplace(renaming.rank(*inst), place[inst->place()], inst); };
  for (Instruction* inst : order) {
    const auto wait = [&](const Instruction* first) {
      waiting[first->place()].push_back(inst);
      ++waits_for[inst->place()];
    };
    for (const Instruction* operand : inst->operands()) wait(operand);
    for (const Instruction* before : inst->control_predecessors()) wait(before);
    if (waits_for[inst->place()] == 0) add(inst);
  }
  std::vector<Instruction*> ranked;
  while (!ready.empty()) {
    Instruction* const inst = std::get<Instruction*>(ready.top());
    ready.pop();
    ranked.push_back(inst);
    for (Instruction* user : waiting[inst->place()]) {
      if (--waits_for[user->place()] == 0) add(user);
    }
  }
  return ranked;
}

}  // namespace

std::unique_ptr<Module> Renamed(const Module& module, const Renaming& renaming) {
  auto copy = std::make_unique<Module>(module.name());
  copy->header = module.header;
  copy->source = module.source;
  std::vector<Computation*> computations(module.computation_id_limit());
  std::vector<Instruction*> instructions(module.id_limit());
  for (const Computation* from : module.PostOrder()) {
    const std::string wish = renaming.of_computation ? renaming.of_computation(*from) : "";
    Computation& to = copy->AddComputation(wish.empty() ? from->name() : wish);
    computations[from->id()] = &to;
    to.execution_thread = from->execution_thread;
    for (const Instruction* inst : OrderOf(*from, renaming)) {
      Operands operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(instructions[operand->id()]);
      Attributes attrs = inst->attributes();
      ForEachCalled(attrs, [&](Computation*& called) { called = computations[called->id()]; });
      const std::string name = renaming.of_instruction ? renaming.of_instruction(*inst) : "";
      Instruction& clone = to.Add(inst->opcode(), inst->shape(), std::move(operands), std::move(attrs),
                                  name.empty() ? inst->name() : std::string_view(name));
      if (inst->HasCommon()) clone.SetCommon(inst->common());
      for (const Instruction* before : inst->control_predecessors())
        clone.AddControlPredecessor(*instructions[before->id()]);
      instructions[inst->id()] = &clone;
    }
    to.SetRoot(*instructions[from->root().id()]);
  }
  copy->SetEntry(*computations[module.entry().id()]);
  return copy;
}

}  // namespace hlo
