// A loop over a tuple: its initial state, its state after a trip, and the reads of each element.
#ifndef HLO_PASSES_CONTROL_LOOP_H_
#define HLO_PASSES_CONTROL_LOOP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

class Module;
struct PassContext;

struct Loop {
  Instruction* loop;
  Instruction* init;
  Computation *condition, *body;
  std::vector<Instruction*> in_body, in_condition, outside;  // get-tuple-elements of the state.

  int64_t Size() const { return init->operand_count(); }
  Instruction& Next(int64_t i) const;  // Element i after a trip.
  bool IsInvariant(int64_t i) const;
  // If `value` is a state element in the body, its index. Otherwise nullopt.
  std::optional<int64_t> ElementInBody(const Instruction& value) const;
};

// Returns nullopt if `inst` is not a loop, if its initial or next state is not a tuple instruction, or if a state is
// used as a whole.
std::optional<Loop> ReadLoop(Instruction& inst);

// Calls `change` for each loop that ReadLoop accepts, that is the only caller of its body and condition, and whose body
// has no control edges. Returns whether any call changed something.
bool ForEachOwnLoop(Module& module, const PassContext& context, bool (*change)(Loop&, const PassContext&));

// Adds `value`, an instruction of the computation that contains the loop, to the state. Returns the new element in the
// body, and updates `loop`.
Instruction& AddInvariantElement(Loop& loop, Instruction& value);

// Replaces invariant elements by their constant initial values in body and condition, which must have no other caller
// (while_constant_sinking.cpp). Returns whether something changed.
bool SinkConstants(const Loop& loop);
// Simplifies the body with the condition, which is true there, and with the ranges of counters (loop_ranges.cpp). The
// body must have no other caller.
bool UseRanges(const Loop& loop, const PassContext& context);
// Computes counters from another counter, in the body and after the loop (loop_counters.cpp). The body must have no
// other caller. `loop` does not record the added get-tuple-elements.
bool MergeCounters(const Loop& loop, const PassContext& context);

}  // namespace hlo

#endif  // HLO_PASSES_CONTROL_LOOP_H_
