// What a kernel of attention iterates over: a product of matrices, rows made of it, and a product with these.
#ifndef HLO_GPU_PLAN_ATTENTION_SPACE_H_
#define HLO_GPU_PLAN_ATTENTION_SPACE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/plan/rows_space.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// scores[kept, key] = sum over term of query[kept, term] * key[kept, key, term]; passes over the rows of scores
// (RowsSpace), whose row is that of keys; result[kept, column] = sum over key of share[kept, key] * value[kept, key,
// column]. Of what is kept, groups have keys and values of their own; lines have those of their group.
struct AttentionSpace : RowsSpace {
  using RowsSpace::RowsSpace;

  const Instruction *scores = nullptr, *product = nullptr;  // The dots.
  Variable term, column;
  std::vector<Variable> groups, lines;  // Of `variables`, in their order.
  NodeId query = -1, key = -1, share = -1, value = -1;
  int share_pass = 0;
  int64_t share_operand = 0;  // Of the second dot.
  std::vector<NodeId> scores_given, product_given;
  std::vector<Output> results;  // With an element for each of the second product's.

  int64_t group_count() const;
  int64_t line_count() const;
  std::vector<NodeId> ResultValues() const;

  std::vector<NodeId> InPass(int pass) const override;
  std::vector<NodeId> Needed() const override;
  std::vector<IndexExpr> Offsets() const override;
};

// Both products by matrix units (KernelPlan::algorithm)?
bool FitsMatrixUnits(const AttentionSpace& space);

// What a block of a kernel of attention has in shared memory; sizes in elements. See emitters/attention.cpp.
struct AttentionTiles {
  kernel::Type operand, scores, shares;  // As products take their operands; of the rows before and after the passes.
  bool by_matrix_units = false;
  int64_t lines = 0;        // Of a block.
  int64_t keys = 0;         // Of a part of a row that products take at a time...
  int64_t second_keys = 0;  // ...the second one.
  int64_t terms = 0;        // Padded, as `columns` are, to what warps take.
  int64_t columns = 0;
  int64_t pitch = 0;  // Of the rows.
  int64_t panel = 0;  // A part of the keys or of the values.
  int64_t term_pitch = 0, column_pitch = 0;

  bool rows_are_one() const { return scores == shares; }
  int64_t Bytes() const;
};
AttentionTiles TilesOf(const AttentionSpace& space, const KernelPlan& plan);

// The two dots of a fusion of which the second takes what reductions make of the first. Empty: there are no such.
std::vector<const Instruction*> AttentionDots(const FusionBody& body);

// Null, and why, where the dots are not of one space with the reduces between them.
Result<std::unique_ptr<AttentionSpace>> AttentionSpaceOf(const FusionBody& body,
                                                         const std::vector<const Instruction*>& dots,
                                                         std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_ATTENTION_SPACE_H_
