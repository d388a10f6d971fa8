// In a module for one device, collectives return their operands, ids are 0, and asynchronous operations finish at their
// start.
#include <algorithm>

#include "ir/analysis/matrix_loops.h"
#include "ir/control_edges.h"
#include "ir/module.h"
#include "passes/collective_groups.h"
#include "passes/pass.h"

namespace hlo {
namespace {

Instruction& Zero(Instruction& like, const Shape& shape) {
  Instruction& scalar = like.computation().AddConstant(Literal(Shape(shape.type(), {})));
  if (shape.IsScalar()) return scalar;
  return like.computation().AddLike(like, Opcode::kBroadcast, shape, {&scalar}, DimensionsAttrs{});
}

Instruction& As(Instruction& like, Instruction& value, const Shape& shape) {
  if (value.shape() == shape) return value;
  return like.computation().AddLike(like, Opcode::kCopy, shape, {&value});
}

// A tuple of `values`, followed by zeros for unused elements of `shape`. Null if a value does not fit.
Instruction* TupleOf(Instruction& like, const Shape& shape, std::vector<Instruction*> values) {
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    const Shape& element = shape.element(static_cast<int64_t>(i));
    if (i >= values.size() && !element.IsArray()) return nullptr;
    if (i >= values.size()) values.push_back(&Zero(like, element));
    else if (!Compatible(values[i]->shape(), element)) return nullptr;
    else if (element.IsArray()) values[i] = &As(like, *values[i], element);
  }
  return values.size() == shape.elements().size() ? &like.computation().AddLike(like, Opcode::kTuple, shape, values)
                                                  : nullptr;
}

Instruction* OperandsOf(Instruction& inst, const Shape& shape) {
  if (shape.IsTuple()) return TupleOf(inst, shape, {inst.operands().begin(), inst.operands().end()});
  if (inst.operand_count() != 1 || !Compatible(inst.operand(0).shape(), shape)) return nullptr;
  return &As(inst, inst.operand(0), shape);
}

bool IsAlone(const Instruction& collective) {
  const IdGroups groups = WrittenGroups(collective);
  return groups.empty() || groups == IdGroups{{0}};
}

Instruction* Permuted(Instruction& inst, const Shape& shape) {
  if (inst.operand_count() != 1 || !shape.IsArray()) return nullptr;
  const auto& pairs = inst.attrs<PermuteAttrs>().source_target_pairs;
  if (pairs.empty()) return &Zero(inst, shape);
  return pairs.size() == 1 && pairs.front() == std::vector<int64_t>{0, 0} ? OperandsOf(inst, shape) : nullptr;
}

Instruction* StartTuple(Instruction& inst, Instruction* result) {
  if (result == nullptr || inst.operand_count() != 1) return nullptr;
  return TupleOf(inst, inst.shape(), {&inst.operand(0), result});
}

Instruction* DoneElement(Instruction& inst, int64_t part) {
  Instruction& start = inst.operand(0);
  if (!start.Is(Opcode::kTuple)) return nullptr;
  return &As(inst, start.operand(part), inst.shape());
}

// Copies rows update by update. Rows outside of input or output are undefined in HLO (R041 in the interpreter).
Instruction* RaggedToItself(Instruction& inst) {
  constexpr int64_t kMostUpdates = 64;
  const Shape &input = inst.operand(0).shape(), &output = inst.shape(), &offsets = inst.operand(2).shape();
  const bool is_plain = input.IsArray() && !input.HasDynamicDims() && !output.HasDynamicDims() && input.rank() > 0 &&
                        input.rank() == output.rank() && input.NumElements() > 0 && offsets.rank() == 1;
  if (!is_plain || offsets.dim(0) > kMostUpdates || inst.operand_count() != 6 || !IsAlone(inst)) return nullptr;
  Writer w(inst, inst.computation());
  const int64_t rows = output.dim(0);
  const Shape column(PrimitiveType::kS64, {rows});
  Instruction* const row = w.Add(Opcode::kIota, column, {}, IotaAttrs{0});
  const auto everywhere = [&](Instruction* x) { return w.Add(Opcode::kBroadcast, column, {x}, DimensionsAttrs{}); };
  const auto number = [&](int64_t operand, int64_t update) {
    Instruction* x = &inst.operand(operand);
    x = w.Add(Opcode::kSlice, x->shape().WithDims({1}), {x}, SliceAttrs{SliceRanges{{{update, update + 1, 1}}}});
    x = w.Add(Opcode::kReshape, x->shape().WithDims({}), {x}, ReshapeAttrs());
    return everywhere(w.Add(Opcode::kConvert, Shape(PrimitiveType::kS64, {}), {x}));
  };
  GatherAttrs by_row;
  for (int64_t d = 0; d < input.rank(); ++d) by_row.slice_sizes.push_back(d == 0 ? 1 : input.dim(d));
  for (int64_t d = 1; d < input.rank(); ++d) by_row.offset_dims.push_back(d);
  by_row.collapsed_slice_dims = by_row.start_index_map = {0};
  by_row.index_vector_dim = 1;
  Instruction* result = &inst.operand(1);
  for (int64_t u = 0; u < offsets.dim(0); ++u) {
    Instruction *const first = number(2, u), *const count = number(3, u), *const place = number(4, u);
    Instruction* const own = w.Binary(Opcode::kSubtract, row, place);
    Instruction* const from = w.Binary(Opcode::kAdd, own, first);
    Instruction* const last = everywhere(w.Constant(static_cast<double>(input.dim(0) - 1), Shape(column.type(), {})));
    Instruction* moved = w.Binary(
        Opcode::kAnd, w.Compare(own, ComparisonDirection::kGe, everywhere(w.Constant(0, Shape(column.type(), {})))),
        w.Compare(own, ComparisonDirection::kLt, count));
    moved = w.Binary(Opcode::kAnd, moved, w.Compare(from, ComparisonDirection::kLe, last));
    Instruction* const rows_of_input = w.Add(Opcode::kGather, output, {&inst.operand(0), from}, by_row);
    result = w.Select(w.Widen(moved, output.WithType(PrimitiveType::kPred), {}), rows_of_input, result);
  }
  return result;
}

// Whether all users are async-dones, directly or through async-updates without further operands.
bool HasOnlyDones(const Instruction& start) {
  return std::ranges::all_of(start.users(), [](const Instruction* user) {
    if (user->Is(Opcode::kAsyncUpdate)) return user->operand_count() == 1 && HasOnlyDones(*user);
    return user->Is(Opcode::kAsyncDone);
  });
}

// The value on a single device, or null if `inst` stays.
Instruction* WithoutOthers(Instruction& inst) {
  const Shape& shape = inst.shape();
  switch (inst.opcode()) {
    case Opcode::kPartitionId:
    case Opcode::kReplicaId: return &Zero(inst, shape);
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveReduce:
    case Opcode::kReduceScatter:
    case Opcode::kAllReduceStart: return IsAlone(inst) ? OperandsOf(inst, shape) : nullptr;
    // A second operand may select the source device.
    case Opcode::kCollectiveBroadcast:
      return IsAlone(inst) && inst.operand_count() == 1 ? OperandsOf(inst, shape) : nullptr;
    case Opcode::kCollectivePermute: return Permuted(inst, shape);
    case Opcode::kRaggedAllToAll: return RaggedToItself(inst);
    case Opcode::kAllGatherStart:
      return IsAlone(inst) && shape.IsTuple() ? StartTuple(inst, OperandsOf(inst, shape.element(1))) : nullptr;
    case Opcode::kCollectivePermuteStart:
      return shape.IsTuple() ? StartTuple(inst, Permuted(inst, shape.element(1))) : nullptr;
    case Opcode::kCopyStart:
      return TupleOf(inst, shape, {&As(inst, inst.operand(0), shape.element(0)), &inst.operand(0)});
    case Opcode::kAllReduceDone: return inst.operand(0).Is(Opcode::kAllReduceStart) ? nullptr : OperandsOf(inst, shape);
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kAsyncDone: return DoneElement(inst, 1);
    case Opcode::kCopyDone: return DoneElement(inst, 0);
    case Opcode::kAsyncUpdate: return inst.operand(0).Is(Opcode::kTuple) ? &inst.operand(0) : nullptr;
    case Opcode::kAsyncStart: {
      Computation* const calls = inst.attrs<AsyncAttrs>().calls;
      if (calls == nullptr || !shape.IsTuple() || shape.elements().size() < 2) return nullptr;
      // If an async-update has further operands, the computation runs only after it.
      if (!HasOnlyDones(inst) || inst.operand_count() != std::ssize(calls->parameters())) return nullptr;
      const std::vector<Instruction*> operands(inst.operands().begin(), inst.operands().end());
      Instruction* const given = TupleOf(inst, shape.element(0), operands);
      if (given == nullptr) return nullptr;
      CallAttrs attrs;
      attrs.to_apply = calls;
      return TupleOf(inst, shape,
                     {given, &inst.computation().AddLike(inst, Opcode::kCall, shape.element(1), operands, attrs)});
    }
    default: return nullptr;
  }
}

}  // namespace

Result<bool> SimplifyForOneDevice(Module& module, const PassContext& context) {
  if (module.header.replica_count != 1 || module.header.num_partitions != 1) return false;
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    Replacements gone;
    for (Instruction* inst : computation->PostOrder()) {
      const bool is_one = inst->Is(kCollective) || inst->Is(Opcode::kPartitionId) || inst->Is(Opcode::kReplicaId) ||
                          inst->Is(Opcode::kCopyStart) || inst->Is(Opcode::kCopyDone) ||
                          inst->Is(Opcode::kAsyncStart) || inst->Is(Opcode::kAsyncUpdate) ||
                          inst->Is(Opcode::kAsyncDone);
      if (!is_one || !context.ConsumeFuel()) continue;
      Instruction* const value = WithoutOthers(*inst);
      if (value == nullptr) continue;
      inst->ReplaceAllUses(*value);
      gone[inst] = RunsAfter(*inst);
      computation->Remove(*inst);
    }
    changed |= CloseGaps(*computation, gone);
  }
  return changed;
}

}  // namespace hlo
