// Which instruction of an optimized module is compared with which of its input, in what order, and how long their
// values are read. Internal to interp/compare.
#ifndef HLO_INTERP_COMPARE_CORRESPONDENCE_H_
#define HLO_INTERP_COMPARE_CORRESPONDENCE_H_

#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "interp/compare/callers.h"
#include "interp/compare/limits.h"
#include "interp/compare/loop_pairs.h"
#include "interp/compare/twins.h"
#include "ir/module.h"

namespace hlo {

// Does nothing but a tuple that is returned read it?
bool OnlyReturned(const Instruction& inst);

// By position in the order of the optimized computation: what nothing reads any more afterwards. An instruction that is
// compared reads its operands then, on both sides, and hands on its kept value; another whenever one of its users is
// evaluated.
//
// On the input's side a value goes with the one that it was compared with, and what still reads it there computes it
// again, with bounds: it may be that the other side has no such value any more. For good, until nothing reads it
// either, directly or through what is computed again, stay those of which that cannot be had, and large ones.
struct Lifetimes {
  explicit Lifetimes(size_t positions) : after(positions), before(positions), callees(positions) {}
  std::vector<std::vector<const Instruction*>> after, before;
  std::vector<std::vector<const Computation*>> callees;
};

class Correspondence {
 public:
  // `limit`: scalar steps of one instruction, above which it is large.
  Correspondence(const Module& input, const Module& optimized, int64_t limit);

  // The instruction of the input that it is or took the place of; null: none.
  const Instruction* OriginOf(const Instruction& inst) const;
  // ... where that runs once in `before`.
  const Instruction* OriginIn(const Instruction& inst, const Computation& before) const;
  // Of the input: is it `before`, or called by it, once?
  bool RunsOnceIn(const Computation& computation, const Computation& before) const {
    return callers_.RunsOnceIn(computation, before);
  }
  // Of a loop whose state is another one than that of the loop that it is compared with; null: of any other.
  const LoopPair* ChangedLoopOf(const Instruction& loop) const;
  // Whose value it should have; null: it is not compared. A parameter is where it is what the root became.
  const Instruction* ComparedWith(const Instruction& inst, const Computation& before) const;
  // Of two tuples, the second an optimized one's: what does not stand where the value that it was compared with does,
  // before and after. `changed`: they are the next states of two such loops.
  struct Elements {
    const Instruction *before, *after;
  };
  std::vector<Elements> ElementsToCompare(const Instruction& origin, const Instruction& inst,
                                          const LoopPair* changed) const;
  // Is the root compared so? What was compared by a sample was not kept.
  bool RootsCompareByElement(const Computation& before, const LoopPair* changed) const {
    return changed != nullptr || (HasLimit() && before.root().Is(Opcode::kTuple));
  }

  // Operands first, and of what could be next, what is so in the input: a value is compared after those it is computed
  // from there, although another instruction here gives it beside them.
  std::vector<Instruction*> OrderOf(const Computation& before, const Computation& after) const;
  Lifetimes LifetimesOf(const Computation& before, const Computation& after, const std::vector<Instruction*>& order,
                        const LoopPair* changed) const;

  bool HasLimit() const { return limit_ < std::numeric_limits<int64_t>::max(); }
  int64_t limit() const { return limit_; }
  bool IsLarge(const Instruction& inst) const { return StepsOfComparing(inst) > limit_; }
  // The one of the input whose kept value it has, too.
  const Instruction* Twin(const Instruction& inst) const { return twins_ ? &twins_->Of(inst) : &inst; }
  const Instruction& CallerOf(const Computation& computation) const { return callers_.Of(computation); }

 private:
  std::unordered_map<int, const Instruction*> by_id_;
  Callers callers_;  // In the input.
  std::unordered_map<const Instruction*, LoopPair> changed_loops_;
  std::optional<Twins> twins_;  // Where values are left by runs, which round them.
  const int64_t limit_;
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_CORRESPONDENCE_H_
