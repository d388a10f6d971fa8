// How often a loop's body, and whatever else is called, runs where the text says it.
#ifndef HLO_IR_TRIP_COUNT_H_
#define HLO_IR_TRIP_COUNT_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"

namespace hlo {

// Of a while: what `known_trip_count` in its backend_config says; else found, when the condition compares a counter of
// the state that begins at a constant and moves by a constant with a constant, perhaps inside fusions. nullopt when the
// count hangs on data, or the loop does not end.
std::optional<int64_t> TripCount(const Instruction& loop);
// The same, whatever `known_trip_count` says: for those who change the program by it.
std::optional<int64_t> DerivedTripCount(const Instruction& loop);

// Which element of the state `value` is, in a loop's body or condition; nullopt: it is something else.
std::optional<int64_t> ElementOfState(const Instruction& value);

// An integer element of the state that is `first` before the first trip and moves by `step` in each, wrapping around.
struct Induction {
  int64_t first = 0, step = 0;
};
// Of element `i` of the state, which is a tuple.
std::optional<Induction> InductionOf(const Instruction& loop, int64_t i);

// A computation that an instruction calls, and how often it runs for one run of the caller.
struct Runs {
  const Computation* computation;
  double times;
};
// In the order of the attributes; of a loop whose trips are not known one is counted, and of branches each.
std::vector<Runs> RunsOf(const Instruction& caller);

}  // namespace hlo

#endif  // HLO_IR_TRIP_COUNT_H_
