// The computations that a computation calls.
#ifndef HLO_IR_CALLEES_H_
#define HLO_IR_CALLEES_H_

#include <vector>

namespace hlo {

class Computation;
class Instruction;

// Whether the opcode has attributes that name computations.
bool MayCall(const Instruction& inst);
// The computations that the instructions call, in order of instructions and attribute fields. A computation that is
// called twice is listed twice.
std::vector<Computation*> CalleesOf(const Computation& computation);

}  // namespace hlo

#endif  // HLO_IR_CALLEES_H_
