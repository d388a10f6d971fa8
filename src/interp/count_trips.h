// Trip counts of loops: by the form of the counter (ir/analysis/trip_count.h), or by interpreting trips.
#ifndef HLO_INTERP_COUNT_TRIPS_H_
#define HLO_INTERP_COUNT_TRIPS_H_

#include <cstdint>
#include <optional>

#include "ir/literal.h"

namespace hlo {

class Instruction;

inline constexpr int64_t kMostInterpretedTrips = 64;

// Ignores `known_trip_count`, which is an unchecked claim. If the counter has no known form, interprets up to `most`
// trips, provided that the condition depends on few scalars with constant initial values.
std::optional<int64_t> CountTrips(const Instruction& loop, int64_t most);
// Element `i` of the state after all `trips` trips. Nullopt unless it is a scalar that follows from constants by a
// known induction, or by at most kMostInterpretedTrips interpreted trips.
std::optional<Literal> ScalarAfter(const Instruction& loop, int64_t i, int64_t trips);

}  // namespace hlo

#endif  // HLO_INTERP_COUNT_TRIPS_H_
