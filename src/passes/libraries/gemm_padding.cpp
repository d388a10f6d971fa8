// cublas-pad-for-gemms: pads matrix products of narrow types with zeros to the multiples that tensor cores need.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/libraries/dot_dimensions.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

Shape Padded(const Shape& shape, int64_t multiple) {
  Dims dims = shape.dims();
  for (int64_t d = shape.rank() - 2; d < shape.rank(); ++d) dims[d] = (dims[d] + multiple - 1) / multiple * multiple;
  return shape.WithDims(dims);
}

Instruction* Pad(Instruction& dot, Instruction& operand, int64_t multiple) {
  const Shape padded = Padded(operand.shape(), multiple);
  if (SameDims(padded, operand.shape())) return &operand;
  PadAttrs attrs;
  for (int64_t d = 0; d < padded.rank(); ++d)
    attrs.padding.dims.push_back({.high = padded.dim(d) - operand.shape().dim(d)});
  Instruction& zero = dot.computation().AddConstant(Literal::Scalar(padded.type(), 0.0));
  return Step(dot, Opcode::kPad, padded, {&operand, &zero}, attrs);
}

Result<Instruction*> PadProduct(Instruction& inst, const PassContext& context) {
  const auto [type, size] = context.Get<GemmPaddingOptions>();
  const int64_t multiple = std::max<int64_t>(size, 1);
  if (!IsMatrixProduct(inst) || !HasLeadingBatch(inst)) return nullptr;
  Instruction &lhs = inst.operand(0), &rhs = inst.operand(1);
  if (lhs.shape().type() != type || rhs.shape().type() != type) return nullptr;
  for (const Shape* shape : {&lhs.shape(), &rhs.shape(), &inst.shape()}) {
    if (!shape->HasDefaultLayout() || shape->HasDynamicDims()) return nullptr;
  }
  if (SameDims(Padded(lhs.shape(), multiple), lhs.shape()) && SameDims(Padded(rhs.shape(), multiple), rhs.shape()))
    return nullptr;
  Instruction* const dot = Step(inst, Opcode::kDot, Padded(inst.shape(), multiple),
                                {Pad(inst, lhs, multiple), Pad(inst, rhs, multiple)}, inst.attrs<DotAttrs>());
  if (SameDims(dot->shape(), inst.shape())) return dot;
  SliceAttrs attrs;
  for (const int64_t limit : inst.shape().dims()) attrs.slice.dims.push_back({.start = 0, .limit = limit});
  return Replace(inst, Opcode::kSlice, {dot}, attrs);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"G.dot.1", Opcode::kDot, PadProduct, Preserves::kExact, "dot(x, y) => slice(dot(pad(x), pad(y))), with rows and columns padded to multiples"},
};
// clang-format on

}  // namespace

std::span<const Rule> GemmPaddingRules() { return kRules; }

Result<bool> PadGemms(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
