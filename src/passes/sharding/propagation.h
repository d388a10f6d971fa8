// Decides the split of every value from the splits that a module states.
//
// Each op has a factor rule (ir/factors). Along each factor, all arrays of the op get the atoms of the array with the
// most parts. Splits only grow, so the propagation ends. Source: the design of Shardy's propagation, with the
// priorities that the text states, op priorities, and a basic and an aggressive strategy for conflicts.
#ifndef HLO_PASSES_SHARDING_PROPAGATION_H_
#define HLO_PASSES_SHARDING_PROPAGATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/mesh/axes.h"
#include "ir/mesh/unpartitioned.h"
#include "ir/module.h"
#include "passes/sharding/factor_atoms.h"
#include "passes/sharding/region_border.h"
#include "passes/sharding/value_classes.h"

namespace hlo {

class Propagation {
 public:
  // Each computation must have one caller (flatten-call-graph).
  explicit Propagation(const Module& module);

  // `fuel` limits the steps that change a split. Null for no limit.
  void Run(int64_t* fuel);

  const Axes& axes() const { return axes_; }
  const ArraySplit& SplitOf(const Instruction& inst, int64_t leaf) const {
    return states_[classes_.Of(inst, leaf)].split;
  }
  // Sentences on ignored shardings. Misfits do not fit the mesh. Conflicts contradict another statement about the same
  // value.
  const std::vector<std::string>& misfits() const { return misfits_; }
  const std::vector<std::string>& conflicts() const { return conflicts_; }

 private:
  // The split of all leaves in a class.
  struct State {
    ArraySplit split;
    bool is_array = false;
    const Instruction* stated_by = nullptr;  // Null if no text states the split.
    std::vector<bool> open;                  // Indexed by dimension: whether atoms may be added.
    std::vector<int64_t> priorities;         // By dimension. Empty if all are 0.
    AxisSet replicated;                      // Atoms that may not be added.
    int64_t changed = 0;                     // The step that changed it last.
  };
  // A leaf of an op's operand or result.
  struct Tensor {
    int state;
    const Shape* shape;
    const LeafFactors* factors;
  };
  struct Op {
    const Instruction* inst;
    FactorRule rule;
    std::vector<Tensor> tensors;
    int level = 0;
    int64_t seen[2] = {-1, -1};  // By strategy (basic, aggressive): the step that last compared the tensors.
  };
  // A value that enters or leaves a manual region.
  struct Border {
    int outside, inside;
    const Shape* part;  // The shape inside.
    AxisSet manual;
    BorderValue value;
  };
  using Atoms = std::vector<uint8_t>;

  void ReadStated();
  void ReadStatedOf(const Instruction& inst);
  // By leaf: whether the header lets propagation choose the split. For parameters and the root of the entry.
  std::vector<bool> AllowedLeaves(const Instruction& inst) const;
  std::string ConflictText(const Instruction& ignored, const ArraySplit& its_split, const Instruction& used,
                           const ArraySplit& split) const;
  void CloseBorders();
  void AddOp(const Instruction& inst);
  void AddBorder(const Instruction& inst);
  void RunRound(int64_t* fuel);
  bool Sweep(int level, bool aggressive, bool backward, int64_t* fuel);
  bool Step(Op& op, bool aggressive);
  bool SpreadManual(const Op& op);
  bool StepBorder(const Border& border);
  // Appends the atoms of `wanted` that are behind the dimension's own.
  bool Append(State& state, int64_t dim, std::span<const uint8_t> wanted, int64_t size);
  AtomsByFactor WantedByFactor(const Op& op, const std::vector<AtomsByFactor>& own, bool aggressive) const;
  // Whether the dimension takes part in the round. Others keep their atoms, which no op sees.
  bool IsInRound(const State& state, int64_t dim) const {
    return state.priorities.empty() || state.priorities[dim] <= round_;
  }
  AtomsByFactor AtomsInRound(const Op& op, const Tensor& tensor) const;
  bool Extend(const Op& op, const Tensor& tensor, const AtomsByFactor& own, const AtomsByFactor& wanted);

  const Module& module_;
  Axes axes_;
  ValueClasses classes_;
  std::vector<State> states_;
  std::vector<Op> ops_;  // Operands before users.
  std::vector<Border> borders_;
  int64_t step_ = 0;
  int64_t round_ = 0;  // Dimensions of this priority and of lower numbers take part.
  std::vector<std::string> misfits_, conflicts_;
};

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_PROPAGATION_H_
