// How often a loop's body runs, for passes and for what they may know: by the form of its counter (ir/trip_count.h), or
// by counting.
#ifndef HLO_INTERP_COUNT_TRIPS_H_
#define HLO_INTERP_COUNT_TRIPS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "ir/literal.h"

namespace hlo {

class Instruction;

using ScalarOf = std::function<const Literal*(const Instruction&)>;  // Null where it is not known.
const Literal* ScalarOfConstant(const Instruction& inst);

// Of a counter whose form is not known.
inline constexpr int64_t kMostInterpretedTrips = 64;

// What `known_trip_count` says is not asked: a program is not changed on somebody's word. Where the counter has no form
// that is known, and the condition hangs on a few scalars that begin at known values, trips are interpreted, `most` of
// them at most. Nullopt when that does not tell.
std::optional<int64_t> CountTrips(const Instruction& loop, int64_t most, const ScalarOf& known = ScalarOfConstant);
// What scalar element `i` of the state is after `trips` trips, which is their number.
std::optional<Literal> ScalarAfter(const Instruction& loop, int64_t i, int64_t trips,
                                   const ScalarOf& known = ScalarOfConstant);

}  // namespace hlo

#endif  // HLO_INTERP_COUNT_TRIPS_H_
