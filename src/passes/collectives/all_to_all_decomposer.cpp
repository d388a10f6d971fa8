// all_to_all_decomposer: splits an operand into a tuple of parts, the form that libraries exchange.
#include "ir/device_groups.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

Result<Instruction*> ExpandAllToAll(Instruction& inst, const PassContext&) {
  auto attrs = inst.attrs<CollectiveAttrs>();
  if (!attrs.dimension || attrs.constrain_layout || inst.shape().IsTuple() || inst.operand_count() != 1) return nullptr;
  const int64_t d = attrs.dimension->value;
  const auto parts = GroupSizeOf(inst);
  if (!parts || inst.shape().HasDynamicDims() || inst.shape().dim(d) % *parts != 0) return nullptr;
  if (*parts <= 1) return *parts == 1 ? &inst.operand(0) : nullptr;
  Shape part = inst.shape();
  part.SetDim(d, inst.shape().dim(d) / *parts);
  std::vector<Instruction*> slices, received;
  for (int64_t i = 0; i < *parts; ++i) {
    SliceRanges ranges;
    for (const int64_t size : inst.shape().dims()) ranges.dims.push_back({0, size, 1});
    ranges.dims[d] = {i * part.dim(d), (i + 1) * part.dim(d), 1};
    slices.push_back(Step(inst, Opcode::kSlice, part, {&inst.operand(0)}, SliceAttrs{ranges}));
  }
  attrs.dimension.reset();
  Instruction* const exchange =
      Step(inst, Opcode::kAllToAll, Shape::Tuple(std::vector<Shape>(*parts, part)), slices, attrs);
  for (int64_t i = 0; i < *parts; ++i) received.push_back(&inst.computation().AddGetTupleElement(*exchange, i));
  return Replace(inst, Opcode::kConcatenate, received, OneDimensionAttrs{{d}});
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"X.coll.1", Opcode::kAllToAll, ExpandAllToAll, Preserves::kExact, "all-to-all(x) => concatenate(all-to-all of a tuple of the parts of x)"},
};
// clang-format on

}  // namespace

std::span<const Rule> AllToAllRules() { return kRules; }

Result<bool> DecomposeAllToAlls(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRules);
}

}  // namespace hlo
