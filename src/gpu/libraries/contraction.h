// What a library fusion computes, as strided views of its operands: a product (dot or convolution) and then steps on
// its elements. Read from the fusion's HLO; no library is known here.
#ifndef HLO_GPU_LIBRARIES_CONTRACTION_H_
#define HLO_GPU_LIBRARIES_CONTRACTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/instruction.h"

namespace hlo::gpu {

// A tensor in terms of an operand of the fusion: element i of dimension d is strides[d] elements further. Stride 0: the
// same element for all of the dimension.
struct View {
  int64_t operand = -1;  // -1: the constant below.
  double constant = 0;
  PrimitiveType type = PrimitiveType::kF32;
  std::vector<int64_t> dims, strides;
};

enum class EpilogueOp : uint8_t { kAdd, kSubtract, kMultiply, kRelu };

// x => x op view, in order. Dimensions of the view are those of the product's result.
struct EpilogueStep {
  EpilogueOp op;
  View view;  // Not of kRelu.
};

// A sum of the result, or of its squares, over all of its dimensions but one.
struct ResultSum {
  int64_t result = -1;   // Of the fusion, by number; -1: it is none, but others are made of it.
  int64_t channels = 0;  // The dimension that is left.
  bool of_squares = false;
  const Instruction* inst = nullptr;
};

struct Contraction {
  const Instruction* product;  // The dot or convolution.
  View lhs, rhs;               // In the dimensions of the product's operands.
  View result;  // In the dimensions of the product's result; operand is -1. The strides are the layout's.
  std::vector<EpilogueStep> epilogue;
  int64_t stored = 0;  // Which of the fusion's results the above is.
  std::vector<ResultSum> sums;
  std::vector<int64_t> of_sums;  // Results that are made of sums and of operands, element by element.
};

// Empty `why_not`: `contraction` is filled in.
struct ContractionAnswer {
  Contraction contraction;
  std::string why_not;
};
ContractionAnswer ReadContraction(const Instruction& fusion);

// What an instruction of a fusion is in terms of the fusion's operands, or a constant; nothing where it has to be
// computed. `rounded`: conversions of floats on the way are left out.
std::optional<View> ReadView(const Instruction& inst, bool rounded = false);

// One dimension for several: size and stride such that the combined index steps evenly; false when there is none.
struct Run {
  int64_t size = 1, stride = 0;
};
bool Combine(const View& view, const std::vector<int64_t>& dims, Run* run);

// A dot as a batch of matrix products D[b,m,n] = sum over k of A[b,m,k] * B[b,k,n].
struct MatrixView {
  int64_t batch = 0, row = 0, column = 0;  // Strides.
};
struct MatrixStep {
  EpilogueOp op;
  int64_t operand;
  double constant;
  MatrixView strides;
};
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
// A convolution whose window is one element, which steps by one and has no padding or groups: rows are the batch and
// spatial positions.
MatrixAnswer ReadPointwiseConvolution(const Contraction& contraction);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_CONTRACTION_H_
