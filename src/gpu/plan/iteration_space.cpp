#include "gpu/plan/iteration_space.h"

#include <algorithm>

namespace hlo::gpu {

int64_t IterationSpace::Size(Role role) const {
  int64_t size = 1;
  for (const Variable& variable : variables) size *= variable.role == role ? variable.size : 1;
  return size;
}

int64_t IterationSpace::Size() const {
  int64_t size = 1;
  for (const Variable& variable : variables) size *= variable.size;
  return size;
}

std::vector<NodeId> IterationSpace::Values() const {
  std::vector<NodeId> values;
  for (const Output& output : outputs) values.push_back(output.value);
  for (const Output& output : outputs) {
    for (const int32_t variable : pool[output.offset].variables) {
      if (graph.IsLoadedIndex(variable)) values.push_back(graph.LoadedIndex(variable));
    }
  }
  return values;
}

int64_t IterationSpace::StepOf(IndexExpr e, const Variable& variable) const {
  if (e == variable.e) return 1;
  if (!pool.DependsOn(e, variable.e)) return 0;
  const IndexPool::Node& node = pool[e];
  int64_t step = 0;
  switch (node.kind) {
    case IndexPool::Kind::kVariable: return 0;
    case IndexPool::Kind::kDiv: return StepOf(node.operand, variable) / node.divisor;
    case IndexPool::Kind::kMod:
    case IndexPool::Kind::kClamp: return StepOf(node.operand, variable);
    case IndexPool::Kind::kSum:
      for (const auto& term : node.terms) step += term.coefficient * StepOf(term.atom, variable);
      return step;
  }
  __builtin_unreachable();
}

bool IterationSpace::RunsAlong(NodeId node, const Variable& variable) const {
  const NodeId roots[] = {node};
  return std::ranges::any_of(graph.Reachable(roots), [&](NodeId id) {
    const ElementNode& each = graph.node(id);
    return each.kind == ElementNode::Kind::kLoad && StepOf(each.offset, variable) == 1;
  });
}

std::vector<int64_t> MajorToMinor(const Shape& shape) {
  std::vector<int64_t> dims;
  for (size_t i = shape.layout().minor_to_major.size(); i-- > 0;) {
    const int64_t d = shape.layout().minor_to_major[i];
    if (shape.dim(d) > 1) dims.push_back(d);
  }
  return dims;
}

std::vector<IndexExpr> AddVariables(IterationSpace& space, const Shape& shape, std::span<const int> groups,
                                    const std::function<Role(int64_t)>& role_of) {
  IndexPool& pool = space.pool;
  const std::vector<int64_t> order = MajorToMinor(shape);
  std::vector<IndexExpr> index(shape.rank(), pool.Constant(0));
  size_t next = 0;
  for (const int group : groups) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < group; ++i) sizes.push_back(shape.dim(order[next + i]));
    const int64_t size = Product(sizes);
    space.variables.push_back({pool.Variable(0, size - 1), size, group == 0 ? Role::kKept : role_of(order[next])});
    const std::vector<IndexExpr> parts = pool.Delinearize(space.variables.back().e, sizes);
    for (int i = 0; i < group; ++i) index[order[next + i]] = parts[i];
    next += group;
  }
  return index;
}

Result<IterationSpace::Output> OutputAt(IterationSpace& space, const FusionBody::Root& root,
                                        const std::vector<IndexExpr>& index, const Dims& dims) {
  IndexPool& pool = space.pool;
  const std::vector<IndexExpr> at =
      root.shape->dims() == dims ? index : pool.Delinearize(pool.Linearize(index, dims), root.shape->dims());
  const NodeId value = TRY(space.graph.Plan(*root.inst, at, root.result));
  return IterationSpace::Output{&root, value, pool.Dot(at, LayoutStrides(*root.shape))};
}

bool MayMerge(const IterationSpace& space, size_t i, std::span<const NodeId> nodes,
              std::span<const IndexExpr> offsets) {
  const IterationSpace::Variable &a = space.variables[i - 1], &b = space.variables[i];
  if (a.role != b.role) return false;
  const IndexPool& pool = space.pool;
  const std::function<bool(IndexExpr)> sees_one = [&](IndexExpr e) {
    if (!pool.DependsOn(e, a.e) && !pool.DependsOn(e, b.e)) return true;
    const IndexPool::Node& node = pool[e];
    if (node.kind == IndexPool::Kind::kVariable) return false;
    if (node.kind != IndexPool::Kind::kSum) return sees_one(node.operand);
    int64_t of_a = 0, of_b = 0;
    for (const auto& term : node.terms) {
      if (term.atom == a.e) of_a = term.coefficient;
      else if (term.atom == b.e) of_b = term.coefficient;
      else if (!sees_one(term.atom)) return false;
    }
    return of_a == of_b * b.size;
  };
  for (const NodeId id : space.graph.Reachable(nodes)) {
    // The emitter computes kGiven nodes, so their indices do not restrict which variables are merged.
    if (space.graph.node(id).kind == ElementNode::Kind::kGiven) continue;
    if (!std::ranges::all_of(space.graph.Expressions(id), sees_one)) return false;
  }
  return std::ranges::all_of(offsets, sees_one);
}

}  // namespace hlo::gpu
