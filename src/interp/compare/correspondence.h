// Which instruction of an optimized module is compared with which of its input, in what order, and how long their
// values are read. Internal to interp/compare.
#ifndef HLO_INTERP_COMPARE_CORRESPONDENCE_H_
#define HLO_INTERP_COMPARE_CORRESPONDENCE_H_

#include <unordered_map>
#include <vector>

#include "interp/compare/callers.h"
#include "ir/module.h"

namespace hlo {

// A result of a kernel that has several.
bool IsOneOfSeveral(const Instruction& inst);
// The instruction inside that computes it; null: one instruction computes all results.
const Instruction* InsideKernel(const Instruction& one_of_several);

// By position in the order of the optimized computation: what nothing reads any more afterwards. An instruction that is
// compared reads its operands then, on both sides, and hands on its kept value; another whenever one of its users is
// evaluated.
//
// On the input's side a value goes with the one that it was compared with, and what still reads it there computes it
// again, with bounds: it may be that the other side has no such value any more. Values that cannot be
// computed again stay until nothing reads them, directly or through another computation.
struct Lifetimes {
  explicit Lifetimes(size_t positions) : after(positions), before(positions), callees(positions) {}
  std::vector<std::vector<const Instruction*>> after, before;
  std::vector<std::vector<const Computation*>> callees;
};

class Correspondence {
 public:
  explicit Correspondence(const Module& input);

  // The instruction of the input that it is or took the place of; null: none.
  const Instruction* OriginOf(const Instruction& inst) const;
  // ... where that runs once in `before`.
  const Instruction* OriginIn(const Instruction& inst, const Computation& before) const;
  // Of the input: is it `before`, or called by it, once?
  bool RunsOnceIn(const Computation& computation, const Computation& before) const {
    return callers_.RunsOnceIn(computation, before);
  }
  // Whose value it should have; null: it is not compared. A parameter is where it is what the root became.
  const Instruction* ComparedWith(const Instruction& inst, const Computation& before) const;
  // Pairs of elements, before and after, of two tuples: those whose element after the pass was not compared with the
  // element before it.
  struct Elements {
    const Instruction *before, *after;
  };
  std::vector<Elements> ElementsToCompare(const Instruction& origin, const Instruction& inst) const;

  // Operands first, and of what could be next, what is so in the input: a value is compared after those it is computed
  // from there, although another instruction here gives it beside them.
  std::vector<Instruction*> OrderOf(const Computation& before, const Computation& after) const;
  Lifetimes LifetimesOf(const Computation& before, const Computation& after,
                        const std::vector<Instruction*>& order) const;

  const Instruction& CallerOf(const Computation& computation) const { return callers_.Of(computation); }

 private:
  std::unordered_map<int, const Instruction*> by_id_;
  Callers callers_;  // In the input.
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_CORRESPONDENCE_H_
