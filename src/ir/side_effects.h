// Instructions that must stay even if their value is not used.
#ifndef HLO_IR_SIDE_EFFECTS_H_
#define HLO_IR_SIDE_EFFECTS_H_

namespace hlo {

class Instruction;

// By opcode, or has_side_effect of a custom call.
bool IsSideEffect(const Instruction& inst);
// Includes called computations.
bool HasSideEffect(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_SIDE_EFFECTS_H_
