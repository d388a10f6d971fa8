// Instructions that must stay even without users.
#ifndef HLO_IR_SIDE_EFFECTS_H_
#define HLO_IR_SIDE_EFFECTS_H_

#include <vector>

namespace hlo {

class Computation;
class Instruction;

// Whether the opcode, or has_side_effect of a custom call, states a side effect.
bool IsSideEffect(const Instruction& inst);
// Counts called computations, too.
bool HasSideEffect(const Instruction& inst);

// By place: whether the root, or an instruction with a side effect, needs the instruction. Includes these two.
std::vector<bool> LiveIn(const Computation& computation);

}  // namespace hlo

#endif  // HLO_IR_SIDE_EFFECTS_H_
