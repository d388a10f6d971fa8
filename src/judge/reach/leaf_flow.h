// Facts about the leaves of all values of a module.
#ifndef HLO_JUDGE_REACH_LEAF_FLOW_H_
#define HLO_JUDGE_REACH_LEAF_FLOW_H_

#include <algorithm>
#include <vector>

#include "ir/module.h"

namespace hlo {

// Indexed by id and leaf.
template <class Fact>
std::vector<std::vector<Fact>> LeavesOf(const Module& module) {
  std::vector<std::vector<Fact>> leaves(module.id_limit());
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions())
      leaves[inst->id()].resize(static_cast<size_t>(std::max<int64_t>(1, inst->shape().LeafCount())));
  }
  return leaves;
}

// Calls copy(from, to, first leaf of from, first leaf of to) if the leaves of `inst` are leaves of operands or of a
// called computation. Otherwise returns false.
template <class Copy>
bool CopiesLeaves(const Instruction& inst, const Copy& copy) {
  switch (inst.opcode()) {
    case Opcode::kTuple: {
      size_t leaf = 0;
      for (const Instruction* operand : inst.operands()) {
        copy(*operand, inst, size_t{0}, leaf);
        leaf += static_cast<size_t>(operand->shape().LeafCount());
      }
      return true;
    }
    case Opcode::kGetTupleElement:
      copy(inst.operand(0), inst, static_cast<size_t>(inst.operand(0).shape().FirstLeaf(inst.tuple_index())),
           size_t{0});
      return true;
    case Opcode::kOptimizationBarrier:
    case Opcode::kCopy: copy(inst.operand(0), inst, size_t{0}, size_t{0}); return true;
    case Opcode::kCall:
    case Opcode::kFusion: {
      const Computation& called = *CalledComputations(inst)[0];
      for (int64_t i = 0; i < std::min<int64_t>(inst.operand_count(), std::ssize(called.parameters())); ++i)
        copy(inst.operand(i), called.parameter(i), size_t{0}, size_t{0});
      copy(called.root(), inst, size_t{0}, size_t{0});
      return true;
    }
    default: return false;
  }
}

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_LEAF_FLOW_H_
