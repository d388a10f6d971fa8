// Instructions that must stay even without users.
#ifndef HLO_IR_SIDE_EFFECTS_H_
#define HLO_IR_SIDE_EFFECTS_H_

namespace hlo {

class Instruction;

// Whether the opcode, or has_side_effect of a custom call, states a side effect.
bool IsSideEffect(const Instruction& inst);
// Counts called computations, too.
bool HasSideEffect(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_SIDE_EFFECTS_H_
