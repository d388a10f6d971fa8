#include "ir/analysis/running_fold.h"

#include <algorithm>

#include "ir/module.h"

namespace hlo {
namespace {

// Shorter windows are as fast as a running fold.
constexpr int64_t kShortWindow = 16;

bool IsCommutative(const Computation& reducer) {
  const Instruction& root = reducer.root();
  return root.Is(kCommutative) && root.operand_count() == 2 && root.operand(0).Is(Opcode::kParameter) &&
         root.operand(1).Is(Opcode::kParameter) && &root.operand(0) != &root.operand(1);
}

}  // namespace

std::optional<RunningFold> RunningFoldOf(const Instruction& inst) {
  if (!inst.Is(Opcode::kReduceWindow)) return std::nullopt;
  const auto& attrs = inst.attrs<ReduceWindowAttrs>();
  const Shape& from = inst.operand(0).shape();
  const Shape& to = inst.shape().IsTuple() ? inst.shape().element(0) : inst.shape();
  if (!SameDims(from, to) || from.HasDynamicDims() || to.HasDynamicDims() || from.NumElements() == 0)
    return std::nullopt;
  int64_t along = -1;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const WindowDim& window = attrs.window.dims[d];
    if (window.stride != 1 || window.base_dilation != 1 || window.window_dilation != 1) return std::nullopt;
    if (window.size == 1 && window.pad_low == 0) continue;
    if (along >= 0) return std::nullopt;
    along = d;
  }
  if (along < 0 || from.dim(along) <= kShortWindow) return std::nullopt;
  const WindowDim& window = attrs.window.dims[along];
  const int64_t count = from.dim(along), before = window.pad_low, behind = window.size - 1 - window.pad_low;
  if (before >= count - 1 && (behind == 0 || behind == -1)) return RunningFold{along, false, behind == -1};
  if (behind < count - 1 || (before != 0 && before != -1) || !IsCommutative(*attrs.to_apply)) return std::nullopt;
  return RunningFold{along, true, before == -1};
}

}  // namespace hlo
