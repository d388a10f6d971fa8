// What passes ask of a collective: who meets at it, and what it computes of what they bring. What the ids of its groups
// are, its channel and use_global_device_ids say: docs/language.md#replica-groups.
#ifndef HLO_PASSES_COLLECTIVES_GROUPS_H_
#define HLO_PASSES_COLLECTIVES_GROUPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

// Ids, group by group, in the order in which they take part; {} is one group of all that there are.
using IdGroups = std::vector<std::vector<int64_t>>;
IdGroups WrittenGroups(const Instruction& collective);

// At both the same devices meet in the same order, for the same kind of exchange: two of them can be one. Which channel
// it is does not matter; whether there is one does.
bool MeetAlike(const Instruction& a, const Instruction& b);

// One array whose layout nobody asks for, by this opcode, in a computation that runs step by step.
bool IsCollectiveOfArray(const Instruction& inst, Opcode opcode);

// The op that combines what an all-reduce or reduce-scatter of one array brings, in the array's own type.
std::optional<Opcode> CombinedBy(const Instruction& collective);

// Before anything is changed: what control edges begin or end at.
std::vector<bool> WithControlEdges(const Computation& computation);  // By place.

}  // namespace hlo

#endif  // HLO_PASSES_COLLECTIVES_GROUPS_H_
