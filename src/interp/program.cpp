#include "interp/program.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "interp/devices/manual_regions.h"
#include "interp/dynamic.h"
#include "ir/markers.h"
#include "ir/module.h"
#include "ir/side_effects.h"

namespace hlo {
namespace {

// Moves instructions that wait for another device as late as possible: that device may wait for a value that this one
// has not sent.
void PutOffReceiving(std::vector<const Instruction*>& order) {
  if (std::ranges::none_of(order, [](const Instruction* inst) { return inst->Is(Opcode::kRecvDone); })) return;
  std::unordered_map<const Instruction*, int> received;  // Number of receives before an instruction can run.
  for (const Instruction* inst : order) {
    int most = 0;
    for (const Instruction* operand : inst->operands()) most = std::max(most, received[operand]);
    for (const Instruction* before : inst->control_predecessors()) most = std::max(most, received[before]);
    received[inst] = most + (inst->Is(Opcode::kRecvDone) ? 1 : 0);
  }
  std::ranges::stable_sort(order, {}, [&](const Instruction* inst) { return received[inst]; });
}

// Instructions that the root needs or that have side effects, operands first. Given values need no operands.
std::vector<const Instruction*> Needed(const Computation& computation, const InterpretOptions& options,
                                       std::set<const Instruction*>& given) {
  const auto order = computation.module().header.is_scheduled ? computation.Instructions() : computation.PostOrder();
  std::unordered_map<const Instruction*, bool> needed;
  needed.reserve(order.size());
  needed[&computation.root()] = true;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Instruction* inst = *it;
    if (!needed[inst] && !HasSideEffect(*inst)) continue;
    needed[inst] = true;
    if (options.given && options.given(*inst) != nullptr) {
      given.insert(inst);
      continue;
    }
    for (const Instruction* operand : inst->operands()) needed[operand] = true;
  }
  std::vector<const Instruction*> result;
  for (const Instruction* inst : order) {
    if (needed[inst]) result.push_back(inst);
  }
  if (!computation.module().header.is_scheduled) PutOffReceiving(result);
  return result;
}

void SetHandler(Step& step) {
  step.handler = HandlerOf(step.inst->opcode());
  step.dynamic = MayBeDynamic(*step.inst);
  if (step.dynamic && step.handler != nullptr) step.handler = &EvalDynamic;
  if (EndsManualRegion(*step.inst) && step.inst->module().header.num_partitions > 1) step.handler = nullptr;
}

// A step may move values at their last use.
void FindLastUses(Program& program) {
  std::vector<int> last_step(program.slots, -1);
  std::vector<bool> only_taken_apart(program.slots, true);
  std::vector<std::set<int64_t>> taken(program.slots);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    for (const Use& use : step.operands) {
      last_step[use.slot] = static_cast<int>(i);
      if (!step.inst->Is(Opcode::kGetTupleElement) || !taken[use.slot].insert(step.inst->tuple_index()).second) {
        only_taken_apart[use.slot] = false;
      }
    }
  }
  last_step[program.root] = -2;
  only_taken_apart[program.root] = false;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    Step& step = program.steps[i];
    step.unused = last_step[step.result] == -1;
    step.take_element =
        step.inst->Is(Opcode::kGetTupleElement) && !step.operands.empty() && only_taken_apart[step.operands[0].slot];
    for (size_t j = step.operands.size(); j-- > 0;) {
      Use& use = step.operands[j];
      if (last_step[use.slot] != static_cast<int>(i)) continue;
      // The last of several occurrences takes the value.
      last_step[use.slot] = -3;
      use.last = true;
      step.dead.push_back(use.slot);
    }
  }
}

}  // namespace

const Program& Programs::ProgramOf(const Computation& computation) {
  std::unique_ptr<Program>& known = programs_[&computation];
  if (known != nullptr) return *known;
  known = std::make_unique<Program>();
  Program& program = *known;
  std::set<const Instruction*> given;
  const auto order = Needed(computation, options_, given);
  std::unordered_map<const Instruction*, int> slots;
  slots.reserve(order.size());
  program.parameters.assign(computation.parameters().size(), -1);
  for (const Instruction* inst : order) {
    const int slot = static_cast<int>(slots.size());
    slots[inst] = slot;
    Step step;
    step.inst = inst;
    SetHandler(step);
    step.result = slot;
    step.given = given.contains(inst);
    if (inst->Is(Opcode::kParameter)) program.parameters[inst->parameter_number()] = slot;
    if (!step.given) {
      for (const Instruction* operand : inst->operands()) step.operands.push_back({slots.at(operand), false});
    }
    program.steps.push_back(std::move(step));
  }
  program.root = slots.at(&computation.root());
  program.dynamic_root = HasDynamicDims(computation.root().shape());
  program.slots = static_cast<int>(slots.size());
  FindLastUses(program);
  return program;
}

Program ProgramOf(const Instruction& inst) {
  Program program;
  Step step;
  step.inst = &inst;
  SetHandler(step);
  for (int64_t i = 0; i < inst.operand_count(); ++i) step.operands.push_back({static_cast<int>(i), true});
  step.result = program.root = static_cast<int>(inst.operand_count());
  program.slots = program.root + 1;
  program.steps.push_back(std::move(step));
  return program;
}

}  // namespace hlo
