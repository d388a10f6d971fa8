// What a kernel of a dot or convolution iterates over.
#ifndef HLO_GPU_PLAN_CONTRACTION_SPACE_H_
#define HLO_GPU_PLAN_CONTRACTION_SPACE_H_

#include <memory>
#include <string>
#include <vector>

#include "gpu/plan/elemental.h"

namespace hlo::gpu {

// result[group, row, column] = sum over position, term of lhs[group, row, position, term] * rhs[group, position, term,
// column]. Positions are those of a convolution's window; a dot has one.
struct ContractionSpace {
  explicit ContractionSpace(const FusionBody& body) : graph(body, pool) {}
  ContractionSpace(const ContractionSpace&) = delete;

  IndexPool pool;
  ElementGraph graph;
  int64_t groups = 1, rows = 1, columns = 1, positions = 1, terms = 1;
  IndexExpr group, row, column, position, term;
  NodeId lhs = -1, rhs = -1;
  std::vector<IndexCondition> lhs_conditions;  // Else the product is 0 (padding).
  std::vector<IndexExpr> result;               // The contraction's own index.
  std::vector<NodeId> given;
  struct Output {
    const FusionBody::Root* root;
    NodeId value;
    IndexExpr offset;
  };
  std::vector<Output> outputs;

  std::vector<NodeId> Epilogues() const {
    std::vector<NodeId> nodes;
    for (const Output& output : outputs) nodes.push_back(output.value);
    return nodes;
  }
  void MakeVariables() {
    group = pool.Variable(0, groups - 1);
    row = pool.Variable(0, rows - 1);
    column = pool.Variable(0, columns - 1);
    position = pool.Variable(0, positions - 1);
    term = pool.Variable(0, terms - 1);
  }
};

// Of the contraction `hero` and what is computed from it. Null, and why, when there is more than an epilogue of as many
// elements; null without a reason when it has no elements or no terms.
Result<std::unique_ptr<ContractionSpace>> ContractionSpaceOf(const FusionBody& body, const Instruction& hero,
                                                             std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_CONTRACTION_SPACE_H_
