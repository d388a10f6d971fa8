// A library fusion as strided views of its operands: a product (dot or convolution) and elementwise steps.
#ifndef HLO_GPU_LIBRARIES_CONTRACTION_H_
#define HLO_GPU_LIBRARIES_CONTRACTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/instruction.h"

namespace hlo::gpu {

// A tensor within an operand of the fusion. Strides are in elements, and 0 repeats one element.
struct View {
  int64_t operand = -1;  // -1 for the constant.
  double constant = 0;
  PrimitiveType type = PrimitiveType::kF32;
  std::vector<int64_t> dims, strides;
};

enum class EpilogueOp : uint8_t { kAdd, kSubtract, kMultiply, kRelu };

// x => x op view. The view has the dimensions of the product's result.
struct EpilogueStep {
  EpilogueOp op;
  View view;  // Not used by kRelu.
};

// A sum of the product's result, or of its squares, over all dimensions but one.
struct ResultSum {
  int64_t result = -1;   // Result number of the fusion. -1 if only other results need the sum.
  int64_t channels = 0;  // The remaining dimension.
  bool of_squares = false;
  const Instruction* inst = nullptr;
};

struct Contraction {
  const Instruction* product;
  View lhs, rhs;  // With the dimensions of the product's operands.
  View result;    // With the dimensions of the product.
  std::vector<EpilogueStep> epilogue;
  int64_t stored = 0;  // Result number of the product after its epilogue.
  std::vector<ResultSum> sums;
  std::vector<int64_t> of_sums;  // Results computed elementwise from sums and operands.
};

// `contraction` is valid if `why_not` is empty.
struct ContractionAnswer {
  Contraction contraction;
  std::string why_not;
};
ContractionAnswer ReadContraction(const Instruction& fusion);

// `inst` as a view of an operand or constant. nullopt if it must be computed. With `rounded`, ignores float
// conversions.
std::optional<View> ReadView(const Instruction& inst, bool rounded = false);

struct Run {
  int64_t size = 1, stride = 0;
};
// Combines `dims` of a view into one dimension. False if they have no common stride.
bool Combine(const View& view, const std::vector<int64_t>& dims, Run* run);

struct MatrixView {
  int64_t batch = 0, row = 0, column = 0;  // Strides.
};
struct MatrixStep {
  EpilogueOp op;
  int64_t operand;
  double constant;
  MatrixView strides;
};
// A batch of matrix products D[b,m,n] = sum over k of A[b,m,k] * B[b,k,n], with an epilogue.
struct MatrixProduct {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  PrimitiveType lhs_type = {}, rhs_type = {}, result_type = {};
  int64_t lhs_operand = 0, rhs_operand = 0;
  MatrixView lhs, rhs, result;
  std::vector<MatrixStep> epilogue;
};
double Flop(const MatrixProduct& product);
struct MatrixAnswer {
  MatrixProduct product;
  std::string why_not;
};
MatrixAnswer ReadMatrixProduct(const Contraction& contraction);
// Reads a convolution with a window of one element, stride 1, and no padding or groups. Rows are batch and spatial
// positions.
MatrixAnswer ReadPointwiseConvolution(const Contraction& contraction);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_CONTRACTION_H_
