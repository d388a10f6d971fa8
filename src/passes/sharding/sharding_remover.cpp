// marker(x) => x, for markers that one device does not need. Borders of a manual region stay if parts are smaller than
// the whole.
#include <algorithm>

#include "ir/control_edges.h"
#include "ir/markers.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// The value that the marker passes on. Another layout needs a copy.
Instruction& ValueOf(Instruction& marker) {
  Computation& computation = marker.computation();
  if (marker.operand_count() != 1 || !Compatible(marker.operand(0).shape(), marker.shape())) {
    const bool notice = MarkerOf(marker) == Marker::kNotice;
    const Operands values = notice ? Operands() : Operands(marker.operands().begin(), marker.operands().end());
    return computation.AddLike(marker, Opcode::kTuple, marker.shape(), values);
  }
  Instruction& value = marker.operand(0);
  if (value.shape() == marker.shape()) return value;
  return computation.AddLike(marker, Opcode::kCopy, marker.shape(), {&value});
}

bool IsSplitByUser(const Instruction& marker) {
  return std::ranges::any_of(marker.users(), [](const Instruction* user) {
    return MarkerOf(*user) == Marker::kShard && !IsIdentityMarker(*user);
  });
}

}  // namespace

Result<bool> RemoveMarkers(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    Replacements gone;
    for (Instruction* inst : computation->Instructions()) {
      if (!IsIdentityMarker(*inst) || IsSplitByUser(*inst) || !context.ConsumeFuel()) continue;
      if (!inst->users().empty() || inst->IsRoot()) inst->ReplaceAllUses(ValueOf(*inst));
      gone[inst] = RunsAfter(*inst);
      computation->Remove(*inst);
    }
    changed |= CloseGaps(*computation, gone);
  }
  return changed;
}

}  // namespace hlo
