// async-collective-creator and collectives-schedule-linearizer: decide when collectives start, and in which order.
#include <algorithm>
#include <optional>
#include <tuple>

#include "ir/control_edges.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// nullopt if HLO has no opcodes for an asynchronous start and done.
std::optional<std::pair<Opcode, Opcode>> OwnStartAndDone(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather: return std::pair(Opcode::kAllGatherStart, Opcode::kAllGatherDone);
    case Opcode::kAllReduce: return std::pair(Opcode::kAllReduceStart, Opcode::kAllReduceDone);
    case Opcode::kCollectivePermute: return std::pair(Opcode::kCollectivePermuteStart, Opcode::kCollectivePermuteDone);
    default: return std::nullopt;
  }
}

bool IsSplit(const Instruction& inst, const AsyncOptions& options) {
  switch (inst.opcode()) {
    case Opcode::kAllReduce: return true;
    case Opcode::kAllGather:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter: return !options.only_all_reduce;
    default: return false;
  }
}

// The start and the done of an async-start whose computation is the collective alone.
std::pair<Instruction*, Instruction*> Wrap(Instruction& inst, const std::vector<Instruction*>& operands,
                                           const Shape& bound) {
  Computation& wrapped = inst.module().AddComputation("async_computation");
  std::vector<Instruction*> parameters;
  for (const Shape& shape : bound.elements())
    parameters.push_back(&wrapped.AddParameter(std::ssize(parameters), shape, "param"));
  wrapped.SetRoot(wrapped.AddClone(inst, parameters));
  Computation& computation = inst.computation();
  AsyncAttrs attrs;
  attrs.calls = &wrapped;
  Instruction& start =
      computation.AddLike(inst, Opcode::kAsyncStart, Shape::Tuple({bound, inst.shape()}), operands, attrs);
  return {&start, &computation.AddLike(inst, Opcode::kAsyncDone, inst.shape(), {&start}, AsyncAttrs())};
}

void Split(Instruction& inst, Replacements* ends) {
  Computation& computation = inst.computation();
  const std::vector<Instruction*> operands(inst.operands().begin(), inst.operands().end());
  std::vector<Shape> shapes;
  for (const Instruction* operand : operands) shapes.push_back(operand->shape());
  const Shape bound = Shape::Tuple(std::move(shapes));
  Instruction *start, *done;
  if (const auto own = OwnStartAndDone(inst.opcode())) {
    const Shape& given = operands.size() == 1 ? bound.element(0) : bound;
    const bool is_reduce = own->first == Opcode::kAllReduceStart;
    start = &computation.AddLike(inst, own->first, is_reduce ? inst.shape() : Shape::Tuple({given, inst.shape()}),
                                 operands, inst.attributes());
    done = &computation.AddLike(inst, own->second, inst.shape(), {start});
  } else {
    std::tie(start, done) = Wrap(inst, operands, bound);
  }
  for (Instruction* before : inst.control_predecessors()) start->AddControlPredecessor(*before);
  inst.ClearControlPredecessors();
  inst.ReplaceAllUses(*done);
  (*ends)[&inst] = {done};
}

bool SplitIn(Computation& computation, const PassContext& context) {
  Replacements ends;
  for (Instruction* inst : computation.Instructions()) {
    if (IsSplit(*inst, context.Get<AsyncOptions>()) && context.ConsumeFuel()) Split(*inst, &ends);
  }
  if (ends.empty()) return false;
  MoveControlEdges(computation, ends);
  for (Instruction* inst : computation.Instructions()) {
    if (ends.contains(inst)) computation.Remove(*inst);
  }
  return true;
}

// Whether devices exchange data here: for asynchronous collectives at the start.
bool IsRendezvous(const Instruction& inst) {
  if (inst.Is(Opcode::kAsyncStart)) {
    const std::vector<Instruction*> run = inst.attrs<AsyncAttrs>().calls->Instructions();
    return std::ranges::any_of(run, [](const Instruction* inner) { return IsRendezvous(*inner); });
  }
  return inst.Is(kCollective) && !inst.Is(kNoKernel) && !inst.Is(Opcode::kPartitionId) && !inst.Is(Opcode::kReplicaId);
}

// Puts all rendezvous in one order by control edges. last[place] is the number of the last rendezvous on which the
// instruction depends. Control edges make it depend on all earlier ones, too.
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
