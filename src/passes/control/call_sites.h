// Counts the callers of computations. Passes copy a loop body or branch with other callers before they change it.
#ifndef HLO_PASSES_CONTROL_CALL_SITES_H_
#define HLO_PASSES_CONTROL_CALL_SITES_H_

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace hlo {

class Computation;
class Instruction;
class Module;

class CallSites {
 public:
  explicit CallSites(const Module& module);  // Counts calls that the entry reaches.

  int Count(const Computation& computation) const;
  // Must be called for each new instruction that calls computations.
  void Add(const Instruction& inst);
  // If the computation in `slot` has other callers, replaces it by a copy, whose instructions have no origin.
  Computation& Own(Computation*& slot);
  // Copies the body of `callee` with these arguments into `caller` and returns the copy of the root. Appends copied
  // loops, conditionals and calls to `control`, if not null.
  Instruction& Inline(Computation& caller, const Computation& callee, std::span<Instruction* const> arguments,
                      std::vector<Instruction*>* control = nullptr);

 private:
  void AddCopy(Instruction& copy);

  std::unordered_map<const Computation*, int> counts_;
};

// A pass that removes an instruction must preserve control edges.
bool HasControlEdges(const Computation& computation);

// Element i of `whole`: a tuple's operand, or a new get-tuple-element.
Instruction& ElementOf(Instruction& whole, int64_t i);

}  // namespace hlo

#endif  // HLO_PASSES_CONTROL_CALL_SITES_H_
