#include "passes/libraries/library_call.h"

#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/simplify/rules.h"

namespace hlo {

const Instruction* ProductOf(const Instruction& call) {
  const Instruction* product = nullptr;
  for (const Instruction* inst : FusedComputation(call).instructions()) {
    if (!inst->Is(Opcode::kDot) && !inst->Is(Opcode::kConvolution)) continue;
    if (product != nullptr) return nullptr;
    product = inst;
  }
  return product;
}

ConvolutionCall ReadConvolutionCall(const Instruction& call) {
  const Instruction* const product = ProductOf(call);
  if (product == nullptr || !product->Is(Opcode::kConvolution) || product->operand_count() != 2) return {};
  for (const Instruction* operand : product->operands()) {
    if (!operand->Is(Opcode::kParameter) || operand->UseCount() != 1) return {};
  }
  for (const Shape* shape : {&product->operand(0).shape(), &product->operand(1).shape(), &product->shape()}) {
    if (!shape->HasDefaultLayout() || shape->HasDynamicDims()) return {};
  }
  return {product, product->operand(0).parameter_number(), product->operand(1).parameter_number()};
}

Instruction& WithConvolution(Instruction& inst, const ConvolutionCall& call, Instruction& input, Instruction& filter,
                             const ConvolutionAttrs& attrs, const Shape& shape) {
  const Computation& calls = FusedComputation(inst);
  std::unordered_map<const Instruction*, Instruction*> copies;
  Computation& body = inst.module().CloneComputation(calls, calls.name(), &copies);
  body.parameter(call.input).SetShape(input.shape());
  body.parameter(call.filter).SetShape(filter.shape());
  Instruction& convolution = *copies.at(call.convolution);
  convolution.mutable_attrs<ConvolutionAttrs>() = attrs;
  const bool is_resized = !SameDims(shape, convolution.shape());
  if (is_resized) {
    CHECK(call.convolution->IsRoot(), inst.name());
    convolution.SetShape(shape);
    convolution.SetOrigin(-1);  // The copy computes more.
  }
  std::vector<Instruction*> operands(inst.operands().begin(), inst.operands().end());
  operands[call.input] = &input;
  operands[call.filter] = &filter;
  Instruction& made = inst.computation().AddClone(inst, is_resized ? shape : inst.shape(), operands);
  if (is_resized) made.SetOrigin(-1);
  made.mutable_attrs<FusionAttrs>().calls = &body;
  return made;
}

Instruction* PadWithZeros(Instruction& like, Instruction& x, const PaddingConfig& padding) {
  if (std::ranges::all_of(padding.dims, [](const PaddingDim& d) { return d == PaddingDim(); })) return &x;
  Dims dims = x.shape().dims();
  for (size_t d = 0; d < dims.size(); ++d) {
    const PaddingDim& p = padding.dims[d];
    const int64_t spread = dims[d] == 0 ? 0 : dims[d] + (dims[d] - 1) * p.interior;
    dims[d] = spread + p.low + p.high;
  }
  Instruction& zero = like.computation().AddConstant(Literal::Scalar(x.shape().type(), 0.0));
  return Step(like, Opcode::kPad, x.shape().WithDims(dims), {&x, &zero}, PadAttrs{padding});
}

}  // namespace hlo
