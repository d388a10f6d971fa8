// Keeps control edges valid when instructions are removed.
#ifndef HLO_IR_CONTROL_EDGES_H_
#define HLO_IR_CONTROL_EDGES_H_

#include <unordered_map>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

class Computation;

// The control predecessors that replace each removed instruction. They may be removed, too.
using Replacements = std::unordered_map<const Instruction*, std::vector<Instruction*>>;

// The control predecessors and operands. If `inst` is removed without a replacement, its control successors must run
// after them.
std::vector<Instruction*> RunsAfter(const Instruction& inst);

// Replaces control predecessors that are keys of `gone`. Module::Sweep handles other removed instructions.
void MoveControlEdges(const Computation& computation, const Replacements& gone);

// Calls MoveControlEdges, and sorts a scheduled computation. Returns false if `gone` is empty.
bool CloseGaps(Computation& computation, const Replacements& gone);

}  // namespace hlo

#endif  // HLO_IR_CONTROL_EDGES_H_
