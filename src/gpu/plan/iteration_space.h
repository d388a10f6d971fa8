// The iteration space of a kernel: variables with roles, and the written arrays with their offsets as functions of the
// variables. Variables adjacent in memory are merged if no access distinguishes them. A plan's tile refers to the
// space, which depends only on the fusion.
//
//   space              variables                                              tile
//   LoopSpace          kept, in the memory order of the first root            elements; or rows, elements of a row
//   ReductionSpace     kept and reduced, in the memory order of the operand   rows, elements; or terms, columns
//   ContractionSpace   group, row, column kept; position, term reduced        rows, columns, terms
//   RowsSpace          kept and row, in the memory order of the operand       rows, elements of a row
//   AttentionSpace     variables of its scores; also a term and a column      rows, keys
//   ScanSpace          kept and scanned, in the memory order of the operand   rows, elements; or 1, columns
//   ScatterSpace       indices scanned; elements of a window kept             none; each thread has one element
#ifndef HLO_GPU_PLAN_ITERATION_SPACE_H_
#define HLO_GPU_PLAN_ITERATION_SPACE_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gpu/plan/elemental.h"

namespace hlo::gpu {

enum class Role : uint8_t {
  kKept,  // Independent: in any order, in any block.
  kReduced,
  kScanned,  // In order: each step sees the writes of earlier steps.
  // Elements of a row are combined, and then processed again with the result.
  kRow,
};

struct IterationSpace {
  explicit IterationSpace(const FusionBody& body) : graph(body, pool) {}
  IterationSpace(const IterationSpace&) = delete;

  struct Variable {
    IndexExpr e;  // Its range is [0, size).
    int64_t size = 1;
    Role role = Role::kKept;
  };
  struct Output {
    const FusionBody::Root* root;
    NodeId value;
    IndexExpr offset;        // In elements of the root's buffer.
    int in_place_leaf = -1;  // The leaf with the root's other elements, or -1.
  };

  IndexPool pool;
  ElementGraph graph;
  std::vector<Variable> variables;  // From major to minor.
  std::vector<Output> outputs;

  int64_t Size(Role role) const;
  int64_t Size() const;
  const Variable& minor() const { return variables.back(); }
  // Output values, and loaded indices in the outputs' offsets.
  std::vector<NodeId> Values() const;

  // Growth of `e` when `variable` grows by one without wrapping. RunsAlong: whether a load of `node` then steps to the
  // adjacent element.
  int64_t StepOf(IndexExpr e, const Variable& variable) const;
  bool RunsAlong(NodeId node, const Variable& variable) const;
};

// The dimensions larger than 1, from major to minor in memory.
std::vector<int64_t> MajorToMinor(const Shape& shape);

// Adds a variable for each of `groups`, which count merged dimensions of MajorToMinor(shape). The first dimension of a
// group determines the role. Returns the logical index.
std::vector<IndexExpr> AddVariables(IterationSpace& space, const Shape& shape, std::span<const int> groups,
                                    const std::function<Role(int64_t)>& role_of);

// The output `root` at the element with the row-major number of `index` in an array of dimensions `dims`.
Result<IterationSpace::Output> OutputAt(IterationSpace& space, const FusionBody::Root& root,
                                        const std::vector<IndexExpr>& index, const Dims& dims);

// Whether variables i - 1 and i have one role, and `nodes` and `offsets` depend only on their combination.
bool MayMerge(const IterationSpace& space, size_t i, std::span<const NodeId> nodes, std::span<const IndexExpr> offsets);

// Builds a space and merges all dimensions that MayMerge allows. Null if `make` returns null.
template <class Space>
Result<std::unique_ptr<Space>> Merged(
    size_t rank, const std::function<Result<std::unique_ptr<Space>>(const std::vector<int>& groups)>& make) {
  std::unique_ptr<Space> space = TRY(make(std::vector<int>(rank, 1)));
  if (space == nullptr) return space;
  const std::vector<NodeId> nodes = space->Needed();
  const std::vector<IndexExpr> offsets = space->Offsets();
  std::vector<int> groups;
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0 && MayMerge(*space, i, nodes, offsets)) ++groups.back();
    else groups.push_back(1);
  }
  if (groups.size() == rank) return space;
  return make(groups);
}

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_ITERATION_SPACE_H_
