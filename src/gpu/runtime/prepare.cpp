#include "gpu/runtime/prepare.h"

#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "gpu/plan/planner.h"
#include "ir/side_effects.h"

namespace hlo::gpu {
namespace {

bool HasDynamicDims(const Shape& shape) {
  bool found = false;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { found = found || leaf.HasDynamicDims(); });
  return found;
}

bool EntersComputations(const Instruction& inst) { return inst.Is(kControl); }

void FlattenCalls(Module& module) {
  std::unordered_set<const Computation*> entered;
  std::vector<Computation*> todo = {&module.entry()};
  while (!todo.empty()) {
    Computation* computation = todo.back();
    todo.pop_back();
    for (Instruction* inst : computation->Instructions()) {
      if (!EntersComputations(*inst)) continue;
      ForEachCalled(inst->attributes(), [&](Computation*& called) {
        if (!entered.insert(called).second) called = &module.CloneComputation(*called, called->name());
        entered.insert(called);
        todo.push_back(called);
      });
    }
  }
}

}  // namespace

bool IsControlOrView(const Instruction& inst) {
  if (inst.Is(Opcode::kBitcast)) return !HasDynamicSizes(inst);
  // Between row-major shapes a reshape keeps the order of bytes, and is a view.
  if (inst.Is(Opcode::kReshape))
    return inst.shape().HasDefaultLayout() && inst.operand(0).shape().HasDefaultLayout() && !HasDynamicSizes(inst);
  return inst.Is(kHandsOn) || inst.Is(Opcode::kParameter) || inst.Is(Opcode::kConstant) || inst.Is(Opcode::kAfterAll) ||
         EntersComputations(inst);
}

bool IsStep(const Instruction& inst) {
  return !IsControlOrView(inst) && (inst.shape().ByteSize() > 0 || HasSideEffect(inst) || HasDynamicDims(inst.shape()));
}

bool HasDynamicSizes(const Instruction& inst) {
  if (HasDynamicDims(inst.shape())) return true;
  return std::ranges::any_of(inst.operands(),
                             [](const Instruction* operand) { return HasDynamicDims(operand->shape()); });
}

int64_t SizesOffset(const Shape& array) { return (array.ByteSize() + 7) / 8 * 8; }

int64_t BytesInMemory(const Shape& array) {
  return array.HasDynamicDims() ? SizesOffset(array) + 8 * array.rank() : array.ByteSize();
}

std::vector<Instruction*> RunOrder(const Computation& computation) {
  return computation.module().header.is_scheduled ? computation.Instructions() : computation.PostOrder();
}

bool MovesBytes(const Instruction& inst) { return inst.Is(Opcode::kCopy) && inst.shape() == inst.operand(0).shape(); }

std::unique_ptr<Module> Prepare(const Module& module, const DeviceDescription& device) {
  std::unique_ptr<Module> copy = module.Clone();
  CHECK(copy->has_entry(), module.name());
  TakeUnplannedRegionsApart(*copy, device);
  FlattenCalls(*copy);
  return copy;
}

bool FitsInto(const Shape& value, const Shape& shape) {
  if (shape.IsTuple()) {
    return value.IsTuple() && std::ranges::equal(value.elements(), shape.elements(), FitsInto);
  }
  if (!shape.HasDynamicDims()) return Compatible(value, shape);
  if (value.type() != shape.type() || value.rank() != shape.rank()) return false;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.IsDynamic(d) ? value.dim(d) > shape.dim(d) : value.dim(d) != shape.dim(d)) return false;
  }
  return true;
}

}  // namespace hlo::gpu
