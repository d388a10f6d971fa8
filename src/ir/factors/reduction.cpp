// Factor rules of reductions, windows and sorting: docs/ops.md#reductions.
#include "ir/factors/pick.h"
#include "ir/factors/rule_builder.h"
#include "ir/module.h"
#include "ir/reducer.h"

namespace hlo {
namespace {

std::optional<Opcode> KnownReducer(const Computation& reducer) {
  const std::optional<Opcode> op = ReducerOp(reducer);
  return op && IdentityOf(*op, reducer.root().shape().type()) ? op : std::nullopt;
}

std::vector<Spot> InAll(int64_t arrays, int64_t dim, int64_t results, int64_t result_dim) {
  std::vector<Spot> spots;
  for (int64_t leaf = 0; leaf < results; ++leaf) spots.push_back(InResult(result_dim, leaf));
  for (int64_t i = 0; i < arrays; ++i) spots.push_back(InOperand(i, dim));
  return spots;
}

// A scatter of a part needs all windows that meet the part, each whole.
Factor ScatteredWindows(const Instruction& inst, int64_t dim, const WindowDim& window) {
  const int64_t size = inst.shape().dim(dim), sources = inst.operand(1).shape().dim(dim), beyond = window.size - 1;
  const int64_t dilated = sources == 0 ? 0 : (sources - 1) * window.stride + 1;
  WindowDim of_sources{.size = window.size, .pad_low = beyond - window.pad_low, .base_dilation = window.stride};
  of_sources.pad_high = size + beyond - of_sources.pad_low - dilated;
  const WindowDim of_operand{.size = 2 * window.size - 1, .pad_low = beyond, .pad_high = beyond};
  return {.size = size, .kind = FactorKind::kWindow, .windows = {{0, dim, of_operand}, {1, dim, of_sources}}};
}

FactorRule OfSelectAndScatter(const Instruction& inst) {
  RuleBuilder rule(inst);
  const std::vector<WindowDim>& windows = inst.attrs<SelectAndScatterAttrs>().window.dims;
  for (int64_t dim = 0; dim < inst.shape().rank(); ++dim) {
    const WindowDim& window = windows[dim];
    const std::vector<Spot> spots = InAll(2, dim, 1, dim);
    const int64_t size = inst.shape().dim(dim), sources = inst.operand(1).shape().dim(dim);
    const bool is_tiled = window.size <= window.stride && window.pad_low == 0 && sources * window.stride == size;
    if (IsTrivial(window)) {
      rule.AddFree(size, spots);
    } else if (is_tiled && window.window_dilation == 1) {
      rule.AddFree(sources, spots);
      rule.AddWhole(window.stride, {InResult(dim), InOperand(0, dim)});
    } else if (window.base_dilation == 1 && window.window_dilation == 1)
      rule.Add(ScatteredWindows(inst, dim, window), spots);
  }
  return rule.Finish();
}

// Whether the result depends only on elements at the same place of the parameters.
bool IsElementwiseStep(const Computation& step) {
  const Shape& shape = step.parameter(0).shape();
  for (const Instruction* inst : step.instructions()) {
    const bool by_element = inst->Is(Opcode::kParameter) || inst->Is(kElementwise);
    if (!inst->Is(Opcode::kTuple) && !(by_element && SameDims(inst->shape(), shape))) return false;
  }
  return true;
}

// The op by which each step combines its input and its carry, or nullopt. The output must be the carry before or after
// the step.
std::optional<Opcode> RunningOp(const Instruction& scan) {
  const Computation& step = *scan.attrs<ScanAttrs>().to_apply;
  const Instruction& root = step.root();
  if (scan.operand_count() != 2 || scan.attrs<ScanAttrs>().num_carries != 1) return std::nullopt;
  if (!root.Is(Opcode::kTuple) || root.operand_count() != 2) return std::nullopt;
  const Instruction &element = step.parameter(0), &carry = step.parameter(1);
  const Instruction &result = root.operand(0), &next = root.operand(1);
  if (!next.Is(kElementwise) || !next.Is(kCommutative) || (&result != &next && &result != &carry)) return std::nullopt;
  const bool combines = (&next.operand(0) == &carry && &next.operand(1) == &element) ||
                        (&next.operand(0) == &element && &next.operand(1) == &carry);
  const PrimitiveType type = next.shape().type();
  const bool one_type = element.shape().type() == type && carry.shape().type() == type;
  return combines && one_type && IdentityOf(next.opcode(), type) ? std::optional(next.opcode()) : std::nullopt;
}

}  // namespace

// A pick needs no identity, because a value that is used twice changes nothing. If it is not commutative, such as a
// pick of the first NaN, only parts of the major dimension can be combined.
FactorRule FactorsOfReduce(const Instruction& inst) {
  RuleBuilder rule(inst);
  const ReduceAttrs& a = inst.attrs<ReduceAttrs>();
  const int64_t arrays = inst.operand_count() / 2, results = inst.shape().LeafCount();
  const Shape& input = inst.operand(0).shape();
  const std::optional<Opcode> op = arrays == 1 ? KnownReducer(*a.to_apply) : std::nullopt;
  const PickLaws pick = op ? PickLaws() : LawsOfPick(*a.to_apply).value_or(PickLaws());
  int64_t kept = 0;
  bool is_major = true;
  for (int64_t dim = 0; dim < input.rank(); ++dim) {
    if (!Contains(a.dimensions, dim)) {
      rule.AddFree(input.dim(dim), InAll(arrays, dim, results, kept++));
      continue;
    }
    const std::vector<Spot> spots = InAll(arrays, dim, 0, 0);
    Factor sum{.size = input.dim(dim), .kind = FactorKind::kSum, .reducer = op};
    if (op) sum.used_once = {1};
    if (op || (pick.associative && (pick.commutative || is_major))) rule.Add(sum, spots);
    else rule.Add({.size = input.dim(dim)}, spots);
    is_major = false;
  }
  return rule.Finish(op || pick.associative ? "" : "the reducer is not known to be associative");
}

FactorRule FactorsOfPooling(const Instruction& inst) {
  if (inst.Is(Opcode::kSelectAndScatter)) return OfSelectAndScatter(inst);
  RuleBuilder rule(inst);
  const int64_t arrays = inst.operand_count() / 2, results = inst.shape().LeafCount();
  const Shape& result = *LeavesOf(inst.shape())[0];
  for (int64_t dim = 0; dim < result.rank(); ++dim) {
    const WindowDim& window = inst.attrs<ReduceWindowAttrs>().window.dims[dim];
    const std::vector<Spot> spots = InAll(arrays, dim, results, dim);
    Factor factor{.size = result.dim(dim), .kind = FactorKind::kFree};
    if (!IsTrivial(window)) {
      factor.kind = FactorKind::kWindow;
      for (int64_t i = 0; i < arrays; ++i) factor.windows.push_back({i, dim, window});
    }
    rule.Add(factor, spots);
  }
  return rule.Finish();
}

// Carries and the values of a step lack the scanned dimension.
FactorRule FactorsOfScan(const Instruction& inst) {
  RuleBuilder rule(inst);
  const ScanAttrs& a = inst.attrs<ScanAttrs>();
  const int64_t along = a.dimension.value, inputs = inst.operand_count() - a.num_carries;
  const int64_t outputs = inst.shape().LeafCount() - a.num_carries;
  if (inputs == 0) return rule.Finish("the scan has no input");
  const Shape& input = inst.operand(0).shape();
  const std::optional<Opcode> op = RunningOp(inst);
  if (op) {
    Factor scan{.size = input.dim(along), .kind = FactorKind::kScan, .reducer = op, .used_once = {1}};
    rule.Add(scan, InAll(inputs, along, outputs, along));
  }
  if (!IsElementwiseStep(*a.to_apply)) return rule.Finish("a step of the scan mixes elements");
  for (int64_t dim = 0; dim < input.rank(); ++dim) {
    if (dim == along) continue;
    const int64_t carried = dim - (dim > along ? 1 : 0);
    std::vector<Spot> spots = InAll(inputs, dim, outputs, dim);
    for (int64_t i = 0; i < a.num_carries; ++i) {
      spots.push_back(InOperand(inputs + i, carried));
      spots.push_back(InResult(carried, outputs + i));
    }
    rule.AddFree(input.dim(dim), spots);
  }
  return rule.Finish(op ? "" : "the step of the scan is not known to be associative");
}

FactorRule FactorsOfSort(const Instruction& inst) {
  RuleBuilder rule(inst);
  const Shape& keys = inst.operand(0).shape();
  for (int64_t dim = 0; dim < keys.rank(); ++dim) {
    const bool sorted = dim == inst.attrs<SortAttrs>().dimension.value;
    const Factor factor{.size = keys.dim(dim), .kind = sorted ? FactorKind::kWhole : FactorKind::kFree};
    rule.Add(factor, InAll(inst.operand_count(), dim, inst.shape().LeafCount(), dim));
  }
  return rule.Finish();
}

// The largest elements are among the largest of the parts.
FactorRule FactorsOfTopK(const Instruction& inst) {
  RuleBuilder rule(inst);
  const Shape& array = inst.operand(0).shape();
  const int64_t last = array.rank() - 1;
  for (int64_t dim = 0; dim < last; ++dim) rule.AddFree(array.dim(dim), InAll(1, dim, 2, dim));
  rule.Add({.size = array.dim(last), .kind = FactorKind::kSum, .reducer = Opcode::kTopK}, {InOperand(0, last)});
  return rule.Finish();
}

}  // namespace hlo
