// Properties of collectives for passes: their groups of devices and the op that combines values. The meaning of ids,
// channels and use_global_device_ids: docs/language.md#replica-groups.
#ifndef HLO_PASSES_COLLECTIVES_GROUPS_H_
#define HLO_PASSES_COLLECTIVES_GROUPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

// The ids of each group in order. {} is one group with all devices.
using IdGroups = std::vector<std::vector<int64_t>>;
IdGroups WrittenGroups(const Instruction& collective);

// Whether both connect the same devices in the same order for the same kind of exchange. Only the presence of a channel
// matters, not its number.
bool MeetAlike(const Instruction& a, const Instruction& b);

// Requires one operand, an array of static size without a layout constraint.
bool IsCollectiveOfArray(const Instruction& inst, Opcode opcode);

// The op of the reducer, if that is one op in the array's type.
std::optional<Opcode> CombinedBy(const Instruction& collective);

// Whether a control edge starts or ends at an instruction, indexed by place.
std::vector<bool> WithControlEdges(const Computation& computation);

}  // namespace hlo

#endif  // HLO_PASSES_COLLECTIVES_GROUPS_H_
