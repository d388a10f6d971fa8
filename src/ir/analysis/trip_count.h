// Counts how often loop bodies and called computations run.
#ifndef HLO_IR_ANALYSIS_TRIP_COUNT_H_
#define HLO_IR_ANALYSIS_TRIP_COUNT_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"

namespace hlo {

// The trip count of a while: `known_trip_count` of the backend_config, or the derived count. For the latter, the
// condition must compare a counter with a constant. The counter is a state element that starts at a constant and
// changes by a constant, perhaps inside fusions. nullopt for other or endless loops.
std::optional<int64_t> TripCount(const Instruction& loop);
// Ignores `known_trip_count`, for passes that must not rely on it.
std::optional<int64_t> DerivedTripCount(const Instruction& loop);

// The number of the state element that `value`, in a body or condition, reads, or nullopt.
std::optional<int64_t> ElementOfState(const Instruction& value);

// A state element of integer type that starts at `first` and grows by `step`, wrapping around.
struct Induction {
  int64_t first = 0, step = 0;
};
std::optional<Induction> InductionOf(const Instruction& loop, int64_t i);

// A called computation, and how often one execution of the caller runs it.
struct Runs {
  const Computation* computation;
  double times;
};
// Called computations in the order of attributes. An unknown trip count counts as one trip, and each branch of a
// conditional as one run.
std::vector<Runs> RunsOf(const Instruction& caller);

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_TRIP_COUNT_H_
