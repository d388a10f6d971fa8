// Instructions that must stay even if their value is not used.
#ifndef HLO_IR_SIDE_EFFECTS_H_
#define HLO_IR_SIDE_EFFECTS_H_

namespace hlo {

class Instruction;

// Whether the instruction itself has a side effect, by its opcode or as a custom call with has_side_effect.
bool IsSideEffect(const Instruction& inst);
// Also true if a called computation has a side effect.
bool HasSideEffect(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_SIDE_EFFECTS_H_
