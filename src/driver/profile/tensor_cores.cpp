#include "driver/profile/tensor_cores.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "gpu/plan/contraction_space.h"
#include "ir/module.h"

namespace hlo {
namespace {

// The first compute capability with matrix instructions for a type. Libraries need rows of a multiple of `multiple`
// elements (16 bytes). Sources: PTX ISA, mma.sync and wgmma; cuBLAS, tensor core usage.
struct TypeRow {
  PrimitiveType type;
  int compute_capability;
  int64_t multiple;
};
constexpr TypeRow kTypes[] = {
    {PrimitiveType::kF16, 70, 8},       {PrimitiveType::kBF16, 80, 8},    {PrimitiveType::kF32, 80, 4},
    {PrimitiveType::kF64, 80, 2},       {PrimitiveType::kS8, 75, 16},     {PrimitiveType::kU8, 75, 16},
    {PrimitiveType::kF8E4M3FN, 89, 16}, {PrimitiveType::kF8E5M2, 89, 16},
};

const TypeRow* RowOf(const Instruction& product, const DeviceDescription& target) {
  if (!target.is_gpu) return nullptr;
  const PrimitiveType lhs = product.operand(0).shape().type(), rhs = product.operand(1).shape().type();
  for (const TypeRow& row : kTypes) {
    if (row.type == lhs && lhs == rhs && target.compute_capability >= row.compute_capability) return &row;
  }
  return nullptr;
}

void AddProducts(const Instruction& inst, std::vector<const Instruction*>* products) {
  if (inst.Is(Opcode::kDot) || inst.Is(Opcode::kConvolution)) products->push_back(&inst);
  for (const Computation* called : CalledComputations(inst)) {
    for (const Instruction* inner : called->Instructions()) AddProducts(*inner, products);
  }
}

std::string OddSize(const Instruction& product, int64_t multiple) {
  const auto odd = [&](int64_t size, std::string_view what) {
    return size % multiple == 0 ? "" : Str(what, ", ", size, ", is not a multiple of ", multiple);
  };
  if (product.Is(Opcode::kConvolution)) {
    const DimLabels& labels = product.attrs<ConvolutionAttrs>().dim_labels;
    const std::string features =
        odd(product.operand(0).shape().dim(labels.lhs_feature), "the number of input features");
    return !features.empty() ? features : odd(product.shape().dim(labels.out_feature), "the number of output features");
  }
  int64_t terms = 1;
  for (const int64_t dim : product.attrs<DotAttrs>().lhs_contracting) terms *= product.operand(0).shape().dim(dim);
  std::string inner = odd(terms, "the number of terms");
  if (!inner.empty()) return inner;
  const int64_t rank = product.shape().rank();
  if (rank == 0 || product.shape().dim(rank - 1) == 1) return "it multiplies a matrix by a vector";
  return odd(product.shape().dim(rank - 1), "the number of columns");
}

}  // namespace

TensorCoreUse TensorCoresOf(const gpu::StepInfo& step, const DeviceDescription& target, bool is_host, bool allow_tf32) {
  std::vector<const Instruction*> products;
  AddProducts(*step.instruction, &products);
  std::erase_if(products, [&](const Instruction* product) { return RowOf(*product, target) == nullptr; });
  if (products.empty()) return {};
  TensorCoreUse use{.eligible = true};
  const Instruction& product = *products.front();
  const TypeRow& row = *RowOf(product, target);
  const bool is_library = gpu::CallsLibrary(step.kind);
  const bool has_units = std::ranges::any_of(
      step.plan.kernels, [](const KernelPlan& kernel) { return kernel.algorithm == gpu::kMatrixUnits; });
  const std::string odd = OddSize(product, row.multiple);
  if (row.type == PrimitiveType::kF32 && !allow_tf32)
    use.why_not = "its operands are f32, and --allow_tf32 is not given";
  else if (is_host) use.why_not = Str("it ran on the host", odd.empty() ? "" : Str("; and ", odd));
  else if (is_library && !odd.empty()) use.why_not = odd;
  else if (is_library || has_units) use.used = true;
  else if (!odd.empty()) use.why_not = odd;
  else use.why_not = step.plan.refused.empty() ? "its kernel has no matrix instructions" : step.plan.refused.back();
  return use;
}

}  // namespace hlo
