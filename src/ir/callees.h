// Who is called by a computation.
#ifndef HLO_IR_CALLEES_H_
#define HLO_IR_CALLEES_H_

#include <vector>

namespace hlo {

class Computation;
class Instruction;

// Is it of those whose attributes name computations?
bool MayCall(const Instruction& inst);
// By its instructions, in their order and that of their fields; once for each call.
std::vector<Computation*> CalleesOf(const Computation& computation);

}  // namespace hlo

#endif  // HLO_IR_CALLEES_H_
