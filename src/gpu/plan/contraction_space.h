// What a kernel of a dot or convolution iterates over.
#ifndef HLO_GPU_PLAN_CONTRACTION_SPACE_H_
#define HLO_GPU_PLAN_CONTRACTION_SPACE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// The terms of a tile, by the form of the kernel (plan/contraction.cpp).
constexpr int64_t kLeastPackedPanel = 96, kMostPackedPanel = 384, kStreamedPanel = 512;

// KernelPlan::algorithm of products by matrix units (emitters/matrix_contraction.cpp).
constexpr std::string_view kMatrixUnits = "mma";

// result[group, row, column] = sum over position, term of lhs[group, row, position, term] * rhs[group, position, term,
// column]. Positions are those of a convolution's window; a dot has one.
struct ContractionSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  const Variable& group() const { return variables[0]; }
  const Variable& row() const { return variables[1]; }
  const Variable& column() const { return variables[2]; }
  const Variable& position() const { return variables[3]; }
  const Variable& term() const { return variables[4]; }

  NodeId lhs = -1, rhs = -1;
  int64_t lhs_operand = 0, rhs_operand = 1;  // Of the contraction.
  // Rows come in so many parts of equal size, of which each meets elements of its own of a window (dilated inputs).
  int64_t row_classes = 1;
  std::vector<IndexCondition> lhs_conditions, rhs_conditions;  // Else the product is 0 (padding).
  std::vector<IndexExpr> result;                               // The contraction's own index.
  std::vector<NodeId> given;

  std::vector<NodeId> Needed() const;

  // D' = B' A', where neighbours in the result are rows.
  void PutNeighboursIntoColumns();
};

// Operands that matrix units take as they are, with sums in f32.
bool FitsMatrixUnits(const Instruction& product);

// Convolutions of integers end within the range of their type (docs/ops.md); dots of integers wrap.
bool Saturates(const Instruction& product);

// Of the contraction `hero` and what is computed from it. Null, and why, when there is more than an epilogue of as many
// elements; null without a reason when it has no elements or no terms.
Result<std::unique_ptr<ContractionSpace>> ContractionSpaceOf(const FusionBody& body, const Instruction& hero,
                                                             std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_CONTRACTION_SPACE_H_
