// Pairs instructions of an optimized module with instructions of its input, in the order of comparison, with the
// lifetimes of their values. Internal to interp/compare.
#ifndef HLO_INTERP_COMPARE_CORRESPONDENCE_H_
#define HLO_INTERP_COMPARE_CORRESPONDENCE_H_

#include <unordered_map>
#include <vector>

#include "interp/compare/callers.h"
#include "ir/module.h"

namespace hlo {

// Whether the instruction is one result of a kernel with several results.
bool IsOneOfSeveral(const Instruction& inst);
// The instruction inside the kernel that computes the result. Null if one instruction computes all results.
const Instruction* InsideKernel(const Instruction& one_of_several);

// For each position in the order of the optimized computation, the values that are not read after it. A compared
// instruction reads its operands at its position, on both sides, and its users read its kept value. The operands of
// other instructions are read whenever a user is evaluated.
//
// A value of the input is removed after it was compared. Users in the input compute it again, with bounds, since the
// other side may not have this value any more. Values that cannot be computed again are kept until their last user, in
// this or another computation.
struct Lifetimes {
  explicit Lifetimes(size_t positions) : after(positions), before(positions), callees(positions) {}
  std::vector<std::vector<const Instruction*>> after, before;
  std::vector<std::vector<const Computation*>> callees;
};

class Correspondence {
 public:
  explicit Correspondence(const Module& input);

  // The instruction of the input that `inst` is a copy of or replaced. Null if there is none.
  const Instruction* OriginOf(const Instruction& inst) const;
  // As OriginOf, but null if the origin does not run once in `before`.
  const Instruction* OriginIn(const Instruction& inst, const Computation& before) const;
  // Whether a computation of the input runs once in each run of `before`.
  bool RunsOnceIn(const Computation& computation, const Computation& before) const {
    return callers_.RunsOnceIn(computation, before);
  }
  // The instruction of the input with the value that `inst` should have. Null if `inst` is not compared. A parameter is
  // compared only if it is the root.
  const Instruction* ComparedWith(const Instruction& inst, const Computation& before) const;
  // Pairs of elements of two tuples, before and after the pass, that were not yet compared with each other.
  struct Elements {
    const Instruction *before, *after;
  };
  std::vector<Elements> ElementsToCompare(const Instruction& origin, const Instruction& inst) const;

  // A post-order of `after` that follows the order of the input where possible. So a value is compared after the values
  // that it is computed from in the input, even if another instruction computes it in the optimized module.
  std::vector<Instruction*> OrderOf(const Computation& before, const Computation& after) const;
  Lifetimes LifetimesOf(const Computation& before, const Computation& after,
                        const std::vector<Instruction*>& order) const;

  const Instruction& CallerOf(const Computation& computation) const { return callers_.Of(computation); }

 private:
  std::unordered_map<int, const Instruction*> by_id_;
  Callers callers_;  // Callers in the input.
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_CORRESPONDENCE_H_
