// The number of times that loop bodies and called computations run, as far as it can be derived.
#ifndef HLO_IR_TRIP_COUNT_H_
#define HLO_IR_TRIP_COUNT_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"

namespace hlo {

// The trip count of a while: `known_trip_count` in its backend_config if present, otherwise the derived one. It is
// derived if the condition compares a counter with a constant. The counter is an element of the state that starts at a
// constant and changes by a constant, perhaps inside fusions. nullopt if the count depends on data or the loop does not
// end.
std::optional<int64_t> TripCount(const Instruction& loop);
// The same without `known_trip_count`, for passes that change the program according to it.
std::optional<int64_t> DerivedTripCount(const Instruction& loop);

// The index in the state that `value` reads in the body or condition of a loop; nullopt if it is something else.
std::optional<int64_t> ElementOfState(const Instruction& value);

// An integer element of the state that is `first` before the first trip and grows by `step` in each trip, wrapping
// around.
struct Induction {
  int64_t first = 0, step = 0;
};
// For element `i` of the state tuple.
std::optional<Induction> InductionOf(const Instruction& loop, int64_t i);

// A computation that an instruction calls, and how often it runs in one execution of the caller.
struct Runs {
  const Computation* computation;
  double times;
};
// In the order of attributes. A loop with an unknown trip count counts one trip, and each branch counts once.
std::vector<Runs> RunsOf(const Instruction& caller);

}  // namespace hlo

#endif  // HLO_IR_TRIP_COUNT_H_
