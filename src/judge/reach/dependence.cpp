#include "judge/reach/dependence.h"

#include <algorithm>
#include <unordered_map>

#include "ir/module.h"
#include "ir/side_effects.h"
#include "judge/reach/leaf_flow.h"

namespace hlo {
namespace {

using Leaves = std::vector<bool>;

class Marker {
 public:
  explicit Marker(const Module& module) : module_(module), leaves_(LeavesOf<bool>(module)) {}

  std::vector<Leaves> Run() {
    for (const Instruction* parameter : module_.entry().parameters()) MarkAll(*parameter);
    do {
      changed_ = false;
      std::vector<Computation*> order = module_.PostOrder();
      for (auto computation = order.rbegin(); computation != order.rend(); ++computation) {
        for (const Instruction* inst : (*computation)->PostOrder()) Mark(*inst);
      }
    } while (changed_);
    return std::move(leaves_);
  }

 private:
  bool IsMarked(const Instruction& inst) const {
    return std::ranges::any_of(leaves_[inst.id()], [](bool leaf) { return leaf; });
  }

  void MarkAll(const Instruction& inst) {
    for (size_t leaf = 0; leaf < leaves_[inst.id()].size(); ++leaf) MarkLeaf(inst, leaf);
  }
  void MarkLeaf(const Instruction& inst, size_t leaf) {
    Leaves& leaves = leaves_[inst.id()];
    if (leaf >= leaves.size() || leaves[leaf]) return;
    leaves[leaf] = changed_ = true;
  }
  void Copy(const Instruction& from, const Instruction& to, size_t first_from = 0, size_t first_to = 0) {
    const Leaves& source = leaves_[from.id()];
    const size_t count = std::min(source.size() - first_from, leaves_[to.id()].size() - first_to);
    for (size_t i = 0; i < count; ++i) {
      if (source[first_from + i]) MarkLeaf(to, first_to + i);
    }
  }

  void Mark(const Instruction& inst) {
    if (CopiesLeaves(inst, [&](auto&&... args) { Copy(args...); })) return;
    switch (inst.opcode()) {
      case Opcode::kParameter:
      case Opcode::kConstant:
      case Opcode::kIota: return;
      case Opcode::kConditional: {
        const auto branches = inst.attrs<ConditionalAttrs>().branches();
        for (size_t i = 0; i < branches.size(); ++i) {
          Copy(inst.operand(static_cast<int64_t>(i) + 1), branches[i]->parameter(0));
          Copy(branches[i]->root(), inst);
        }
        if (IsMarked(inst.operand(0))) MarkAll(inst);
        return;
      }
      case Opcode::kWhile: return MarkLoop(inst);
      default: break;
    }
    const bool marked = std::ranges::any_of(inst.operands(), [&](const Instruction* x) { return IsMarked(*x); });
    const bool differs = inst.Is(Opcode::kInfeed) || inst.Is(Opcode::kRecv) || inst.Is(Opcode::kRng) ||
                         inst.Is(Opcode::kRngGetAndUpdateState) || inst.Is(Opcode::kCustomCall) ||
                         inst.Is(Opcode::kPartitionId) || inst.Is(Opcode::kReplicaId) || inst.Is(kCollective) ||
                         inst.Is(Opcode::kElidedConstant) || HasSideEffect(inst);
    if (!marked && !differs) return;
    MarkAll(inst);
    for (const Computation* called : CalledComputations(inst)) {
      for (const Instruction* parameter : called->parameters()) MarkAll(*parameter);
    }
  }

  // If the number of trips depends on arguments, the leaves that the body changes depend on them, too.
  void MarkLoop(const Instruction& loop) {
    const WhileAttrs& attrs = loop.attrs<WhileAttrs>();
    const Instruction &state = attrs.body->parameter(0), &root = attrs.body->root();
    Copy(loop.operand(0), loop);
    Copy(root, loop);
    if (IsMarked(attrs.condition->root())) {
      for (size_t leaf = 0; leaf < leaves_[loop.id()].size(); ++leaf) {
        if (!HandsOn(root, state, leaf)) MarkLeaf(loop, leaf);
      }
    }
    Copy(loop, state);
    Copy(loop, attrs.condition->parameter(0));
  }

  static bool HandsOn(const Instruction& root, const Instruction& state, size_t leaf) {
    if (!root.Is(Opcode::kTuple)) return false;
    size_t first = 0;
    for (int64_t i = 0; i < root.operand_count(); ++i) {
      const Instruction& element = root.operand(i);
      const auto count = static_cast<size_t>(element.shape().LeafCount());
      if (leaf < first + count) {
        return element.Is(Opcode::kGetTupleElement) && &element.operand(0) == &state && element.tuple_index() == i;
      }
      first += count;
    }
    return false;
  }

  const Module& module_;
  std::vector<Leaves> leaves_;
  bool changed_ = false;
};

}  // namespace

Dependence::Dependence(const Module& module) : leaves_(Marker(module).Run()) {}

bool Dependence::OfLeaf(const Instruction& inst, int64_t leaf) const {
  const Leaves& leaves = leaves_[inst.id()];
  return leaf < std::ssize(leaves) && leaves[leaf];
}

bool Dependence::OfAny(const Instruction& inst) const {
  return std::ranges::any_of(leaves_[inst.id()], [](bool leaf) { return leaf; });
}

}  // namespace hlo
