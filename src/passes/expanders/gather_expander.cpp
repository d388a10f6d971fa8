// Expands a gather to a loop over its windows. A single window becomes a dynamic-slice, which clamps indices like a
// gather. {simple_only=true} expands only gathers of a single window.
#include <algorithm>

#include "ir/dimensions.h"
#include "passes/expanders/windows.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

int64_t WindowsOf(const Shape& indices, int64_t index_vector_dim) {
  int64_t windows = 1;
  for (int64_t d = 0; d < indices.rank(); ++d) windows *= d == index_vector_dim ? 1 : indices.dim(d);
  return windows;
}

Result<Instruction*> ExpandGather(Instruction& inst, const PassContext& context) {
  const auto& attrs = inst.attrs<GatherAttrs>();
  Instruction &operand = inst.operand(0), &indices = inst.operand(1);
  const int64_t windows = WindowsOf(indices.shape(), attrs.index_vector_dim);
  if (context.Get<ExpansionOptions>().simple_only && windows != 1) return nullptr;
  if (inst.shape().NumElements() == 0 || inst.shape().HasDynamicDims() || operand.shape().HasDynamicDims() ||
      indices.shape().HasDynamicDims() || indices.shape().type() == PrimitiveType::kU64)
    return nullptr;
  const Positions positions = PositionsOf(inst, indices, attrs.index_vector_dim, attrs.start_index_map,
                                          attrs.operand_batching_dims, attrs.start_indices_batching_dims);
  const int64_t rank = operand.shape().rank();
  std::vector<int64_t> window;
  for (int64_t d = 0; d < rank; ++d) {
    if (!Contains(attrs.collapsed_slice_dims, d) && !Contains(attrs.operand_batching_dims, d))
      window.push_back(attrs.slice_sizes[d]);
  }
  std::vector<int64_t> rows = {windows};
  rows.insert(rows.end(), window.begin(), window.end());
  const auto take = [&](Instruction& x, Instruction& table, Instruction& row) {
    std::vector<Instruction*> operands = PositionOf(inst, positions, table, row, rank);
    operands.insert(operands.begin(), &x);
    const Shape shape(x.shape().type(), Dims(attrs.slice_sizes.begin(), attrs.slice_sizes.end()));
    return Beside(inst, Opcode::kDynamicSlice, shape, operands, DynamicSliceAttrs{attrs.slice_sizes});
  };
  const auto write = [&](Computation&, Instruction& row, const std::vector<Instruction*>& state,
                         const std::vector<Instruction*>& given) -> std::vector<Instruction*> {
    std::vector<int64_t> one = rows;
    one[0] = 1;
    Instruction* const slice = Reshaped(inst, take(*given[0], *given[1], row), one);
    if (windows == 1) return {slice};
    std::vector<Instruction*> operands = {state[0], slice, &row};
    for (size_t d = 1; d < rows.size(); ++d)
      operands.push_back(&row.computation().AddConstant(Literal::Scalar(row.shape().type(), int64_t{0})));
    return {Beside(inst, Opcode::kDynamicUpdateSlice, state[0]->shape(), operands)};
  };
  std::vector<Instruction*> state;
  if (windows != 1) {
    Instruction& zero = inst.computation().AddConstant(Literal(Shape::Scalar(inst.shape().type())));
    state.push_back(Beside(inst, Opcode::kBroadcast, Shape(inst.shape().type(), Dims(rows.begin(), rows.end())),
                           {&zero}, DimensionsAttrs{}));
  }
  Instruction* result = ForEachWindow(inst, windows, state, {&operand, positions.table}, write)[0];
  std::vector<int64_t> apart, batch, order(inst.shape().rank());
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    if (!Contains(attrs.offset_dims, d)) batch.push_back(d);
  }
  for (const int64_t d : batch) apart.push_back(inst.shape().dim(d));
  apart.insert(apart.end(), window.begin(), window.end());
  for (size_t i = 0; i < batch.size(); ++i) order[batch[i]] = static_cast<int64_t>(i);
  for (size_t i = 0; i < attrs.offset_dims.size(); ++i)
    order[attrs.offset_dims[i]] = static_cast<int64_t>(batch.size() + i);
  return Transposed(inst, Reshaped(inst, result, apart), order);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"X.gath.1", Opcode::kGather, ExpandGather, Preserves::kExact, "gather(x, i) => a dynamic-slice of x for each row of i"},
};
// clang-format on

}  // namespace

std::span<const Rule> GatherRules() { return kRules; }

Result<bool> ExpandGathers(Module& module, const PassContext& context) { return RewriteEach(module, context, kRules); }

}  // namespace hlo
