// Instructions that must stay even if nothing uses their value.
#ifndef HLO_IR_SIDE_EFFECTS_H_
#define HLO_IR_SIDE_EFFECTS_H_

namespace hlo {

class Instruction;

// Whether the instruction itself has an effect: by its opcode, or a custom call with has_side_effect.
bool IsSideEffect(const Instruction& inst);
// Also true if a called computation has a side effect.
bool HasSideEffect(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_SIDE_EFFECTS_H_
