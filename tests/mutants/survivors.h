// Says why a planted fault was not found, as far as the module tells.
#ifndef HLO_TESTS_MUTANTS_SURVIVORS_H_
#define HLO_TESTS_MUTANTS_SURVIVORS_H_

#include <string_view>

#include "ir/instruction.h"
#include "judge/reach.h"
#include "judge/value_bounds.h"

namespace hlo {

// The first that holds. The reasons up to kEmpty prove that no arguments can show the fault.
enum class Survival : uint8_t {
  kDead,      // The result does not need the instruction.
  kNeverRun,  // Bounds of a decision exclude its branch, or its loop has no trips.
  kConstant,  // Neither the right nor the wrong value depends on arguments.
  kUniform,   // All elements of what it moves are equal, whatever the arguments are.
  kEmpty,     // It has no elements.
  kNotRun,    // No arguments reach it.
  kInBody,    // In the scalar body of a reduce, sort or the like.
  kSameBits,  // The value was the same on all arguments.
};
inline constexpr int kSurvivals = 8;
std::string_view ToString(Survival why);
inline bool IsProven(Survival why) { return why <= Survival::kEmpty; }

class Survivors {
 public:
  // Takes the module without faults. `reach` has run it on all arguments.
  Survivors(const Module& module, const Reach& reach);

  // The reason for a fault in the instruction with the id. Ids are the same in `wrong`, which has the fault.
  Survival WhyOf(int id, const Module& wrong) const;

 private:
  bool IsUniform(const Instruction& inst, int depth = 0) const;

  const Reach& reach_;
  const ValueBounds bounds_;
  std::vector<const Instruction*> by_id_;
  std::vector<bool> live_, stepped_;  // By id of an instruction: the result needs it; it runs as a step.
};

}  // namespace hlo

#endif  // HLO_TESTS_MUTANTS_SURVIVORS_H_
