#include "tests/mutants/survivors.h"

#include <algorithm>

#include "ir/module.h"
#include "ir/side_effects.h"

namespace hlo {
namespace {

constexpr std::string_view kReasons[] = {"dead",    "never run",        "constant",     "uniform", "without elements",
                                         "not run", "in a scalar body", "the same bits"};

std::vector<const Instruction*> ById(const Module& module) {
  std::vector<const Instruction*> by_id(module.id_limit());
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) by_id[inst->id()] = inst;
  }
  return by_id;
}

bool Steps(const Instruction& inst) {
  return inst.Is(Opcode::kCall) || inst.Is(Opcode::kFusion) || inst.Is(Opcode::kWhile) ||
         inst.Is(Opcode::kConditional) || inst.Is(Opcode::kAsyncStart);
}

bool HasDependentOperand(const Instruction& inst, const Dependence& dependence) {
  return dependence.OfAny(inst) ||
         (!inst.Is(Opcode::kGetTupleElement) &&
          std::ranges::any_of(inst.operands(), [&](const Instruction* x) { return dependence.OfAny(*x); }));
}

}  // namespace

std::string_view ToString(Survival why) { return kReasons[static_cast<int>(why)]; }

Survivors::Survivors(const Module& module, const Reach& reach)
    : reach_(reach), bounds_(module), by_id_(ById(module)), live_(module.id_limit()), stepped_(module.id_limit()) {
  std::vector<std::pair<const Computation*, bool>> pending{{&module.entry(), true}};
  while (!pending.empty()) {
    const auto [computation, steps] = pending.back();
    pending.pop_back();
    const std::vector<Instruction*> order = computation->PostOrder();
    std::vector<bool> live(computation->place_limit());
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      const Instruction& inst = **at;
      if (!live[inst.place()] && !inst.IsRoot() && !HasSideEffect(inst)) continue;
      live[inst.place()] = live_[inst.id()] = true;
      if (steps) stepped_[inst.id()] = true;
      for (const Instruction* operand : inst.operands()) live[operand->place()] = true;
      for (const Computation* called : CalledComputations(inst)) {
        const int root = called->root().id();
        const bool is_known = live_[root] && (stepped_[root] || !(steps && Steps(inst)));
        if (!is_known) pending.emplace_back(called, steps && Steps(inst));
      }
    }
  }
}

Survival Survivors::WhyOf(int id, const Module& wrong) const {
  const Instruction& inst = *by_id_[id];
  if (!live_[id]) return Survival::kDead;
  if (!stepped_[id]) return Survival::kInBody;
  const auto parameters = inst.computation().parameters();
  const bool never = !inst.computation().IsEntry() && !parameters.empty() && bounds_.IsNeverGiven(*parameters[0]);
  if (never) return Survival::kNeverRun;
  const std::vector<const Instruction*> wrong_by_id = ById(wrong);
  const Dependence of_wrong(wrong);
  const bool ran = reach_.HasRun(inst);
  if (ran && !HasDependentOperand(inst, reach_.dependence()) && !HasDependentOperand(*wrong_by_id[id], of_wrong))
    return Survival::kConstant;
  if (inst.shape().IsArray() && inst.shape().NumElements() == 0) return Survival::kEmpty;
  const bool moves = inst.Is(Opcode::kSlice) || inst.Is(Opcode::kReverse) || inst.Is(Opcode::kTranspose) ||
                     inst.Is(Opcode::kBroadcast) || inst.Is(Opcode::kDynamicSlice) || inst.Is(Opcode::kGather);
  if (moves && IsUniform(inst.operand(0))) return Survival::kUniform;
  return ran ? Survival::kSameBits : Survival::kNotRun;
}

bool Survivors::IsUniform(const Instruction& inst, int depth) const {
  if (!inst.shape().IsArray() || depth > 100) return false;
  if (inst.shape().NumElements() <= 1) return true;
  const auto operand = [&](int64_t i) { return IsUniform(inst.operand(i), depth + 1); };
  switch (inst.opcode()) {
    case Opcode::kConstant: return inst.literal().IsSplat();
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kGather:
    case Opcode::kDynamicSlice:
    case Opcode::kMap:
    case Opcode::kReduce: return operand(0);
    default: break;
  }
  if (!inst.Is(kElementwise)) return false;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (!operand(i)) return false;
  }
  return inst.operand_count() > 0;
}

}  // namespace hlo
