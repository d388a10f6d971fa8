// The trip counts of loops for passes and analyses: by the form of the counter (ir/trip_count.h), or by interpreting
// trips.
#ifndef HLO_INTERP_COUNT_TRIPS_H_
#define HLO_INTERP_COUNT_TRIPS_H_

#include <cstdint>
#include <optional>

#include "ir/literal.h"

namespace hlo {

class Instruction;

// The limit for counters of unknown form.
inline constexpr int64_t kMostInterpretedTrips = 64;

// Ignores `known_trip_count`, because a program must not change according to an unchecked claim. If the counter has no
// known form and the condition depends on few scalars with constant initial values, interprets up to `most` trips.
// nullopt if the count remains unknown.
std::optional<int64_t> CountTrips(const Instruction& loop, int64_t most);
// Scalar element `i` of the state after `trips` trips, the loop's trip count.
std::optional<Literal> ScalarAfter(const Instruction& loop, int64_t i, int64_t trips);

}  // namespace hlo

#endif  // HLO_INTERP_COUNT_TRIPS_H_
