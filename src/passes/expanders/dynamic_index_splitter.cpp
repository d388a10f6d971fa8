// dynamic-index-splitter: replaces an index vector, the form of old texts, by scalars.
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// The vector of a dynamic-update-slice is operand 2.
Result<Instruction*> SplitIndices(Instruction& inst, const PassContext&) {
  const int64_t first = inst.Is(Opcode::kDynamicSlice) ? 1 : 2;
  if (inst.operand_count() != first + 1 || inst.operand(first).shape().rank() != 1) return nullptr;
  Instruction& indices = inst.operand(first);
  std::vector<Instruction*> operands(inst.operands().begin(), inst.operands().begin() + first);
  for (int64_t i = 0; i < indices.shape().dim(0); ++i) {
    Instruction* const part =
        Step(inst, Opcode::kSlice, indices.shape().WithDims({1}), {&indices}, SliceAttrs{SliceRanges{{{i, i + 1, 1}}}});
    operands.push_back(Step(inst, Opcode::kReshape, Shape::Scalar(indices.shape().type()), {part}, ReshapeAttrs{}));
  }
  return Replace(inst, inst.opcode(), operands, inst.attributes());
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"X.ds.1", {Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice}, SplitIndices, Preserves::kExact, "dynamic-slice(x, v) => dynamic-slice(x, v[0], v[1], ...)"},
};
// clang-format on

}  // namespace

std::span<const Rule> IndexSplitterRules() { return kRules; }

Result<bool> SplitDynamicIndices(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRules);
}

}  // namespace hlo
