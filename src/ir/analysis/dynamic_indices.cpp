#include "ir/analysis/dynamic_indices.h"

#include <algorithm>
#include <limits>

namespace hlo {

bool HasScalarIndices(const Instruction& inst) {
  const auto indices = inst.operands().subspan(inst.Is(Opcode::kDynamicSlice) ? 1 : 2);
  return std::ssize(indices) == inst.operand(0).shape().rank() &&
         std::ranges::all_of(indices, [](const Instruction* index) { return index->shape().IsScalar(); });
}

int64_t IndexAt(const Literal& indices, int64_t i) {
  const int64_t index = indices.GetInt(i);
  const bool is_beyond = index < 0 && indices.shape().type() == PrimitiveType::kU64;
  return is_beyond ? std::numeric_limits<int64_t>::max() : index;
}

}  // namespace hlo
