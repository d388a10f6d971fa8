// Pairs optimized instructions with instructions of the input, in the order of comparison. Internal to judge/compare.
#ifndef HLO_JUDGE_COMPARE_CORRESPONDENCE_H_
#define HLO_JUDGE_COMPARE_CORRESPONDENCE_H_

#include <unordered_map>
#include <vector>

#include "ir/module.h"
#include "judge/compare/callers.h"

namespace hlo {

bool IsOneOfSeveral(const Instruction& inst);
// The fused instruction that computes this result of a fusion. Null if the fused root is not a tuple.
const Instruction* InsideKernel(const Instruction& one_of_several);

// Values that can be dropped after each position of the optimized computation: optimized ones, the input's, and
// arguments of the input's computations. A compared instruction reads its operands at its position. Other instructions
// read theirs whenever a user is evaluated.
//
// The input's value is dropped with the optimized one. Later users compute it again, with bounds, unless it is in
// PairOfComputations::given_for_good.
struct Lifetimes {
  explicit Lifetimes(size_t positions) : after(positions), before(positions), callees(positions) {}
  std::vector<std::vector<const Instruction*>> after, before;
  std::vector<std::vector<const Computation*>> callees;
};

class Correspondence {
 public:
  explicit Correspondence(const Module& input);

  // The instruction of the input that `inst` copies or replaced, or null.
  const Instruction* OriginOf(const Instruction& inst) const;
  // Like OriginOf, but null unless each run of `before` runs the origin once.
  const Instruction* OriginIn(const Instruction& inst, const Computation& before) const;
  bool RunsOnceIn(const Computation& computation, const Computation& before) const {
    return callers_.RunsOnceIn(computation, before);
  }
  // The instruction of the input whose value `inst` should have, or null. Parameters are compared only as root.
  const Instruction* ComparedWith(const Instruction& inst, const Computation& before) const;
  struct Elements {
    const Instruction *before, *after;
  };
  std::vector<Elements> ElementsToCompare(const Instruction& origin, const Instruction& inst) const;

  // A post-order of `after`, in the order of the input where possible, so that a value is compared after the values
  // from which the input computes it.
  std::vector<Instruction*> OrderOf(const Computation& before, const Computation& after) const;
  Lifetimes LifetimesOf(const Computation& before, const Computation& after,
                        const std::vector<Instruction*>& order) const;

  const Instruction& CallerOf(const Computation& computation) const { return callers_.Of(computation); }

 private:
  std::unordered_map<int, const Instruction*> by_id_;
  Callers callers_;
};

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_CORRESPONDENCE_H_
