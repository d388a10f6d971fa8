// How often a loop's body runs, where the text says it.
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

}  // namespace hlo

#endif  // HLO_IR_TRIP_COUNT_H_
