// How often a loop's body runs, for passes: by the form of its counter (ir/trip_count.h), or by counting.
#ifndef HLO_PASSES_CONTROL_COUNT_TRIPS_H_
#define HLO_PASSES_CONTROL_COUNT_TRIPS_H_

#include <cstdint>
#include <optional>

namespace hlo {

class Instruction;

// What `known_trip_count` says is not asked: a program is not changed on somebody's word. Where the counter has no form
// that is known, and the condition hangs on a few scalars that begin at constants, trips are interpreted, `most` of
// them at most. Nullopt when that does not tell.
std::optional<int64_t> CountTrips(const Instruction& loop, int64_t most);

}  // namespace hlo

#endif  // HLO_PASSES_CONTROL_COUNT_TRIPS_H_
