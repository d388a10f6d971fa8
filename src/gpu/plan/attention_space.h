// The iteration space of an attention kernel.
#ifndef HLO_GPU_PLAN_ATTENTION_SPACE_H_
#define HLO_GPU_PLAN_ATTENTION_SPACE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/plan/rows_space.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// scores[kept, key] = sum over term of query[kept, term] * key[kept, key, term]
//   passes over the rows of scores (RowsSpace), where a row has all keys
//   result[kept, column] = sum over key of share[kept, key] * value[kept, key, column]
//
// A kept variable counts either groups or lines. Each group has its own keys and values, which its lines share.
struct AttentionSpace : RowsSpace {
  using RowsSpace::RowsSpace;

  const Instruction *scores = nullptr, *product = nullptr;
  Variable term, column;
  std::vector<Variable> groups, lines;  // Subsets of `variables`, in order.
  NodeId query = -1, key = -1, share = -1, value = -1;
  int share_pass = 0;
  int64_t share_operand = 0;  // Operand number of `share` in the second dot.
  std::vector<NodeId> scores_given, product_given;
  std::vector<Output> results;  // Outputs that depend on the second product.

  int64_t group_count() const;
  int64_t line_count() const;
  std::vector<NodeId> ResultValues() const;

  std::vector<NodeId> InPass(int pass) const override;
  std::vector<NodeId> Needed() const override;
  std::vector<IndexExpr> Offsets() const override;
};

bool FitsMatrixUnits(const AttentionSpace& space);

// A block's shared memory (emitters/attention.cpp), in elements.
struct AttentionTiles {
  kernel::Type operand, scores, shares;  // Types of operands, and of rows before and after the passes.
  bool by_matrix_units = false;
  int64_t lines = 0;
  int64_t keys = 0;  // Keys of one step of the first product.
  int64_t second_keys = 0;
  int64_t terms = 0;  // Padded to whole warps, like `columns`.
  int64_t columns = 0;
  int64_t pitch = 0;
  int64_t panel = 0;  // Elements of the buffer for one step's keys, and later values.
  int64_t term_pitch = 0, column_pitch = 0;

  bool rows_are_one() const { return scores == shares; }
  int64_t Bytes() const;
};
AttentionTiles TilesOf(const AttentionSpace& space, const KernelPlan& plan);

// The two dots of an attention, where the second dot and a reduce depend on the first one. Otherwise empty.
std::vector<const Instruction*> AttentionDots(const FusionBody& body);

// Returns null and sets `why_not` if the dots and the reduces between them do not form one space.
Result<std::unique_ptr<AttentionSpace>> AttentionSpaceOf(const FusionBody& body,
                                                         const std::vector<const Instruction*>& dots,
                                                         std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_ATTENTION_SPACE_H_
