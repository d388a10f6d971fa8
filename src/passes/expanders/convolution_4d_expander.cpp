// convolution_4d_expander: removes trivial spatial dimensions of convolutions with four, because libraries support
// three.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Whether input, output and window have size 1 in spatial dimension i, without padding. A larger window would have to
// select the element outside the padding.
bool IsTrivial(const Instruction& convolution, int64_t i) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const WindowDim& window = attrs.window.dims[i];
  return convolution.operand(0).shape().dim(attrs.dim_labels.lhs_spatial[i]) == 1 &&
         convolution.shape().dim(attrs.dim_labels.out_spatial[i]) == 1 && window.size == 1 && window.pad_low == 0 &&
         window.pad_high == 0;
}

Shape Without(const Shape& shape, const std::vector<int64_t>& gone) {
  Dims dims;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(gone, d) == gone.end()) dims.push_back(shape.dim(d));
  }
  return shape.WithDims(dims);
}
void Renumber(std::initializer_list<int64_t*> labels, std::vector<int64_t>& spatial, const std::vector<int64_t>& gone) {
  std::erase_if(spatial, [&](int64_t d) { return std::ranges::find(gone, d) != gone.end(); });
  const auto renumber = [&](int64_t& d) { d -= std::ranges::count_if(gone, [&](int64_t g) { return g < d; }); };
  for (int64_t* label : labels) renumber(*label);
  for (int64_t& d : spatial) renumber(d);
}

Result<Instruction*> DropTrivial(Instruction& inst, const PassContext&) {
  ConvolutionAttrs attrs = inst.attrs<ConvolutionAttrs>();
  DimLabels& labels = attrs.dim_labels;
  if (inst.operand_count() != 2 || labels.lhs_spatial.size() != 4) return nullptr;
  for (const Shape* shape : {&inst.operand(0).shape(), &inst.operand(1).shape(), &inst.shape()}) {
    if (shape->HasDynamicDims() || !shape->HasDefaultLayout()) return nullptr;
  }
  std::vector<int64_t> lhs, rhs, out;
  for (int64_t i = 3; i >= 0; --i) {
    if (!IsTrivial(inst, i)) continue;
    lhs.push_back(labels.lhs_spatial[i]);
    rhs.push_back(labels.rhs_spatial[i]);
    out.push_back(labels.out_spatial[i]);
    attrs.window.dims.erase(attrs.window.dims.begin() + i);
  }
  if (lhs.empty()) return nullptr;
  Renumber({&labels.lhs_batch, &labels.lhs_feature}, labels.lhs_spatial, lhs);
  Renumber({&labels.rhs_input_feature, &labels.rhs_output_feature}, labels.rhs_spatial, rhs);
  Renumber({&labels.out_batch, &labels.out_feature}, labels.out_spatial, out);
  Instruction* const x = Step(inst, Opcode::kReshape, Without(inst.operand(0).shape(), lhs), {&inst.operand(0)});
  Instruction* const kernel = Step(inst, Opcode::kReshape, Without(inst.operand(1).shape(), rhs), {&inst.operand(1)});
  Instruction* const smaller = Step(inst, Opcode::kConvolution, Without(inst.shape(), out), {x, kernel}, attrs);
  return Replace(inst, Opcode::kReshape, {smaller});
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"S.conv.1", Opcode::kConvolution, DropTrivial, Preserves::kExact, "convolution(x, k) of 4 spatial dimensions => reshape(convolution(reshape(x), reshape(k))) without those of size 1"},
};
// clang-format on

}  // namespace

std::span<const Rule> Convolution4dRules() { return kRules; }

Result<bool> ExpandConvolutions4d(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
