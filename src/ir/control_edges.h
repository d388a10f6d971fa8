// Control edges ("control-predecessors") of what is taken out of a computation.
#ifndef HLO_IR_CONTROL_EDGES_H_
#define HLO_IR_CONTROL_EDGES_H_

#include <unordered_map>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

class Computation;

// By what is gone: what came in its place, which may be gone too.
using InPlaceOfGone = std::unordered_map<const Instruction*, std::vector<Instruction*>>;

// What `inst` runs after: who waited for it waits for these where nothing comes in its place.
std::vector<Instruction*> RunsAfter(const Instruction& inst);

// Who waited for what is gone waits for what came in its place. (Module::Sweep does so where nobody did.)
void MoveWaits(const Computation& computation, const InPlaceOfGone& gone);

// The same, and a computation of a scheduled module is in order again. Is anything gone?
bool CloseGaps(Computation& computation, const InPlaceOfGone& gone);

}  // namespace hlo

#endif  // HLO_IR_CONTROL_EDGES_H_
