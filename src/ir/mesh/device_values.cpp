#include "ir/mesh/device_values.h"

#include <map>
#include <set>
#include <utility>

#include "ir/instruction.h"
#include "ir/markers.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr int64_t kAll = -1;

class Search {
 public:
  explicit Search(const Module& module) : ids_(module.id_limit(), nullptr) {
    for (const Computation* computation : module.Computations()) {
      for (const Instruction* inst : computation->instructions()) {
        if (inst->Is(Opcode::kPartitionId)) Reach(*inst, kAll, *inst);
      }
    }
    if (left_.empty()) return;
    for (const Computation* computation : module.Computations()) {
      for (const Instruction* inst : computation->instructions()) {
        for (const Computation* called : CalledComputations(*inst)) callers_[called].insert(inst);
      }
    }
    while (!left_.empty()) {
      const auto [inst, element] = left_.back();
      left_.pop_back();
      const Instruction& id = *ids_[inst->id()];
      for (const Instruction* user : inst->users()) ReachUser(*user, *inst, element, id);
      if (!inst->IsRoot()) continue;
      for (const Instruction* caller : callers_[&inst->computation()]) ReachCaller(*caller, *inst, element, id);
    }
  }

  std::vector<const Instruction*> TakeIds() && { return std::move(ids_); }

 private:
  // `element` is a tuple index or kAll.
  void Reach(const Instruction& inst, int64_t element, const Instruction& id) {
    if (inst.Is(kCollective) || MarkerOf(inst) == Marker::kWhole || reached_.contains({&inst, kAll})) return;
    if (!reached_.insert({&inst, element}).second) return;
    if (ids_[inst.id()] == nullptr) ids_[inst.id()] = &id;
    left_.emplace_back(&inst, element);
  }

  void ReachUser(const Instruction& user, const Instruction& inst, int64_t element, const Instruction& id) {
    const std::vector<Computation*> called = CalledComputations(user);
    for (int64_t i = 0; i < user.operand_count(); ++i) {
      if (&user.operand(i) != &inst) continue;
      switch (user.opcode()) {
        case Opcode::kTuple: Reach(user, i, id); break;
        case Opcode::kGetTupleElement:
          if (element == kAll || element == user.tuple_index()) Reach(user, kAll, id);
          break;
        case Opcode::kOptimizationBarrier: Reach(user, element, id); break;
        case Opcode::kWhile:
          Reach(user, element, id);
          for (const Computation* computation : called) Reach(computation->parameter(0), element, id);
          break;
        case Opcode::kConditional:
          if (i == 0) Reach(user, kAll, id);
          else Reach(called[i - 1]->parameter(0), element, id);
          break;
        case Opcode::kCall:
        case Opcode::kFusion: Reach(called[0]->parameter(i), element, id); break;
        default: Reach(user, kAll, id);
      }
    }
  }

  void ReachCaller(const Instruction& caller, const Instruction& root, int64_t element, const Instruction& id) {
    const WhileAttrs* const loop = caller.attributes().GetIf<WhileAttrs>();
    // The condition determines the number of trips, and so all of the state.
    if (loop != nullptr && &root.computation() == loop->condition) element = kAll;
    Reach(caller, element, id);
    if (loop == nullptr) return;
    for (const Computation* computation : {loop->condition, loop->body}) Reach(computation->parameter(0), element, id);
  }

  std::vector<const Instruction*> ids_;  // By instruction.
  std::set<std::pair<const Instruction*, int64_t>> reached_;
  std::vector<std::pair<const Instruction*, int64_t>> left_;
  std::map<const Computation*, std::set<const Instruction*>> callers_;
};

}  // namespace

std::vector<const Instruction*> PartitionIdsOf(const Module& module) { return Search(module).TakeIds(); }

}  // namespace hlo
