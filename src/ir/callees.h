// Who is called by a computation.
#ifndef HLO_IR_CALLEES_H_
#define HLO_IR_CALLEES_H_

#include <vector>

namespace hlo {

class Computation;

// By its instructions, in their order and that of their fields; once for each call.
std::vector<Computation*> CalleesOf(const Computation& computation);

}  // namespace hlo

#endif  // HLO_IR_CALLEES_H_
