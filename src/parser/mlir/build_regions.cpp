// Calls, control flow, and operations that apply a function to elements.
#include "parser/mlir/builders.h"
#include "parser/mlir/stablehlo_ops.h"

namespace hlo::mlir {

Status BuildReturn(Lowering& to, const Operation& op) { return to.Return(op); }

Status BuildCall(Lowering& to, const Operation& op) {
  const std::string callee = TRY(TextOf(op, "callee"));
  CallAttrs attrs{.to_apply = TRY(to.LowerFunction(callee, op))};
  return to.Build(op, to.AllOperands(op), attrs);
}

// A branch takes the values from outside that it uses as one operand.
Status BuildConditional(Lowering& to, const Operation& op) {
  const bool is_if = op.name == "stablehlo.if";
  if (op.operands.size() != 1) FAIL(ErrorAtOp(op, "V001", Str("'", op.name, "' takes 1 operand")));
  if (is_if) TRY(to.ExpectRegions(op, 2));
  if (op.regions.empty()) FAIL(ErrorAtOp(op, "P010", "there are no branches"));
  Operands operands = {&to.Operand(op, 0)};
  std::vector<Computation*> branches;
  for (size_t i = 0; i < op.regions.size(); ++i) {
    const std::vector<ValueId> captured = to.Captured({&op.regions[i], 1});
    Operands values;
    for (const ValueId value : captured) values.push_back(&to.Value(value));
    operands.push_back(&to.Together(op, std::move(values)));
    branches.push_back(TRY(to.LowerControlRegion(op, i, {}, captured, false)));
  }
  ConditionalAttrs attrs;
  if (is_if) {
    attrs.true_computation = branches[0];
    attrs.false_computation = branches[1];
  } else {
    attrs.branch_computations = std::move(branches);
  }
  return to.Build(op, std::move(operands), std::move(attrs));
}

// The state is a tuple, unless it is one value. Values from outside that the loop uses are part of it.
Status BuildWhile(Lowering& to, const Operation& op) {
  TRY(to.ExpectRegions(op, 2));
  if (op.carried.size() != op.operands.size())
    FAIL(ErrorAtOp(op, "V001", "the operands, the results, the arguments and the returned values differ in number"));
  const std::vector<ValueId> captured = to.Captured(op.regions);
  Operands values = to.AllOperands(op);
  for (const ValueId value : captured) values.push_back(&to.Value(value));
  WhileAttrs attrs;
  attrs.body = TRY(to.LowerControlRegion(op, 1, op.carried, captured, true));
  attrs.condition = TRY(to.LowerControlRegion(op, 0, op.carried, captured, false));
  Instruction& state = to.Together(op, std::move(values));
  Instruction& loop = to.Add(op, Opcode::kWhile, state.shape(), {&state}, attrs);
  for (int32_t i = 0; i < std::ssize(op.carried); ++i) {
    Instruction* result = &loop;
    if (loop.shape().IsTuple() && op.carried.size() + captured.size() != 1)
      result = &to.Add(op, Opcode::kGetTupleElement, to.ResultShape(op, op.carried[i]), {&loop}, IndexAttrs{i});
    to.SetResult(op, op.carried[i], *result);
  }
  return {};
}

Status BuildReduce(Lowering& to, const Operation& op) {
  TRY(to.ExpectRegions(op, 1));
  ReduceAttrs attrs{.dimensions = TRY(IntsOf(op, "dimensions"))};
  attrs.to_apply = TRY(to.LowerRegion(op, 0));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildMap(Lowering& to, const Operation& op) {
  TRY(to.ExpectRegions(op, 1));
  MapAttrs attrs{.dimensions = TRY(IntsOf(op, "dimensions"))};
  attrs.to_apply = TRY(to.LowerRegion(op, 0));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildSort(Lowering& to, const Operation& op) {
  TRY(to.ExpectRegions(op, 1));
  if (op.operands.empty()) FAIL(ErrorAtOp(op, "V001", "a sort needs an operand"));
  SortAttrs attrs{.dimension = {TRY(IntOf(op, "dimension", -1))}, .is_stable = TRY(BoolOf(op, "is_stable", false))};
  if (attrs.dimension.value < 0) attrs.dimension.value += to.OperandShape(op, 0).rank();
  attrs.to_apply = TRY(to.LowerRegion(op, 0));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

namespace {

// `width` numbers for each dimension. Missing ones are the default.
Status SetWindow(const Operation& op, std::string_view name, Window& window, int64_t WindowDim::* field) {
  const std::vector<int64_t> values = TRY(OptionalIntsOf(op, name));
  if (values.empty()) return {};
  if (values.size() != window.dims.size())
    FAIL(ErrorAtOp(op, "P037", Str("'", name, "' has ", values.size(), " entries, expected ", window.dims.size())));
  for (size_t i = 0; i < values.size(); ++i) window.dims[i].*field = values[i];
  return {};
}

Status SetPadding(const Operation& op, Window& window) {
  const std::vector<int64_t> padding = TRY(OptionalIntsOf(op, "padding"));
  if (padding.empty()) return {};
  if (padding.size() != 2 * window.dims.size())
    FAIL(ErrorAtOp(op, "P037", Str("'padding' has ", padding.size(), " entries, expected ", 2 * window.dims.size())));
  for (size_t i = 0; i < window.dims.size(); ++i) {
    window.dims[i].pad_low = padding[2 * i];
    window.dims[i].pad_high = padding[2 * i + 1];
  }
  return {};
}

}  // namespace

Result<Window> WindowOf(const Operation& op, std::vector<int64_t> sizes, std::string_view base_dilations,
                        std::string_view window_dilations) {
  Window window;
  for (const int64_t size : sizes) window.dims.push_back({.size = size});
  TRY(SetWindow(op, "window_strides", window, &WindowDim::stride));
  TRY(SetWindow(op, base_dilations, window, &WindowDim::base_dilation));
  TRY(SetWindow(op, window_dilations, window, &WindowDim::window_dilation));
  TRY(SetPadding(op, window));
  return window;
}

Status BuildReduceWindow(Lowering& to, const Operation& op) {
  TRY(to.ExpectRegions(op, 1));
  ReduceWindowAttrs attrs;
  attrs.window = TRY(WindowOf(op, TRY(IntsOf(op, "window_dimensions")), "base_dilations", "window_dilations"));
  attrs.to_apply = TRY(to.LowerRegion(op, 0));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildSelectAndScatter(Lowering& to, const Operation& op) {
  TRY(to.ExpectRegions(op, 2));
  SelectAndScatterAttrs attrs;
  attrs.window = TRY(WindowOf(op, TRY(IntsOf(op, "window_dimensions")), "", ""));
  attrs.select = TRY(to.LowerRegion(op, 0));
  attrs.scatter = TRY(to.LowerRegion(op, 1));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildScatter(Lowering& to, const Operation& op) {
  TRY(to.ExpectRegions(op, 1));
  const Attribute& numbers = *TRY(Need(op, "scatter_dimension_numbers"));
  ScatterAttrs attrs;
  attrs.update_window_dims = TRY(IntsOfField(numbers, "update_window_dims"));
  attrs.inserted_window_dims = TRY(IntsOfField(numbers, "inserted_window_dims"));
  attrs.scatter_dims_to_operand_dims = TRY(IntsOfField(numbers, "scatter_dims_to_operand_dims"));
  attrs.input_batching_dims = TRY(IntsOfField(numbers, "input_batching_dims"));
  attrs.scatter_indices_batching_dims = TRY(IntsOfField(numbers, "scatter_indices_batching_dims"));
  attrs.index_vector_dim = TRY(IntOfField(numbers, "index_vector_dim", 0));
  attrs.indices_are_sorted = TRY(BoolOf(op, "indices_are_sorted", false));
  attrs.unique_indices = TRY(BoolOf(op, "unique_indices", false));
  attrs.to_apply = TRY(to.LowerRegion(op, 0));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

}  // namespace hlo::mlir
