// Device groups and reducers of collectives. docs/language.md#replica-groups explains ids and channels.
#ifndef HLO_PASSES_COLLECTIVE_GROUPS_H_
#define HLO_PASSES_COLLECTIVE_GROUPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

// The ids of each group in order. replica_groups={} gives one group with all ids.
using IdGroups = std::vector<std::vector<int64_t>>;
IdGroups WrittenGroups(const Instruction& collective);

// Whether the same devices exchange data in the same way and order. Both or neither must have a channel, of any number.
bool MeetAlike(const Instruction& a, const Instruction& b);

// Whether two collectives of the same operands give the same results. Channel numbers are ignored, with `any_dimension`
// also the dimension.
bool SameExchange(const Instruction& a, const Instruction& b, bool any_dimension = false);

// Whether `inst` has this opcode, one operand, a result of static size, and no layout constraint.
bool IsCollectiveOfArray(const Instruction& inst, Opcode opcode);

// The reducer's opcode if it is a single op in the array's type, otherwise nullopt.
std::optional<Opcode> CombinedBy(const Instruction& collective);

// Indexed by Instruction::place(): whether a control edge starts or ends at the instruction.
std::vector<bool> WithControlEdges(const Computation& computation);

}  // namespace hlo

#endif  // HLO_PASSES_COLLECTIVE_GROUPS_H_
