// The iteration space of a kernel for a dot or convolution.
#ifndef HLO_GPU_PLAN_CONTRACTION_SPACE_H_
#define HLO_GPU_PLAN_CONTRACTION_SPACE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/plan/iteration_space.h"

namespace hlo::gpu {

// Terms of a plan's tile. They select the packed form (kLeastPackedPanel to kMostPackedPanel) or the streamed form
// (plan/contraction.cpp).
constexpr int64_t kLeastPackedPanel = 96, kMostPackedPanel = 384, kStreamedPanel = 512;

// KernelPlan::algorithm for matrix units (emitters/matrix_contraction.cpp).
constexpr std::string_view kMatrixUnits = "mma";

// result[group, row, column] = sum over position, term of lhs[group, row, position, term] * rhs[group, position, term,
// column]. Positions are elements of a convolution's window. A dot has one position.
struct ContractionSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  const Variable& group() const { return variables[0]; }
  const Variable& row() const { return variables[1]; }
  const Variable& column() const { return variables[2]; }
  const Variable& position() const { return variables[3]; }
  const Variable& term() const { return variables[4]; }

  NodeId lhs = -1, rhs = -1;
  int64_t lhs_operand = 0, rhs_operand = 1;
  // Number of equal parts of the rows, above 1 with dilated inputs. Rows of a part use the same elements of the window.
  int64_t row_classes = 1;
  std::vector<IndexCondition> lhs_conditions, rhs_conditions;  // If these fail, the operand counts as 0 (padding).
  std::vector<IndexExpr> result;                               // Index in the contraction's result.
  std::vector<NodeId> given;

  std::vector<NodeId> Needed() const;

  // Exchanges the operands (D' = B' A') if adjacent result elements are in one column.
  void PutNeighboursIntoColumns();
};

// Whether matrix units take the operand types directly, with sums in f32.
bool FitsMatrixUnits(const Instruction& product);

// Convolutions of integers saturate (docs/ops.md), and dots of integers wrap.
bool Saturates(const Instruction& product);

// Returns null and sets `why_not` if a result's size differs from the product's, or if a result uses product elements
// at other indices than its own. Null without a reason if there are no elements or terms.
Result<std::unique_ptr<ContractionSpace>> ContractionSpaceOf(const FusionBody& body, const Instruction& hero,
                                                             std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_CONTRACTION_SPACE_H_
