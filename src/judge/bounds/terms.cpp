#include "judge/bounds/terms.h"

#include <algorithm>

#include "ir/instruction.h"

namespace hlo::shadow {
namespace {

double Elements(const Shape& shape) { return static_cast<double>(std::max<int64_t>(1, shape.NumElements())); }

double SizeOf(const Window& window) {
  double size = 1;
  for (const WindowDim& dim : window.dims) size *= static_cast<double>(dim.size);
  return size;
}

}  // namespace

double TermsOf(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kDot: {
      double terms = 1;
      for (const int64_t d : inst.attrs<DotAttrs>().lhs_contracting)
        terms *= static_cast<double>(inst.operand(0).shape().dim(d));
      return terms;
    }
    case Opcode::kConvolution: {
      const Shape& kernel = inst.operand(1).shape();
      const int64_t outputs = kernel.dim(inst.attrs<ConvolutionAttrs>().dim_labels.rhs_output_feature);
      return Elements(kernel) / static_cast<double>(std::max<int64_t>(1, outputs));
    }
    case Opcode::kReduce: {
      const Shape& result = inst.shape().IsTuple() ? inst.shape().element(0) : inst.shape();
      return Elements(inst.operand(0).shape()) / Elements(result);
    }
    case Opcode::kReduceWindow: return SizeOf(inst.attrs<ReduceWindowAttrs>().window);
    case Opcode::kSelectAndScatter: return SizeOf(inst.attrs<SelectAndScatterAttrs>().window);
    default: return 1;
  }
}

}  // namespace hlo::shadow
