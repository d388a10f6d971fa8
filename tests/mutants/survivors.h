// Finds why a planted fault was not detected, if the module shows it.
#ifndef HLO_TESTS_MUTANTS_SURVIVORS_H_
#define HLO_TESTS_MUTANTS_SURVIVORS_H_

#include <string_view>

#include "ir/instruction.h"
#include "judge/reach/reach.h"
#include "judge/reach/value_bounds.h"

namespace hlo {

// Reasons in order of precedence. The reasons up to kEmpty prove that no arguments can show the fault.
enum class Survival : uint8_t {
  kDead,      // The result does not need the instruction.
  kNeverRun,  // The bounds of a decision exclude its branch, or its loop has no trips.
  kConstant,  // Neither the correct nor the wrong value depends on arguments.
  kUniform,   // The instruction only moves elements that are all equal, whatever the arguments are.
  kEmpty,     // The array has no elements.
  kNotRun,    // No arguments reach the instruction.
  kInBody,    // The instruction is in the scalar body of an op such as reduce or sort.
  kSameBits,  // The value was the same on all arguments.
};
inline constexpr int kSurvivals = 8;
std::string_view ToString(Survival why);
inline bool IsProven(Survival why) { return why <= Survival::kEmpty; }

class Survivors {
 public:
  // Takes the module without faults. `reach` has run it on all arguments.
  Survivors(const Module& module, const Reach& reach);

  // The reason for a fault in the instruction with the id. `wrong`, which has the fault, has the same ids.
  Survival WhyOf(int id, const Module& wrong) const;

 private:
  bool IsUniform(const Instruction& inst, int depth = 0) const;

  const Reach& reach_;
  const ValueBounds bounds_;
  std::vector<const Instruction*> by_id_;
  // Indexed by the id of an instruction. live_: the result needs the instruction. stepped_: the instruction runs as a
  // step.
  std::vector<bool> live_, stepped_;
};

}  // namespace hlo

#endif  // HLO_TESTS_MUTANTS_SURVIVORS_H_
