#include "interp/compare/limits.h"

#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "interp/shadow/slice.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Of an instruction and all that it is computed from in its computation.
int64_t StepsUpTo(const Instruction& root) {
  int64_t steps = 0;
  std::vector<const Instruction*> pending{&root};
  std::unordered_set<const Instruction*> seen{&root};
  while (!pending.empty()) {
    const Instruction& inst = *pending.back();
    pending.pop_back();
    steps += shadow::StepsOf(inst, inst.shape().IsArray() ? inst.shape().NumElements() : 0);
    for (const Instruction* operand : inst.operands()) {
      if (seen.insert(operand).second) pending.push_back(operand);
    }
  }
  return steps;
}

}  // namespace

bool IsOneOfSeveral(const Instruction& inst) {
  return inst.Is(Opcode::kGetTupleElement) && inst.operand(0).Is(Opcode::kFusion);
}

const Instruction* InsideKernel(const Instruction& one_of_several) {
  const Instruction& root = one_of_several.operand(0).attrs<FusionAttrs>().calls->root();
  return root.Is(Opcode::kTuple) ? &root.operand(one_of_several.tuple_index()) : nullptr;
}

int64_t StepsOfComparing(const Instruction& inst) {
  if (inst.Is(Opcode::kFusion) && inst.shape().IsTuple()) return 0;
  if (inst.Is(Opcode::kFusion)) return 2 * shadow::StepsOf(*inst.attrs<FusionAttrs>().calls);
  const Instruction* inside = IsOneOfSeveral(inst) ? InsideKernel(inst) : nullptr;
  if (inside != nullptr) return 2 * StepsUpTo(*inside);
  return 2 * shadow::StepsOf(inst, inst.shape().IsArray() ? inst.shape().NumElements() : 0);
}

int64_t LimitOfComparing(const Module& optimized, int64_t work_limit, int64_t loop_iterations) {
  if (work_limit == 0) return std::numeric_limits<int64_t>::max();
  std::unordered_map<const Computation*, const Instruction*> callers;
  for (const Computation* computation : optimized.PostOrder()) {
    for (const Instruction* inst : computation->Instructions()) {
      for (const Computation* callee : CalledComputations(*inst)) callers[callee] = inst;
    }
  }
  std::vector<shadow::Work> work;
  for (const Computation* computation : optimized.PostOrder()) {
    const auto it = callers.find(computation);
    if (it != callers.end() && it->second->Is(Opcode::kFusion)) continue;
    const bool again = it != callers.end() && it->second->Is(Opcode::kWhile);
    for (const Instruction* inst : computation->Instructions())
      work.push_back({StepsOfComparing(*inst), again ? loop_iterations + 2 : 1});
  }
  return shadow::LimitOfEach(std::move(work), work_limit);
}

}  // namespace hlo
