// Replaces the entry's copies that change a layout by transposes between bitcasts, which can cancel or fuse.
#include "base/text.h"
#include "ir/module.h"
#include "passes/layout/order.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

Order MajorToMinor(const Shape& shape) {
  const auto& minor_to_major = shape.layout().minor_to_major;
  return {minor_to_major.rbegin(), minor_to_major.rend()};
}

// Whether the layout has no tiles and no memory space.
bool IsOrderAlone(const Shape& shape) {
  Shape plain = shape.WithDefaultLayout();
  plain.mutable_order() = shape.layout().minor_to_major;
  return plain == shape;
}

Instruction& Named(Instruction& like, Instruction& value, const Shape& shape) {
  if (value.shape() == shape) return value;
  return like.computation().AddLike(like, Opcode::kBitcast, shape, {&value});
}

// copy(x) => bitcast(transpose(bitcast(x))): dimensions of x in memory order, transposed to the result's memory order.
bool ReplaceCopy(Instruction& copy) {
  Instruction& x = copy.operand(0);
  if (!copy.shape().IsArray() || copy.shape().IsBuffer() || copy.shape().HasDynamicDims()) return false;
  if (x.shape().type() != copy.shape().type() || x.shape().layout() == copy.shape().layout()) return false;
  if (!IsOrderAlone(x.shape()) || !IsOrderAlone(copy.shape())) return false;
  if (!copy.control_predecessors().empty() || !copy.common().sharding.empty()) return false;
  const Order from = MajorToMinor(x.shape()), to = MajorToMinor(copy.shape());
  Instruction& bytes = Named(copy, x, InOrder(x.shape(), from));
  Instruction& transposed = copy.computation().AddLike(copy, Opcode::kTranspose, InOrder(copy.shape(), to), {&bytes},
                                                       DimensionsAttrs{TransposeBetween(from, to)});
  Instruction& result = Named(copy, transposed, copy.shape());
  if (LOGS_WHY())
    LogWhy("layout_normalization", copy, "=> a transpose between bitcasts", "a copy would be a separate kernel");
  copy.ReplaceAllUses(result);
  return true;
}

}  // namespace

Result<bool> NormalizeLayouts(Module& module, const PassContext& context) {
  bool changed = false;
  Computation& entry = module.entry();
  std::vector<bool> awaited(entry.place_limit());
  for (const Instruction* inst : entry.instructions()) {
    for (const Instruction* before : inst->control_predecessors()) awaited[before->place()] = true;
  }
  for (Instruction* inst : entry.Instructions()) {
    if (!inst->Is(Opcode::kCopy) || awaited[inst->place()] || !context.ConsumeFuel() || !ReplaceCopy(*inst)) continue;
    entry.Remove(*inst);
    changed = true;
  }
  return changed;
}

}  // namespace hlo
