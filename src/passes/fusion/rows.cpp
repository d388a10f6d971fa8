#include "passes/fusion/rows.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/dimensions.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Number of leading dimensions with the product `rows`, or nullopt.
std::optional<int64_t> RowDims(const Shape& shape, int64_t rows) {
  int64_t product = 1, count = 0;
  for (; product < rows && count < shape.rank(); ++count) product *= shape.dim(count);
  return product == rows ? std::optional(count) : std::nullopt;
}

bool HasRows(const Shape& shape, int64_t rows) {
  return shape.IsArray() && shape.HasDefaultLayout() && shape.NumElements() >= rows && shape.NumElements() % rows == 0;
}

// Whether the row dimensions of `to` are those of `from`, in order, without sizes of 1. `dimension_of` maps dimensions
// of `to` to those of `from`, or to -1.
template <class DimensionOf>
bool KeepsRowDims(const Shape& to, const Shape& from, int64_t rows, DimensionOf dimension_of) {
  const auto to_dims = RowDims(to, rows), from_dims = RowDims(from, rows);
  if (!to_dims || !from_dims) return false;
  std::vector<int64_t> kept, wanted;
  for (int64_t d = 0; d < *to_dims; ++d) {
    if (to.dim(d) != 1) kept.push_back(dimension_of(d));
  }
  for (int64_t d = 0; d < *from_dims; ++d) {
    if (from.dim(d) != 1) wanted.push_back(d);
  }
  return kept == wanted;
}

// Whether row dimensions are unchanged, and `is_untouched` holds for each.
template <class IsUntouched>
bool LeavesRowDims(const Shape& to, const Shape& from, int64_t rows, IsUntouched is_untouched) {
  const auto dims = RowDims(from, rows);
  if (!dims || to.rank() != from.rank()) return false;
  for (int64_t d = 0; d < *dims; ++d) {
    if (to.dim(d) != from.dim(d) || !is_untouched(d)) return false;
  }
  return true;
}

bool ReducesWithinRows(const Instruction& reduce, int64_t rows) {
  const Shape& from = reduce.operand(0).shape();
  const auto dims = RowDims(from, rows);
  return dims && std::ranges::all_of(reduce.attrs<ReduceAttrs>().dimensions,
                                     [&](int64_t d) { return d >= *dims || from.dim(d) == 1; });
}

bool IsTrivial(const WindowDim& window) {
  return window.size == 1 && window.stride == 1 && window.pad_low == 0 && window.pad_high == 0 &&
         window.base_dilation == 1;
}

bool WindowsWithinRows(const Instruction& inst, int64_t rows) {
  const auto dims = RowDims(inst.operand(0).shape(), rows);
  if (!dims) return false;
  const std::vector<WindowDim>& windows = inst.attrs<ReduceWindowAttrs>().window.dims;
  return std::all_of(windows.begin(), windows.begin() + *dims, IsTrivial);
}

// Whether rows of the product are rows of its left operand, batch first.
bool MultipliesByRows(const Instruction& dot, int64_t rows, bool lhs_has_rows) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const Shape& lhs = dot.operand(0).shape();
  std::vector<int64_t> dimensions = attrs.lhs_batch;
  for (const int64_t d : FreeDimensions(lhs.rank(), attrs.lhs_batch, attrs.lhs_contracting)) dimensions.push_back(d);
  const auto of_result = RowDims(dot.shape(), rows);
  if (!of_result || *of_result > std::ssize(dimensions)) return false;
  return !lhs_has_rows || KeepsRowDims(dot.shape(), lhs, rows, [&](int64_t d) { return dimensions[d]; });
}

// Whether each row of the right operand is contracted in full and gives a column of the result, which other kernels
// cannot read by rows.
bool MakesColumns(const Instruction& dot, int64_t rows) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const auto dims = RowDims(dot.operand(1).shape(), rows);
  if (!dims) return false;
  for (int64_t d = 0; d < *dims; ++d) {
    if (Contains(attrs.rhs_contracting, d)) return false;
  }
  return *dims + std::ssize(attrs.rhs_contracting) == dot.operand(1).shape().rank();
}

// Whether a row of the result has the slices for one row of indices.
bool GathersByRows(const Instruction& gather, int64_t rows) {
  const auto& attrs = gather.attrs<GatherAttrs>();
  const Shape& indices = gather.operand(1).shape();
  // By result dimension: the dimension of the indices, or -1 for the slices.
  std::vector<int64_t> dimensions;
  for (int64_t d = 0, next = 0; d < gather.shape().rank(); ++d) {
    next += next == attrs.index_vector_dim;
    dimensions.push_back(Contains(attrs.offset_dims, d) ? -1 : next++);
  }
  return KeepsRowDims(gather.shape(), indices, rows, [&](int64_t d) { return dimensions[d]; });
}

