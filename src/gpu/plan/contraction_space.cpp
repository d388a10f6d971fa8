#include "gpu/plan/contraction_space.h"

#include <algorithm>

#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

int64_t Product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

Status PlanDot(const Instruction& dot, ContractionSpace& space) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const Shape &lhs = dot.operand(0).shape(), &rhs = dot.operand(1).shape();
  const auto free_dims = [](const Shape& shape, const std::vector<int64_t>& batch,
                            const std::vector<int64_t>& contracting) {
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (!std::ranges::count(batch, d) && !std::ranges::count(contracting, d)) dims.push_back(d);
    }
    return dims;
  };
  const auto sizes = [](const Shape& shape, const std::vector<int64_t>& dims) {
    std::vector<int64_t> out;
    for (const int64_t d : dims) out.push_back(shape.dim(d));
    return out;
  };
  const std::vector<int64_t> lhs_free = free_dims(lhs, attrs.lhs_batch, attrs.lhs_contracting);
  const std::vector<int64_t> rhs_free = free_dims(rhs, attrs.rhs_batch, attrs.rhs_contracting);
  const std::vector<int64_t> batch_sizes = sizes(lhs, attrs.lhs_batch), row_sizes = sizes(lhs, lhs_free);
  const std::vector<int64_t> column_sizes = sizes(rhs, rhs_free), term_sizes = sizes(lhs, attrs.lhs_contracting);
  space.groups = Product(batch_sizes);
  space.rows = Product(row_sizes);
  space.columns = Product(column_sizes);
  space.terms = Product(term_sizes);
  if (space.groups * space.rows * space.columns * space.terms == 0) return {};
  space.MakeVariables();
  std::vector<IndexExpr> a(lhs.rank()), b(rhs.rank());
  const auto place = [&](IndexExpr e, const std::vector<int64_t>& dims_sizes, const std::vector<int64_t>* in_a,
                         const std::vector<int64_t>* in_b, bool is_result) {
    const std::vector<IndexExpr> parts = space.pool.Delinearize(e, dims_sizes);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (in_a) a[(*in_a)[i]] = parts[i];
      if (in_b) b[(*in_b)[i]] = parts[i];
      if (is_result) space.result.push_back(parts[i]);
    }
  };
  place(space.group, batch_sizes, &attrs.lhs_batch, &attrs.rhs_batch, true);
  place(space.row, row_sizes, &lhs_free, nullptr, true);
  place(space.column, column_sizes, nullptr, &rhs_free, true);
  place(space.term, term_sizes, &attrs.lhs_contracting, &attrs.rhs_contracting, false);
  space.lhs = TRY(space.graph.Plan(dot.operand(0), a));
  space.rhs = TRY(space.graph.Plan(dot.operand(1), b));
  return {};
}

Status PlanConvolution(const Instruction& convolution, ContractionSpace& space) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const Shape &lhs = convolution.operand(0).shape(), &rhs = convolution.operand(1).shape(), &out = convolution.shape();
  const int64_t features = rhs.dim(labels.rhs_input_feature);
  std::vector<int64_t> window_sizes, row_sizes = {out.dim(labels.out_batch)};
  for (const WindowDim& window : attrs.window.dims) window_sizes.push_back(window.size);
  for (const int64_t d : labels.out_spatial) row_sizes.push_back(out.dim(d));
  space.groups = attrs.feature_group_count;
  space.rows = Product(row_sizes);
  space.columns = out.dim(labels.out_feature) / space.groups;
  space.positions = Product(window_sizes);
  space.terms = features;
  if (space.groups * space.rows * space.columns * space.positions * space.terms == 0) return {};
  // Few features: the window joins them, so that panels are full.
  const bool joined = features < 16;
  if (joined) {
    space.terms *= space.positions;
    space.positions = 1;
  }
  space.MakeVariables();
  IndexPool& pool = space.pool;
  const IndexExpr feature = joined ? pool.Mod(space.term, features) : space.term;
  const std::vector<IndexExpr> w =
      pool.Delinearize(joined ? pool.Div(space.term, features) : space.position, window_sizes);
  const std::vector<IndexExpr> at = pool.Delinearize(space.row, row_sizes);
  const IndexExpr out_feature = pool.Add(pool.Multiply(space.group, space.columns), space.column);
  std::vector<IndexExpr> a(lhs.rank()), b(rhs.rank());
  space.result.resize(out.rank());
  a[labels.lhs_batch] = space.result[labels.out_batch] = at[0];
  a[labels.lhs_feature] = pool.Add(pool.Multiply(space.group, features), feature);
  b[labels.rhs_input_feature] = feature;
  b[labels.rhs_output_feature] = space.result[labels.out_feature] = out_feature;
  for (size_t i = 0; i < labels.lhs_spatial.size(); ++i) {
    const WindowDim& window = attrs.window.dims[i];
    space.result[labels.out_spatial[i]] = at[1 + i];
    a[labels.lhs_spatial[i]] =
        WindowBase(pool, at[1 + i], w[i], window, lhs.dim(labels.lhs_spatial[i]), &space.lhs_conditions);
    b[labels.rhs_spatial[i]] = window.reversed ? pool.Add(pool.Multiply(w[i], -1), window.size - 1) : w[i];
  }
  space.lhs = TRY(space.graph.Plan(convolution.operand(0), a));
  space.rhs = TRY(space.graph.Plan(convolution.operand(1), b));
  return {};
}

}  // namespace

Result<std::unique_ptr<ContractionSpace>> ContractionSpaceOf(const FusionBody& body, const Instruction& hero,
                                                             std::string* why_not) {
  const auto no = [&](std::string_view why) {
    *why_not = why;
    return nullptr;
  };
  auto space = std::make_unique<ContractionSpace>(body);
  TRY(hero.Is(Opcode::kDot) ? PlanDot(hero, *space) : PlanConvolution(hero, *space));
  if (space->lhs < 0) return nullptr;
  space->graph.SetGiven(hero);
  const Shape& shape = hero.shape();
  for (const FusionBody::Root& root : body.roots()) {
    TRY(KernelType(*root.inst, root.shape->type()));
    if (root.shape->NumElements() != shape.NumElements()) return no("a result has other elements than the product");
    if (!root.shape->layout().tiling->tiles.empty()) return no("the layout of a result has tiles");
    const std::vector<IndexExpr> at =
        root.shape->dims() == shape.dims()
            ? space->result
            : space->pool.Delinearize(space->pool.Linearize(space->result, shape.dims()), root.shape->dims());
    space->outputs.push_back(
        {&root, TRY(space->graph.Plan(*root.inst, at, root.result)), space->pool.Dot(at, LayoutStrides(*root.shape))});
  }
  const NodeId operands[] = {space->lhs, space->rhs};
  for (const NodeId id : space->graph.Reachable(operands)) {
    if (space->graph.node(id).kind == ElementNode::Kind::kGiven) return no("the product reads its own result");
  }
  for (const NodeId id : space->graph.Reachable(space->Epilogues())) {
    const ElementNode& node = space->graph.node(id);
    if (node.kind != ElementNode::Kind::kGiven) continue;
    if (node.index != space->result) return no("the product is used at another place than its own");
    space->given.push_back(id);
  }
  return space;
}

}  // namespace hlo::gpu
