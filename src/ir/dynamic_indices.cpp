#include "ir/dynamic_indices.h"

#include <algorithm>

namespace hlo {

bool HasScalarIndices(const Instruction& inst) {
  const auto indices = inst.operands().subspan(inst.Is(Opcode::kDynamicSlice) ? 1 : 2);
  return std::ssize(indices) == inst.operand(0).shape().rank() &&
         std::ranges::all_of(indices, [](const Instruction* index) { return index->shape().IsScalar(); });
}

}  // namespace hlo
