#include "passes/control/loop_dots.h"

#include <algorithm>
#include <vector>

#include "ir/analysis/dynamic_indices.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {

bool IsGiven(const Loop& loop, const Instruction& value) {
  const auto element = loop.ElementInBody(value);
  return element && loop.IsInvariant(*element) && value.shape().IsArray() && value.shape().HasDefaultLayout() &&
         !value.shape().HasDynamicDims();
}

std::optional<LoopSlice> ReadLoopSlice(const Loop& loop, Instruction& operand) {
  Instruction& slice = operand.Is(Opcode::kReshape) ? operand.operand(0) : operand;
  if (!slice.Is(Opcode::kDynamicSlice) || !HasScalarIndices(slice)) return std::nullopt;
  if (!IsGiven(loop, slice.operand(0))) return std::nullopt;
  const Shape &whole = slice.operand(0).shape(), &part = slice.shape();
  std::optional<int64_t> dimension;
  for (int64_t d = 0; d < part.rank(); ++d) {
    if (part.dim(d) == whole.dim(d)) continue;
    if (dimension || part.dim(d) != 1) return std::nullopt;
    dimension = d;
  }
  if (!dimension) return std::nullopt;
  std::vector<int64_t> rest = part.dims();
  rest.erase(rest.begin() + *dimension);
  const bool keeps = &slice == &operand;
  if (!keeps && operand.shape().dims() != rest) return std::nullopt;
  return LoopSlice{&slice, *loop.ElementInBody(slice.operand(0)), *dimension, keeps};
}

bool IsLoopDotOfFewRows(const Shape& a, const Shape& b, const Shape& product, const Shape& large,
                        const DeviceDescription& device) {
  constexpr double kMostRows = 32;
  constexpr int64_t kCoreCache = 2 << 20;
  if (!device.is_gpu && large.ByteSize() < kCoreCache) return false;
  const auto count = [](const Shape& shape) { return static_cast<double>(shape.NumElements()); };
  // Rows, terms and columns are each a dimension of two of the three arrays. `large` has two of these dimensions. The
  // third, called rows here, follows from all = (rows * size)^2.
  const double all = count(a) * count(b) * count(product), size = count(large);
  return all > 0 && all <= kMostRows * kMostRows * size * size;
}

}  // namespace hlo
