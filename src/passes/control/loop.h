// A loop over a tuple, read: what its state begins with, what a trip makes of it, and who reads which element.
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
  Instruction* init;  // A tuple instruction.
  Computation *condition, *body;
  std::vector<Instruction*> in_body, in_condition, outside;  // get-tuple-elements of the state.

  int64_t Size() const { return init->operand_count(); }
  Instruction& Next(int64_t i) const;  // Element i after a trip.
  // Element i is after a trip what it was before.
  bool IsInvariant(int64_t i) const;
  // The element that the value is, in the body; nullopt when it is none.
  std::optional<int64_t> ElementInBody(const Instruction& value) const;
};

// Nullopt where the state begins as no tuple instruction, or where somebody takes it whole.
std::optional<Loop> ReadLoop(Instruction& inst);

// Calls `change` for each loop over a tuple whose body and condition nobody else calls, and in whose body nobody waits
// for somebody. True when one of them changed something.
bool ForEachOwnLoop(Module& module, const PassContext& context, bool (*change)(Loop&, const PassContext&));

// The state grows by `value`, of the loop's computation, which does not change. Gives it in the body; `loop` knows it.
Instruction& HandIn(Loop& loop, Instruction& value);

// Elements that begin as constants and are invariant are those constants in body and condition, which nobody else calls
// (while_constant_sinking.cpp). True when something changed.
bool SinkConstants(const Loop& loop);
// In a body that nobody else calls, what follows from the counters' ranges and from the condition (loop_ranges.cpp).
bool UseRanges(const Loop& loop, const PassContext& context);
// A counter that moves together with another one is computed from it, in such a body and behind the loop
// (loop_counters.cpp). Elements of the state are read that `loop` does not know.
bool MergeCounters(const Loop& loop, const PassContext& context);

}  // namespace hlo

#endif  // HLO_PASSES_CONTROL_LOOP_H_
