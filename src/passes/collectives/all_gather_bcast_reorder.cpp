// Gathers values before they are broadcast, so that devices send less.
#include <algorithm>

#include "passes/collective_groups.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// If x has the gathered dimension, gathers x along it. Otherwise each device sends x as one row:
// reshape(broadcast(all-gather(reshape(x)))).
Result<Instruction*> GatherBeforeBroadcast(Instruction& inst, const PassContext&) {
  if (!IsCollectiveOfArray(inst, Opcode::kAllGather) || !inst.operand(0).Is(Opcode::kBroadcast)) return nullptr;
  const Instruction& broadcast = inst.operand(0);
  Instruction* x = &broadcast.operand(0);
  const Shape &wide = broadcast.shape(), &all = inst.shape();
  if (x->shape().NumElements() >= wide.NumElements()) return nullptr;
  auto attrs = inst.attrs<CollectiveAttrs>();
  const int64_t d = attrs.dimension->value, devices = all.dim(d) / wide.dim(d);
  std::vector<int64_t> dims = broadcast.dimensions();
  if (const auto of_x = std::ranges::find(dims, d); of_x != dims.end()) {
    attrs.dimension->value = of_x - dims.begin();
    Shape gathered = x->shape();
    gathered.SetDim(attrs.dimension->value, all.dim(d));
    Instruction* const whole = Step(inst, Opcode::kAllGather, gathered, {x}, attrs);
    return Replace(inst, Opcode::kBroadcast, {whole}, broadcast.attributes());
  }
  Dims row = x->shape().dims(), rows = row, apart;
  row.insert(row.begin(), 1);
  rows.insert(rows.begin(), devices);
  for (int64_t i = 0; i < wide.rank(); ++i) {
    if (i == d) apart.push_back(devices);
    apart.push_back(wide.dim(i));
  }
  attrs.dimension->value = 0;
  x = Step(inst, Opcode::kReshape, Shape(x->shape().type(), row), {x}, ReshapeAttrs{});
  Instruction* const gathered = Step(inst, Opcode::kAllGather, Shape(x->shape().type(), rows), {x}, attrs);
  for (int64_t& dim : dims) dim += dim > d;
  dims.insert(dims.begin(), d);
  Instruction* const each =
      Step(inst, Opcode::kBroadcast, Shape(x->shape().type(), apart), {gathered}, DimensionsAttrs{dims});
  return Replace(inst, Opcode::kReshape, {each}, ReshapeAttrs{});
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"M.ag.1", Opcode::kAllGather, GatherBeforeBroadcast, Preserves::kExact, "all-gather(broadcast(x)) => broadcast(all-gather(x))"},
};
// clang-format on

}  // namespace

std::span<const Rule> AllGatherRules() { return kRules; }

Result<bool> ReorderGathersAndBroadcasts(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRules);
}

}  // namespace hlo
