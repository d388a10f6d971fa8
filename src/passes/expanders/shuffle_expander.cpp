// shuffle-expander: expands a shuffle (a rotation) to slices and concatenations.
#include "ir/shapes/shape_rules.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Dynamic dimensions are excluded, because their parts have unknown sizes.
Result<Instruction*> ExpandShuffle(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kShuffle)) return nullptr;
  Instruction* x = &inst.operand(0);
  if (x->shape() != inst.shape() || x->shape().HasDynamicDims()) return nullptr;
  const std::vector<int64_t> starts = ShuffleStarts(inst);
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    if (starts[d] == 0) continue;
    const auto part = [&](int64_t start, int64_t limit) {
      SliceRanges ranges;
      for (const int64_t size : inst.shape().dims()) ranges.dims.push_back({0, size, 1});
      ranges.dims[d] = {start, limit, 1};
      Shape shape = inst.shape();
      shape.SetDim(d, limit - start);
      return Step(inst, Opcode::kSlice, shape, {x}, SliceAttrs{ranges});
    };
    Instruction* const last = part(starts[d], inst.shape().dim(d));
    x = Replace(inst, Opcode::kConcatenate, {last, part(0, starts[d])}, OneDimensionAttrs{{d}});
  }
  return x;
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"S.shuf.1", Opcode::kShuffle, ExpandShuffle, Preserves::kExact, "shuffle(x) => concatenate(x[shift:], x[:shift]), a dimension at a time"},
};
// clang-format on

}  // namespace

std::span<const Rule> ShuffleRules() { return kRules; }

Result<bool> ExpandShuffles(Module& module, const PassContext& context) { return RewriteEach(module, context, kRules); }

}  // namespace hlo
