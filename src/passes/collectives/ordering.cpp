// async-collective-creator and collectives-schedule-linearizer: decide when collectives start, and in which order.
#include <algorithm>

#include "ir/control_edges.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Replaces an all-reduce by a start and a done, between which other instructions can be scheduled.
void Split(Instruction& inst, Replacements* ends) {
  Computation& computation = inst.computation();
  Instruction& start = computation.AddLike(inst, Opcode::kAllReduceStart, inst.shape(),
                                           {inst.operands().begin(), inst.operands().end()}, inst.attributes());
  Instruction& done = computation.AddLike(inst, Opcode::kAllReduceDone, inst.shape(), {&start});
  for (Instruction* before : inst.control_predecessors()) start.AddControlPredecessor(*before);
  inst.ClearControlPredecessors();
  inst.ReplaceAllUses(done);
  (*ends)[&inst] = {&done};
}

bool SplitIn(Computation& computation, const PassContext& context) {
  Replacements ends;
  for (Instruction* inst : computation.Instructions()) {
    if (inst->Is(Opcode::kAllReduce) && context.ConsumeFuel()) Split(*inst, &ends);
  }
  if (ends.empty()) return false;
  MoveControlEdges(computation, ends);
  for (Instruction* inst : computation.Instructions()) {
    if (ends.contains(inst)) computation.Remove(*inst);
  }
  return true;
}

// An asynchronous collective exchanges data at its start.
bool IsRendezvous(const Instruction& inst) {
  return inst.Is(kCollective) && !inst.Is(kNoKernel) && !inst.Is(Opcode::kPartitionId) && !inst.Is(Opcode::kReplicaId);
}

// Puts all rendezvous in one order by control edges. `last` has, for each instruction, the number of the last
// rendezvous that it depends on. The edges make it depend on all earlier ones too.
bool LinearizeIn(Computation& computation) {
  const std::vector<Instruction*> order = computation.PostOrder();
  std::vector<int64_t> last(computation.place_limit(), -1);
  std::vector<Instruction*> ordered;
  bool changed = false;
  for (Instruction* inst : order) {
    int64_t& waits_for = last[inst->place()];
    for (const Instruction* operand : inst->operands()) waits_for = std::max(waits_for, last[operand->place()]);
    for (const Instruction* before : inst->control_predecessors())
      waits_for = std::max(waits_for, last[before->place()]);
    if (!IsRendezvous(*inst)) continue;
    if (waits_for + 1 < std::ssize(ordered)) {
      inst->AddControlPredecessor(*ordered.back());
      changed = true;
    }
    waits_for = std::ssize(ordered);
    ordered.push_back(inst);
  }
  return changed;
}

}  // namespace

Result<bool> CreateAsyncCollectives(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) changed |= SplitIn(*computation, context);
  return changed;
}

Result<bool> LinearizeCollectives(Module& module, const PassContext&) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) changed |= LinearizeIn(*computation);
  return changed;
}

}  // namespace hlo
