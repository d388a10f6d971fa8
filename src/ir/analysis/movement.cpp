#include "ir/analysis/movement.h"

#include <utility>

#include "ir/attrs.h"
#include "ir/module.h"

namespace hlo {

bool IsMovement(const Instruction& inst) {
  return inst.Is(kMoves) || (inst.Is(Opcode::kBitcast) && inst.shape().type() == inst.operand(0).shape().type());
}

int64_t DataOperands(const Instruction& inst) {
  if (inst.Is(Opcode::kConcatenate)) return inst.operand_count();
  return inst.Is(Opcode::kDynamicUpdateSlice) || inst.Is(Opcode::kPad) ? 2 : 1;
}

std::optional<std::vector<MovedIndex>> MovedIndices(const Instruction& inst) {
  std::vector<MovedIndex> indices;
  switch (inst.opcode()) {
    case Opcode::kBroadcast:
      for (const int64_t dim : inst.dimensions()) indices.push_back({.dim = dim});
      return indices;
    case Opcode::kTranspose:
      indices.resize(inst.dimensions().size());
      for (size_t d = 0; d < indices.size(); ++d) indices[inst.dimensions()[d]].dim = static_cast<int64_t>(d);
      return indices;
    case Opcode::kReverse:
      for (int64_t d = 0; d < inst.shape().rank(); ++d) indices.push_back({.dim = d});
      for (const int64_t d : inst.dimensions()) indices[d] = {.dim = d, .scale = -1, .offset = inst.shape().dim(d) - 1};
      return indices;
    case Opcode::kSlice:
      for (const SliceDim& slice : inst.attrs<SliceAttrs>().slice.dims)
        indices.push_back({.dim = std::ssize(indices), .scale = slice.stride, .offset = slice.start});
      return indices;
    default: return std::nullopt;
  }
}

std::optional<MovedStrides> StridesOfMovement(const Instruction& inst, const Shape& operand) {
  const Shape& to = inst.shape();
  if (inst.Is(Opcode::kReshape)) return MovedStrides{RowMajorStrides(to.dims())};
  if (inst.Is(Opcode::kBitcast)) {
    if (to.type() != operand.type() || !to.HasDefaultLayout() || !operand.HasDefaultLayout()) return std::nullopt;
    return MovedStrides{RowMajorStrides(to.dims())};
  }
  const auto indices = MovedIndices(inst);
  if (!indices) return std::nullopt;
  const std::vector<int64_t> from = RowMajorStrides(operand.dims());
  MovedStrides moved{std::vector<int64_t>(to.rank(), 0)};
  for (size_t d = 0; d < from.size(); ++d) {
    const auto& [dim, scale, offset] = (*indices)[d];
    moved.strides[dim] += scale * from[d];
    moved.base += offset * from[d];
  }
  return moved;
}

std::optional<ElementSources> ElementSources::Of(const Instruction& inst) {
  ElementSources sources;
  sources.inst_ = &inst;
  if (auto strides = inst.operand_count() == 1 ? StridesOfMovement(inst, inst.operand(0).shape()) : std::nullopt) {
    sources.operands_.push_back(*std::move(strides));
  } else if (inst.Is(Opcode::kConcatenate) || inst.Is(Opcode::kPad)) {
    for (const Instruction* operand : inst.operands())
      sources.operands_.push_back({RowMajorStrides(operand->shape().dims())});
  } else {
    return std::nullopt;
  }
  return sources;
}

ElementSources::Source ElementSources::At(std::span<const int64_t> index) const {
  int64_t operand = 0;
  std::vector<int64_t> within(index.begin(), index.end());
  if (inst_->Is(Opcode::kConcatenate)) {
    const int64_t along = inst_->attrs<OneDimensionAttrs>().dimension.value;
    while (within[along] >= inst_->operand(operand).shape().dim(along))
      within[along] -= inst_->operand(operand++).shape().dim(along);
  }
  if (inst_->Is(Opcode::kPad)) {
    const std::vector<PaddingDim>& padding = inst_->attrs<PadAttrs>().padding.dims;
    for (size_t d = 0; d < padding.size(); ++d) {
      const int64_t inside = within[d] - padding[d].low, step = padding[d].interior + 1;
      if (inside < 0 || inside % step != 0 || inside / step >= inst_->operand(0).shape().dim(static_cast<int64_t>(d)))
        return {.operand = 1, .element = 0};
      within[d] = inside / step;
    }
  }
  const MovedStrides& moved = operands_[operand];
  int64_t element = moved.base;
  for (size_t d = 0; d < within.size(); ++d) element += within[d] * moved.strides[d];
  return {operand, element};
}

}  // namespace hlo
