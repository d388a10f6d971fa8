#include "passes/expanders/windows.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace hlo {
namespace {

Shape ArrayOf(const Instruction* value, const std::vector<int64_t>& dims) {
  return Shape(value->shape().type(), Dims(dims.begin(), dims.end()));
}

// A type that holds every index and its bounds, or nullopt.
std::optional<PrimitiveType> PositionType(PrimitiveType type) {
  if (type == PrimitiveType::kU64) return std::nullopt;
  return BitWidth(type) > 32 || type == PrimitiveType::kU32 ? PrimitiveType::kS64 : PrimitiveType::kS32;
}

Instruction* ScalarOf(Computation& computation, PrimitiveType type, int64_t value) {
  return &computation.AddConstant(Literal::Scalar(type, value));
}

}  // namespace

Instruction* Beside(const Instruction& like, Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                    Attributes attrs) {
  return &operands.front()->computation().AddLike(like, opcode, std::move(shape), operands, std::move(attrs));
}

Instruction* Reshaped(const Instruction& like, Instruction* value, const std::vector<int64_t>& dims) {
  const Shape shape = ArrayOf(value, dims);
  return value->shape() == shape ? value : Beside(like, Opcode::kReshape, shape, {value}, ReshapeAttrs{});
}

Instruction* Transposed(const Instruction& like, Instruction* value, const std::vector<int64_t>& order) {
  if (std::ranges::is_sorted(order)) return value;
  std::vector<int64_t> dims;
  for (const int64_t d : order) dims.push_back(value->shape().dim(d));
  return Beside(like, Opcode::kTranspose, ArrayOf(value, dims), {value}, DimensionsAttrs{order});
}

Instruction* Row(const Instruction& like, Instruction* values, Instruction& row) {
  std::vector<int64_t> sizes(values->shape().dims().begin(), values->shape().dims().end());
  std::vector<Instruction*> operands = {values, &row};
  for (size_t d = 1; d < sizes.size(); ++d) operands.push_back(ScalarOf(values->computation(), row.shape().type(), 0));
  sizes[0] = 1;
  Instruction* const slice =
      Beside(like, Opcode::kDynamicSlice, ArrayOf(values, sizes), operands, DynamicSliceAttrs{sizes});
  return Reshaped(like, slice, {sizes.begin() + 1, sizes.end()});
}

Positions PositionsOf(Instruction& inst, Instruction& indices, int64_t index_vector_dim,
                      std::span<const int64_t> index_map, std::span<const int64_t> operand_batching_dims,
                      std::span<const int64_t> indices_batching_dims) {
  Positions positions{nullptr, {index_map.begin(), index_map.end()}, 1};
  const auto type = PositionType(indices.shape().type());
  if (!type || indices.shape().HasDynamicDims()) return positions;
  Instruction* table = &indices;
  if (indices.shape().type() != *type) table = Beside(inst, Opcode::kConvert, indices.shape().WithType(*type), {table});
  std::vector<int64_t> order, dims;
  for (int64_t d = 0; d < indices.shape().rank(); ++d) {
    if (d == index_vector_dim) continue;
    order.push_back(d);
    dims.push_back(indices.shape().dim(d));
    positions.windows *= dims.back();
  }
  if (index_vector_dim < indices.shape().rank()) order.push_back(index_vector_dim);
  table = Transposed(inst, table, order);
  std::vector<Instruction*> columns;
  if (!index_map.empty())
    columns.push_back(Reshaped(inst, table, {positions.windows, static_cast<int64_t>(index_map.size())}));
  for (size_t i = 0; i < operand_batching_dims.size(); ++i) {
    const auto at = std::ranges::find(order, indices_batching_dims[i]) - order.begin();
    const Shape shape(*type, Dims(dims.begin(), dims.end()));
    Instruction* const count = &inst.computation().AddLike(inst, Opcode::kIota, shape, {}, IotaAttrs{at});
    columns.push_back(Reshaped(inst, count, {positions.windows, 1}));
    positions.dimensions.push_back(operand_batching_dims[i]);
  }
  const auto width = static_cast<int64_t>(positions.dimensions.size());
  if (columns.size() == 1) {
    positions.table = columns[0];
  } else if (columns.empty()) {
    positions.table = Reshaped(inst, table, {positions.windows, 0});
  } else {
    positions.table =
        Beside(inst, Opcode::kConcatenate, Shape(*type, {positions.windows, width}), columns, OneDimensionAttrs{{1}});
  }
  return positions;
}

std::vector<Instruction*> PositionOf(const Instruction& like, const Positions& positions, Instruction& table,
                                     Instruction& row, int64_t rank) {
  const PrimitiveType type = table.shape().type();
  std::vector<Instruction*> scalars(rank);
  if (!positions.dimensions.empty()) {
    Instruction* const columns = Row(like, &table, row);
    for (size_t i = 0; i < positions.dimensions.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      Instruction* const column =
          positions.dimensions.size() == 1
              ? columns
              : Beside(like, Opcode::kSlice, Shape(type, {1}), {columns}, SliceAttrs{SliceRanges{{{at, at + 1, 1}}}});
      scalars[positions.dimensions[i]] = Reshaped(like, column, {});
    }
  }
  for (Instruction*& scalar : scalars) {
    if (scalar == nullptr) scalar = ScalarOf(row.computation(), type, 0);
  }
  return scalars;
}

std::vector<Instruction*> ForEachWindow(Instruction& inst, int64_t windows, const std::vector<Instruction*>& state,
                                        const std::vector<Instruction*>& given, const WindowStep& step) {
  Computation& caller = inst.computation();
  const PrimitiveType type = windows <= std::numeric_limits<int32_t>::max() ? PrimitiveType::kS32 : PrimitiveType::kS64;
  if (windows == 1) return step(caller, *ScalarOf(caller, type, 0), state, given);
  std::vector<Instruction*> first = {ScalarOf(caller, type, 0)};
  first.insert(first.end(), state.begin(), state.end());
  first.insert(first.end(), given.begin(), given.end());
  Instruction& init = caller.AddTuple(first);

  Computation& condition = inst.module().AddComputation("more_windows");
  Instruction& all = condition.AddParameter(0, init.shape(), "state");
  condition.SetRoot(condition.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred),
                                  {&condition.AddGetTupleElement(all, 0), ScalarOf(condition, type, windows)},
                                  CompareAttrs{ComparisonDirection::kLt, ComparisonType::kDefault}));

  Computation& body = inst.module().AddComputation("each_window");
  Instruction& before = body.AddParameter(0, init.shape(), "state");
  std::vector<Instruction*> values;
  for (size_t i = 0; i < first.size(); ++i) values.push_back(&body.AddGetTupleElement(before, static_cast<int64_t>(i)));
  const auto state_end = values.begin() + 1 + std::ssize(state);
  Instruction& next = body.Add(Opcode::kAdd, Shape::Scalar(type), {values[0], ScalarOf(body, type, 1)});
  std::vector<Instruction*> after = {&next};
  const std::vector<Instruction*> results =
      step(body, *values[0], {values.begin() + 1, state_end}, {state_end, values.end()});
  after.insert(after.end(), results.begin(), results.end());
  after.insert(after.end(), state_end, values.end());
  body.SetRoot(body.AddTuple(after));

  Instruction& loop = caller.AddLike(inst, Opcode::kWhile, init.shape(), {&init}, WhileAttrs{&condition, &body});
  std::vector<Instruction*> last;
  for (size_t i = 0; i < state.size(); ++i)
    last.push_back(&caller.AddGetTupleElement(loop, static_cast<int64_t>(i) + 1));
  return last;
}

}  // namespace hlo
