// How often loop bodies and called computations run, as far as known.
#ifndef HLO_IR_TRIP_COUNT_H_
#define HLO_IR_TRIP_COUNT_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"

namespace hlo {

// `known_trip_count` of a while's backend_config, or the derived count. The condition must compare a counter with a
// constant. The counter is an element of the state that starts at a constant and changes by a constant, perhaps inside
// fusions. nullopt for other loops, and for loops that do not end.
std::optional<int64_t> TripCount(const Instruction& loop);
// Ignores `known_trip_count`, for passes that must not rely on an annotation.
std::optional<int64_t> DerivedTripCount(const Instruction& loop);

// The number of the state element that `value`, in a body or condition, reads; otherwise nullopt.
std::optional<int64_t> ElementOfState(const Instruction& value);

// An integer element of the state that starts at `first` and grows by `step`, wrapping around.
struct Induction {
  int64_t first = 0, step = 0;
};
std::optional<Induction> InductionOf(const Instruction& loop, int64_t i);

// A called computation and its runs in one execution of the caller.
struct Runs {
  const Computation* computation;
  double times;
};
// Lists the called computations in the order of attributes. A loop with an unknown trip count is counted as one trip,
// and each branch of a conditional as one run.
std::vector<Runs> RunsOf(const Instruction& caller);

}  // namespace hlo

#endif  // HLO_IR_TRIP_COUNT_H_
