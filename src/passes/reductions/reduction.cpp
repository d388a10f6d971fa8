#include "passes/reductions/reduction.h"

#include <algorithm>

#include "ir/module.h"
#include "ir/reducer.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Threads of a warp, the unit of XLA's thresholds below.
constexpr int64_t kWarp = 32;

bool AreNeighbours(const std::vector<int64_t>& dims) {
  return dims.empty() || dims.back() - dims.front() + 1 == std::ssize(dims);
}

int64_t Product(const Dims& dims, int64_t first, int64_t limit) {
  int64_t product = 1;
  for (int64_t d = first; d < limit; ++d) product *= dims[d];
  return product;
}

// Products of the sizes before, in and after the adjacent dimensions `middle`.
ReductionShape Partition(const Dims& dims, const std::vector<int64_t>& middle) {
  const int64_t first = middle.front(), limit = middle.back() + 1;
  return {false, Product(dims, 0, first), Product(dims, first, limit),
          Product(dims, limit, static_cast<int64_t>(dims.size()))};
}

// Whether a column reduction is faster than one thread for each sum.
bool ColumnsPay(const ReductionShape& shape) {
  return shape.middle >= 8 * kWarp || (shape.middle >= 4 * kWarp && shape.minor >= 3) ||
         (shape.middle >= 2 * kWarp && shape.minor >= 8) || (shape.middle >= kWarp && shape.minor >= kWarp);
}

bool IsConstant(const Instruction& inst, int64_t value) {
  return inst.Is(Opcode::kConstant) && inst.shape().IsScalar() &&
         inst.literal().BitEquals(Literal::Scalar(inst.shape().type(), static_cast<double>(value)));
}

bool IsRowMajorShape(const Shape& shape) {
  if (!shape.IsTuple()) return shape.HasDefaultLayout();
  return std::ranges::all_of(shape.elements(), IsRowMajorShape);
}

}  // namespace

bool IsRowMajor(const Instruction& reduce) {
  return IsRowMajorShape(reduce.shape()) && std::ranges::all_of(reduce.operands(), [](const Instruction* operand) {
           return IsRowMajorShape(operand->shape());
         });
}

bool IsRowOrColumnReduction(const Instruction& reduce, ReductionShape* shape) {
  const Dims& dims = reduce.operand(0).shape().dims();
  std::vector<int64_t> reduced = reduce.attrs<ReduceAttrs>().dimensions, kept;
  std::ranges::sort(reduced);
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (!std::ranges::binary_search(reduced, d)) kept.push_back(d);
  }
  if (reduced.empty()) return false;
  if (kept.empty()) {
    *shape = {true, 1, 1, Product(dims, 0, static_cast<int64_t>(dims.size()))};
  } else if (AreNeighbours(kept)) {
    const ReductionShape parts = Partition(dims, kept);
    if (parts.middle == 1) *shape = {true, 1, 1, parts.major * parts.minor};
    else if (parts.minor == 1) *shape = {false, 1, parts.major, parts.middle};
    else *shape = {true, parts.major, parts.middle, parts.minor};
  } else if (AreNeighbours(reduced)) {
    const ReductionShape parts = Partition(dims, reduced);
    *shape = parts.minor == 1 ? ReductionShape{true, 1, parts.major, parts.middle} : parts;
  } else {
    return false;
  }
  return shape->is_row ? shape->minor >= kWarp : ColumnsPay(*shape);
}

bool MayGroup(Opcode op, const Instruction& init) {
  const PrimitiveType type = init.shape().type();
  if (op == Opcode::kAdd) return !IsComplex(type) && IsConstant(init, 0);
  if (op == Opcode::kMultiply) return IsInteger(type) && IsConstant(init, 1);
  return IsIdempotent(op);
}

}  // namespace hlo
