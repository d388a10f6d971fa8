// What stays although nothing uses its value.
#ifndef HLO_IR_SIDE_EFFECTS_H_
#define HLO_IR_SIDE_EFFECTS_H_

namespace hlo {

class Instruction;

// Acts on the world or keeps a state: by its opcode, or as a custom call that says so...
bool IsSideEffect(const Instruction& inst);
// ...or in what it calls.
bool HasSideEffect(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_SIDE_EFFECTS_H_
