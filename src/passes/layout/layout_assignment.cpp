// Makes every array row-major, except parameters and results of the entry: docs/architecture.md#layouts.
//
// Kernels index by row-major position, libraries take strides (transpose-folding), and channels-last is the row-major
// order of NHWC. The pass runs early, because rules compare whole shapes. Layouts affect values only at bitcasts, which
// first become transposes and reshapes.
#include <algorithm>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

std::vector<int64_t> PhysicalOrder(const Shape& shape) {
  const auto& minor_to_major = shape.layout().minor_to_major;
  return {minor_to_major.rbegin(), minor_to_major.rend()};
}

std::vector<int64_t> Permuted(const std::vector<int64_t>& dims, const std::vector<int64_t>& order) {
  std::vector<int64_t> permuted;
  for (const int64_t d : order) permuted.push_back(dims[d]);
  return permuted;
}

std::vector<int64_t> Inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  return inverse;
}

// bitcast(x) => transpose(reshape(transpose(x))): to memory order, to the result's dimensions in memory order, to their
// logical order.
Result<bool> ReplaceBitcast(Instruction& bitcast) {
  const Shape &from = bitcast.operand(0).shape(), &to = bitcast.shape();
  if (from.HasDefaultLayout() && to.HasDefaultLayout()) return false;
  if (from.type() != to.type())
    FAIL(UnsupportedAt(bitcast, "U020", "a bitcast cannot change the element type and the layout at once"));
  Computation& computation = bitcast.computation();
  const std::vector<int64_t> from_order = PhysicalOrder(from), to_order = PhysicalOrder(to);
  Instruction& physical =
      computation.AddLike(bitcast, Opcode::kTranspose, from.WithDims(Permuted(from.dims(), from_order)),
                          {&bitcast.operand(0)}, DimensionsAttrs{from_order});
  Instruction& reshaped =
      computation.AddLike(bitcast, Opcode::kReshape, to.WithDims(Permuted(to.dims(), to_order)), {&physical});
  // The value keeps its layout, because a bitcast that reads it depends on it.
  Instruction& logical =
      computation.AddLike(bitcast, Opcode::kTranspose, to, {&reshaped}, DimensionsAttrs{Inverse(to_order)});
  if (LOGS_WHY())
    LogWhy("layout-assignment", bitcast, "=> transpose, reshape, transpose", "it reads the bytes in memory order");
  bitcast.ReplaceAllUses(logical);
  computation.Remove(bitcast);
  return true;
}

Instruction& InLayout(Instruction& value, const Shape& wanted) {
  if (value.shape() == wanted) return value;
  Computation& computation = value.computation();
  if (!wanted.IsTuple()) return computation.AddLike(value, Opcode::kCopy, wanted, {&value});
  std::vector<Instruction*> elements;
  for (size_t i = 0; i < wanted.elements().size(); ++i) {
    Instruction& element = value.Is(Opcode::kTuple) ? value.operand(i) : computation.AddGetTupleElement(value, i);
    elements.push_back(&InLayout(element, wanted.element(i)));
  }
  return computation.AddTuple(elements);
}

bool IsAwaited(const Instruction& inst) {
  for (const Instruction* other : inst.computation().instructions()) {
    const auto before = other->control_predecessors();
    if (std::ranges::find(before, &inst) != before.end()) return true;
  }
  return false;
}

void LogEntry(const Instruction& inst, const Shape& wanted) {
  if (!LOGS_WHY()) return;
  LogWhy("layout-assignment", inst, Str("=> ", wanted.ToStringWithLayout(), " and a copy"),
         "entry_computation_layout gives its layout outside");
}

bool FitEntry(Module& module) {
  Computation& entry = module.entry();
  bool changed = false;
  if (module.header.entry_parameters) {
    for (Instruction* parameter : entry.parameters()) {
      const Shape& wanted = module.header.entry_parameters->element(parameter->parameter_number());
      if (!Compatible(wanted, parameter->shape()) || wanted == parameter->shape()) continue;
      LogEntry(*parameter, wanted);
      const Shape inside = parameter->shape();
      const std::vector<Instruction*> users(parameter->users().begin(), parameter->users().end());
      parameter->SetShape(wanted);
      Instruction& copy = InLayout(*parameter, inside);
      for (Instruction* user : users) {
        for (int64_t i = 0; i < user->operand_count(); ++i) {
          if (&user->operand(i) == parameter) user->SetOperand(i, copy);
        }
      }
      if (parameter->IsRoot()) entry.SetRoot(copy);
      changed = true;
    }
  }
  if (module.header.entry_result && Compatible(*module.header.entry_result, entry.root().shape()) &&
      *module.header.entry_result != entry.root().shape()) {
    Instruction& root = entry.root();
    LogEntry(root, *module.header.entry_result);
    Instruction& result = InLayout(root, *module.header.entry_result);
    result.SetOrigin(root.origin());
    entry.SetRoot(result);
    if (root.Is(Opcode::kTuple) && root.IsDead() && !IsAwaited(root)) entry.RemoveDeadTree(root);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> AssignLayouts(Module& module, const PassContext&) {
  const bool logs = LOGS_WHY();
  Fingerprinter fingerprints;
  const uint64_t before = fingerprints.FingerprintOf(module);
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kBitcast)) TRY(ReplaceBitcast(*inst));
    }
  }
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* inst : computation->Instructions()) {
      Shape shape = inst->shape().WithDefaultLayout();
      if (shape == inst->shape()) continue;
      if (logs)
        LogWhy("layout-assignment", *inst, Str("=> ", shape.ToStringWithLayout()), "every array inside is row-major");
      if (inst->Is(kHoldsLiteral))
        inst->mutable_attrs<ConstantAttrs>().literal.SetLayout(shape.IsArray() ? shape.layout() : Layout());
      inst->SetShape(std::move(shape));
    }
  }
  FitEntry(module);
  return fingerprints.FingerprintOf(module) != before;
}

}  // namespace hlo
