// Collectives as pure functions of the operands of all members: docs/ops.md#collectives. ir/mesh/grid.h has the groups,
// and rendezvous.h waits for members. Internal to interp/.
//
// Sums are computed in the order of the group, so they have the same bits everywhere.
#ifndef HLO_INTERP_DEVICES_COLLECTIVES_H_
#define HLO_INTERP_DEVICES_COLLECTIVES_H_

#include <span>
#include <vector>

#include "interp/evaluation.h"
#include "ir/mesh/grid.h"

namespace hlo {

// Error U002 for a collective-permute-start whose result lacks the elements that AloneAt and Exchange fill.
Status CheckStart(const Instruction& inst);

struct Gathering {
  const Instruction& inst;
  const DeviceGrid& grid;
  std::span<const int> devices;
  std::span<std::vector<Literal>> operands;  // Indexed by position in the group.
  Session& session;
};
// The value of each member. Errors: R040 if the group does not fit the shapes or lacks the root, R041 for wrong rows of
// a ragged-all-to-all.
Result<std::vector<Literal>> Exchange(Gathering& gathering);

// `from` and `to` have the same rank and type.
void CopyBox(const Literal& from, std::span<const int64_t> from_start, Literal& to, std::span<const int64_t> to_start,
             std::span<const int64_t> sizes);

// The value of a device in no group: zeros, or the output operand of a collective-permute with slice_sizes.
Literal AloneAt(const Instruction& inst, std::span<const Literal> operands);

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_COLLECTIVES_H_
