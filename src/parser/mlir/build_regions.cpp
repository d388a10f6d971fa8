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
    branches.push_back(TRY(to.LowerControlRegion(op, i, captured, false)));
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
  const std::vector<ValueId> captured = to.Captured(op.regions);
  Operands values = to.AllOperands(op);
  for (const ValueId value : captured) values.push_back(&to.Value(value));
  if (op.result_count != std::ssize(op.operands))
    FAIL(ErrorAtOp(op, "V001", Str("a loop has ", op.operands.size(), " operands and ", op.result_count, " results")));
  WhileAttrs attrs;
  attrs.body = TRY(to.LowerControlRegion(op, 1, captured, true));
  attrs.condition = TRY(to.LowerControlRegion(op, 0, captured, false));
  Instruction& state = to.Together(op, std::move(values));
  Instruction& loop = to.Add(op, Opcode::kWhile, state.shape(), {&state}, attrs);
  if (op.result_count + captured.size() == 1) return to.SetResults(op, loop);
  for (int32_t i = 0; i < op.result_count; ++i)
    to.SetResult(op, i, to.Add(op, Opcode::kGetTupleElement, to.ResultShape(op, i), {&loop}, IndexAttrs{i}));
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

}  // namespace hlo::mlir