// Whether the result is available by rows if the operand number `operand` is.
bool KeepsRows(const Instruction& inst, int64_t operand, int64_t rows) {
  const Shape &to = inst.shape(), &from = inst.operand(operand).shape();
  if (!HasRows(from, rows)) return false;
  if (inst.Is(kElementwise)) return to.IsArray() && HasRows(to, rows) && SameDims(to, from);
  switch (inst.opcode()) {
    case Opcode::kReshape:
    case Opcode::kBitcast: return HasRows(to, rows) && to.NumElements() == from.NumElements();
    case Opcode::kBroadcast: {
      const std::vector<int64_t>& dimensions = inst.dimensions();
      return KeepsRowDims(to, from, rows, [&](int64_t d) {
        const auto at = std::ranges::find(dimensions, d);
        return at == dimensions.end() ? -1 : at - dimensions.begin();
      });
    }
    case Opcode::kTranspose: return KeepsRowDims(to, from, rows, [&](int64_t d) { return inst.dimensions()[d]; });
    case Opcode::kSlice: return LeavesRowDims(to, from, rows, [](int64_t) { return true; });
    case Opcode::kDynamicSlice: return operand == 0 && LeavesRowDims(to, from, rows, [](int64_t) { return true; });
    case Opcode::kConcatenate:
      return LeavesRowDims(to, from, rows,
                           [&](int64_t d) { return d != inst.attrs<OneDimensionAttrs>().dimension.value; });
    case Opcode::kReverse:
      return LeavesRowDims(to, from, rows, [&](int64_t d) { return !Contains(inst.dimensions(), d); });
    case Opcode::kPad:
      return operand == 0 && LeavesRowDims(to, from, rows, [&](int64_t d) {
               const PaddingDim& pad = inst.attrs<PadAttrs>().padding.dims[d];
               return pad.low == 0 && pad.high == 0 && pad.interior == 0;
             });
    case Opcode::kReduce: return operand < inst.operand_count() / 2;  // StaysInRows checks the dimensions.
    case Opcode::kReduceWindow: return operand < inst.operand_count() / 2;
    case Opcode::kGather: return operand == 1 && GathersByRows(inst, rows);
    case Opcode::kDot: return operand == 0 && MultipliesByRows(inst, rows, true);
    case Opcode::kTuple:
    case Opcode::kGetTupleElement: return true;
    default: return false;
  }
}

// Whether a row of the result needs only one row of the operands.
bool StaysInRows(const Instruction& inst, int64_t rows) {
  if (inst.Is(Opcode::kReduce)) return ReducesWithinRows(inst, rows);
  if (inst.Is(Opcode::kReduceWindow)) return WindowsWithinRows(inst, rows);
  if (inst.Is(Opcode::kDot)) return MultipliesByRows(inst, rows, false);
  return !inst.Is(kStandsAlone);
}

}  // namespace

std::vector<int64_t> RowCounts(const Instruction& kernel) {
  std::set<int64_t> counts;
  for (const Instruction* inst : FusedComputation(kernel).instructions()) {
    int64_t first = 0;
    if (inst->Is(Opcode::kReduce)) {
      const std::vector<int64_t>& reduced = inst->attrs<ReduceAttrs>().dimensions;
      while (first < inst->operand(0).shape().rank() &&
             (!Contains(reduced, first) || inst->operand(0).shape().dim(first) == 1))
        ++first;
    } else if (inst->Is(Opcode::kReduceWindow)) {
      const std::vector<WindowDim>& windows = inst->attrs<ReduceWindowAttrs>().window.dims;
      while (first < std::ssize(windows) && IsTrivial(windows[first])) ++first;
    } else if (inst->Is(Opcode::kGather)) {
      const int64_t rows = inst->operand(1).shape().NumElements();  // If each index vector has one coordinate.
      if (rows > 1 && HasRows(inst->shape(), rows)) counts.insert(rows);
      continue;
    } else {
      continue;
    }
    int64_t rows = 1;
    for (int64_t d = 0; d < first; ++d) rows *= inst->operand(0).shape().dim(d);
    if (rows > 1) counts.insert(rows);
  }
  return {counts.begin(), counts.end()};
}

bool MakesRows(const Instruction& kernel, int64_t rows, bool is_read,
               const std::function<bool(int64_t operand)>& has_rows) {
  const Computation& body = FusedComputation(kernel);
  std::vector<bool> by_rows(body.place_limit());  // By place: only the current row is available.
  for (const Instruction* inst : body.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      by_rows[inst->place()] = has_rows(inst->parameter_number());
      if (by_rows[inst->place()] && !HasRows(inst->shape(), rows)) return false;
      continue;
    }
    const auto is_by_rows = [&](int64_t i) { return by_rows[inst->operand(i).place()]; };
    if (inst->Is(Opcode::kDot) && inst->IsRoot() && !is_read && is_by_rows(1) && !is_by_rows(0)) {
      if (!MakesColumns(*inst, rows)) return false;
      continue;
    }
    if (!StaysInRows(*inst, rows)) return false;
    for (int64_t i = 0; i < inst->operand_count(); ++i) {
      if (!is_by_rows(i)) continue;
      if (!KeepsRows(*inst, i, rows)) return false;
      by_rows[inst->place()] = true;
    }
  }
  return std::ranges::all_of(FusionRoots(kernel),
                             [&](const Instruction* root) { return HasRows(root->shape(), rows); });
}

}  // namespace hlo
