// Splits concatenates with too many operands for the parameters of one kernel, which were limited to 4 KiB until CUDA
// 12.1. Where more fit, splitting costs a second pass over the data.
#include <algorithm>

#include "ir/fusion.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Repeated rewriting gives a tree. Dynamic sizes are excluded: the shape rule decides which groups are dynamic.
Result<Instruction*> SplitConcatenate(Instruction& inst, const PassContext& context) {
  if (!inst.Is(Opcode::kConcatenate)) return nullptr;
  // Groups of 1 would not terminate.
  const int64_t most = std::max<int64_t>(2, context.Get<SplittingOptions>().operands);
  if (inst.operand_count() <= most || inst.shape().HasDynamicDims()) return nullptr;
  const int64_t dim = inst.attrs<OneDimensionAttrs>().dimension.value;
  std::vector<Instruction*> groups;
  for (int64_t begin = 0; begin < inst.operand_count(); begin += most) {
    const std::span<Instruction* const> parts =
        inst.operands().subspan(begin, std::min(most, inst.operand_count() - begin));
    Shape shape = inst.shape();
    int64_t size = 0;
    for (const Instruction* part : parts) size += part->shape().dim(dim);
    shape.SetDim(dim, size);
    groups.push_back(parts.size() == 1
                         ? parts.front()
                         : Step(inst, Opcode::kConcatenate, shape, {parts.begin(), parts.end()}, inst.attributes()));
  }
  return Replace(inst, Opcode::kConcatenate, groups, inst.attributes());
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"V.cat.1", Opcode::kConcatenate, SplitConcatenate, Preserves::kExact, "concatenate(x1, ..., x300) => concatenate(concatenate(x1, ..., x128), concatenate(...), concatenate(...))"},
};
// clang-format on

}  // namespace

std::span<const Rule> VariadicRules() { return kRules; }

// Skips fusions, whose number of parameters would not change.
Result<bool> SplitVariadics(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
