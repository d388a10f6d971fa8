// Who calls what, for passes that change the computations of loops and branches: one that others call as well is copied
// first.
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
  explicit CallSites(const Module& module);  // Of what the entry reaches.

  int Count(const Computation& computation) const;
  // An instruction that calls something was added.
  void Add(const Instruction& inst);
  // Makes the computation that an instruction names in `slot` its own: a copy, when it is not. The copy computes what
  // several instructions of the input did, so none of its instructions has an origin.
  Computation& Own(Computation*& slot);
  // A copy of the body of `callee`, which computes it on `arguments`, in `caller`; an element of a tuple there is, is
  // what the tuple was made of. Gives the root's; what was made of loops, branches and calls goes to `control`, when
  // that is not null.
  Instruction& Inline(Computation& caller, const Computation& callee, std::span<Instruction* const> arguments,
                      std::vector<Instruction*>* control = nullptr);

 private:
  void AddCopy(Instruction& copy);

  std::unordered_map<const Computation*, int> counts_;
};

// Somebody waits for somebody, though no value flows: who takes an instruction away must think of that.
bool HasWaits(const Computation& computation);

// Element `i` of the tuple that `whole` computes: an operand, or a new get-tuple-element.
Instruction& ElementOf(Instruction& whole, int64_t i);

}  // namespace hlo

#endif  // HLO_PASSES_CONTROL_CALL_SITES_H_
