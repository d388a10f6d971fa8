#ifndef HLO_IR_CALLEES_H_
#define HLO_IR_CALLEES_H_

#include <vector>

namespace hlo {

class Computation;
class Instruction;

bool MayCall(const Instruction& inst);
// The called computations in the order of instructions and attribute fields, with repetitions.
std::vector<Computation*> CalleesOf(const Computation& computation);

}  // namespace hlo

#endif  // HLO_IR_CALLEES_H_
