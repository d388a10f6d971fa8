// What a kernel iterates over, for its planner and its emitter alike: variables with roles, of which neighbours in
// memory are one where no access tells them apart; the arrays that it writes, with the way from variables to their
// elements; and what a plan's tile is a part of. Worked out from a fusion alone, the same each time.
//
//   space              variables                                              tile
//   LoopSpace          kept, in the memory order of the first root            elements; or rows, elements of a row
//   ReductionSpace     kept and reduced, in the memory order of the operand   rows, elements; or terms, columns
//   ContractionSpace   group, row, column kept; position, term reduced        rows, columns, terms
//   RowsSpace          kept and row, in the memory order of the operand       rows, elements of a row
//   AttentionSpace     those of its scores; a term and a column beside        rows, keys
//   ScanSpace          kept and scanned, in the memory order of the operand   rows, elements; or 1, columns
//   ScatterSpace       indices scanned; elements of a window kept             none: each thread has an element
//
// So f32[8,64,32] reduced over {2} has the variables kept 512 and reduced 32, and one output at offset `kept`.
#ifndef HLO_GPU_PLAN_ITERATION_SPACE_H_
#define HLO_GPU_PLAN_ITERATION_SPACE_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gpu/plan/elemental.h"

namespace hlo::gpu {

enum class Role : uint8_t {
  kKept,     // Each value by itself, in any order, in any block.
  kReduced,  // All values combined into one.
  kScanned,  // One value after the other: each sees what those before it wrote.
  kRow,      // Combined and then gone through again, while its elements stay on chip: stitched kernels.
};

struct IterationSpace {
  explicit IterationSpace(const FusionBody& body) : graph(body, pool) {}
  IterationSpace(const IterationSpace&) = delete;

  struct Variable {
    IndexExpr e;  // In [0, size).
    int64_t size = 1;
    Role role = Role::kKept;
  };
  struct Output {
    const FusionBody::Root* root;
    NodeId value;
    IndexExpr offset;        // In elements of the root's buffer.
    int in_place_leaf = -1;  // The rest of the root comes from this leaf.
  };

  IndexPool pool;
  ElementGraph graph;
  std::vector<Variable> variables;  // Major to minor.
  std::vector<Output> outputs;

  // Of all variables of a role, or of all.
  int64_t Size(Role role) const;
  int64_t Size() const;
  const Variable& minor() const { return variables.back(); }
  // What the outputs need: their values and what is behind loaded indices of their offsets.
  std::vector<NodeId> Values() const;

  // From one to the next along `variable`, as far as neither wraps around: how far apart `e` is; and whether `node`
  // loads neighbours.
  int64_t StepOf(IndexExpr e, const Variable& variable) const;
  bool RunsAlong(NodeId node, const Variable& variable) const;
};

// Dimensions above 1, major to minor in memory. Those of size 1 lie nowhere.
std::vector<int64_t> MajorToMinor(const Shape& shape);

// A variable for each of `groups`, which count how many neighbours of MajorToMinor(shape) are merged into it; of the
// role of the first. Gives the logical index.
std::vector<IndexExpr> AddVariables(IterationSpace& space, const Shape& shape, std::span<const int> groups,
                                    const std::function<Role(int64_t)>& role_of);

// `root`, which has the elements of an array of `dims`, at an index of that.
Result<IterationSpace::Output> OutputAt(IterationSpace& space, const FusionBody::Root& root,
                                        const std::vector<IndexExpr>& index, const Dims& dims);

// Does every expression of `nodes` and `offsets` see variables i - 1 and i, of one role, only as one?
bool MayMerge(const IterationSpace& space, size_t i, std::span<const NodeId> nodes, std::span<const IndexExpr> offsets);

// What `make` makes of groups of `rank` dimensions: each by itself at first, then those merged that may be. Null where
// it gives that. A space says by Needed and Offsets what it reads and where it writes.
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
