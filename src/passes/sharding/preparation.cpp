// XLA's texts write a rotation and the choice of a row as slices.
#include "passes/sharding/preparation.h"

#include "ir/control_edges.h"
#include "ir/module.h"

namespace hlo {
namespace {

bool IsRange(const Instruction& inst, const Instruction& array, int64_t dim, int64_t start, int64_t limit) {
  if (!inst.Is(Opcode::kSlice) || &inst.operand(0) != &array) return false;
  const std::vector<SliceDim>& ranges = inst.attrs<SliceAttrs>().slice.dims;
  for (int64_t d = 0; d < std::ssize(ranges); ++d) {
    const SliceDim all = d == dim ? SliceDim{start, limit, 1} : SliceDim{0, array.shape().dim(d), 1};
    if (ranges[d] != all) return false;
  }
  return true;
}

// concatenate(x[start:], x[:start]) => shuffle(x)
Instruction* AsRotation(Instruction& inst) {
  if (!inst.Is(Opcode::kConcatenate) || inst.operand_count() != 2 || !inst.operand(0).Is(Opcode::kSlice))
    return nullptr;
  Instruction& array = inst.operand(0).operand(0);
  const int64_t dim = inst.attrs<OneDimensionAttrs>().dimension.value;
  const int64_t size = inst.shape().dim(dim), start = inst.operand(1).shape().dim(dim);
  if (array.shape() != inst.shape() || !IsRange(inst.operand(0), array, dim, start, size) ||
      !IsRange(inst.operand(1), array, dim, 0, start))
    return nullptr;
  return &inst.computation().AddLike(inst, Opcode::kShuffle, inst.shape(), {&array},
                                     ShuffleAttrs{.dimensions = {dim}, .shifts = {start}});
}

// x[3:4, 0:5] => dynamic-slice(x, 3, 0), then the slice of other dimensions. A dynamic-slice finds a row on the device
// that has it.
Instruction* AsDynamicSlice(Instruction& inst) {
  if (!inst.Is(Opcode::kSlice)) return nullptr;
  Instruction& array = inst.operand(0);
  Computation& computation = inst.computation();
  SliceRanges rest = inst.attrs<SliceAttrs>().slice;
  Shape shape = array.shape();
  Operands operands = {&array};
  bool has_row = false;
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    int64_t start = 0;
    if (inst.shape().dim(dim) == 1 && shape.dim(dim) > 1) {
      start = rest.dims[dim].start;
      rest.dims[dim] = {0, 1, 1};
      shape.SetDim(dim, 1);
      has_row = true;
    }
    operands.push_back(&computation.AddConstant(Literal::Scalar(PrimitiveType::kS32, start)));
  }
  if (!has_row) return nullptr;
  std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
  Instruction& rows =
      computation.AddLike(inst, Opcode::kDynamicSlice, shape, std::move(operands), DynamicSliceAttrs{std::move(sizes)});
  if (SameDims(shape, inst.shape())) return &rows;
  return &computation.AddLike(inst, Opcode::kSlice, inst.shape(), {&rows}, SliceAttrs{.slice = std::move(rest)});
}

}  // namespace

bool PrepareForPropagation(Computation& computation) {
  Replacements gone;
  for (const auto rewritten : {AsRotation, AsDynamicSlice}) {
    for (Instruction* inst : computation.Instructions()) {
      if (!inst->shape().IsArray() || inst->shape().HasDynamicDims()) continue;
      Instruction* const value = rewritten(*inst);
      if (value == nullptr) continue;
      if (inst->HasCommon()) value->mutable_common() = inst->common();
      inst->ReplaceAllUses(*value);
      gone[inst] = RunsAfter(*inst);
      computation.RemoveDeadTree(*inst);
    }
  }
  CloseGaps(computation, gone);
  return !gone.empty();
}

}  // namespace hlo
