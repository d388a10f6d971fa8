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
  // The number of the state element that `value` is in the body, or nullopt.
  std::optional<int64_t> ElementInBody(const Instruction& value) const;
};

// nullopt if `inst` is not a loop, if its initial or next state is not a tuple instruction, or if an instruction other
// than get-tuple-element uses a state.
std::optional<Loop> ReadLoop(Instruction& inst);

// Calls `change` for each loop that ReadLoop accepts, that is the only caller of its body and condition, and whose body
// has no control edges. Returns whether anything changed.
bool ForEachOwnLoop(Module& module, const PassContext& context, bool (*change)(Loop&, const PassContext&));

// Whether a value in the body takes the values 0 to trips - 1, ascending or descending.
bool TakesEachOnce(const Loop& loop, const Instruction& index, int64_t trips);

// Adds `value`, from the computation with the loop, to the state. Returns the new element in the body, and updates
// `loop`.
Instruction& AddInvariantElement(Loop& loop, Instruction& value);

// Replaces invariant elements by their constant initial values (while_constant_sinking.cpp). Body and condition must
// have no other caller. Returns whether something changed.
bool SinkConstants(const Loop& loop);
// Simplifies the body with the condition, which is true there, and with the ranges of counters (loop_ranges.cpp). The
// body must have no other caller.
bool UseRanges(const Loop& loop, const PassContext& context);
// Computes counters from another counter, in the body and after the loop (loop_counters.cpp). The body must have no
// other caller. Added get-tuple-elements are missing in `loop`.
bool MergeCounters(const Loop& loop, const PassContext& context);

}  // namespace hlo

#endif  // HLO_PASSES_CONTROL_LOOP_H_
