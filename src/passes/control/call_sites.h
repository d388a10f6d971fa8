// Counts the callers of computations. Passes copy the computation of a loop or branch before they change it if it has
// other callers.
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
  explicit CallSites(const Module& module);  // Counts computations that the entry reaches.

  int Count(const Computation& computation) const;
  // For each new instruction that calls computations.
  void Add(const Instruction& inst);
  // Copies the computation in `slot` if it has other callers. Instructions of the copy have no origin, because they
  // computed several instructions of the input.
  Computation& Own(Computation*& slot);
  // Copies the body of `callee` with these arguments into `caller` and returns its root. A get-tuple-element of a tuple
  // becomes the element. `control`, if not null, receives copied loops, conditionals and calls.
  Instruction& Inline(Computation& caller, const Computation& callee, std::span<Instruction* const> arguments,
                      std::vector<Instruction*>* control = nullptr);

 private:
  void AddCopy(Instruction& copy);

  std::unordered_map<const Computation*, int> counts_;
};

// A pass that removes an instruction must preserve control edges.
bool HasControlEdges(const Computation& computation);

// An operand of a tuple, or a new get-tuple-element.
Instruction& ElementOf(Instruction& whole, int64_t i);

}  // namespace hlo

#endif  // HLO_PASSES_CONTROL_CALL_SITES_H_
