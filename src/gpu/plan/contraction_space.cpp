#include "gpu/plan/contraction_space.h"

#include <algorithm>
#include <utility>

#include "gpu/plan/scalar.h"
#include "ir/dimensions.h"

namespace hlo::gpu {
namespace {

struct Sizes {
  int64_t groups = 1, rows = 1, columns = 1, positions = 1, terms = 1;
};
bool MakeVariables(ContractionSpace& space, const Sizes& sizes) {
  if (sizes.groups * sizes.rows * sizes.columns * sizes.positions * sizes.terms == 0) return false;
  const auto add = [&](int64_t size, Role role) {
    space.variables.push_back({space.pool.Variable(0, size - 1), size, role});
  };
  add(sizes.groups, Role::kKept);
  add(sizes.rows, Role::kKept);
  add(sizes.columns, Role::kKept);
  add(sizes.positions, Role::kReduced);
  add(sizes.terms, Role::kReduced);
  return true;
}

Status PlanDot(const Instruction& dot, ContractionSpace& space) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const Shape &lhs = dot.operand(0).shape(), &rhs = dot.operand(1).shape();
  const auto sizes = [](const Shape& shape, const std::vector<int64_t>& dims) {
    std::vector<int64_t> out;
    for (const int64_t d : dims) out.push_back(shape.dim(d));
    return out;
  };
  const std::vector<int64_t> lhs_free = FreeDimensions(lhs.rank(), attrs.lhs_batch, attrs.lhs_contracting);
  const std::vector<int64_t> rhs_free = FreeDimensions(rhs.rank(), attrs.rhs_batch, attrs.rhs_contracting);
  const std::vector<int64_t> batch_sizes = sizes(lhs, attrs.lhs_batch), row_sizes = sizes(lhs, lhs_free);
  const std::vector<int64_t> column_sizes = sizes(rhs, rhs_free), term_sizes = sizes(lhs, attrs.lhs_contracting);
  if (!MakeVariables(space, {.groups = Product(batch_sizes),
                             .rows = Product(row_sizes),
                             .columns = Product(column_sizes),
                             .terms = Product(term_sizes)}))
    return {};
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
  place(space.group().e, batch_sizes, &attrs.lhs_batch, &attrs.rhs_batch, true);
  place(space.row().e, row_sizes, &lhs_free, nullptr, true);
  place(space.column().e, column_sizes, nullptr, &rhs_free, true);
  place(space.term().e, term_sizes, &attrs.lhs_contracting, &attrs.rhs_contracting, false);
  space.lhs = TRY(space.graph.Plan(dot.operand(0), a));
  space.rhs = TRY(space.graph.Plan(dot.operand(1), b));
  return {};
}

// A factor of a convolution's rows: `size` steps of `step` along result dimension `dim`.
struct RowPart {
  int64_t dim, size, step;
  bool is_class;
};

// The factors in memory order. If the input is dilated, the rows of a class use the same elements of the window.
// Factors that number classes come first, so that a class's rows are adjacent.
std::vector<RowPart> RowParts(const Instruction& convolution) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const Shape& out = convolution.shape();
  std::vector<RowPart> classes, parts = {{labels.out_batch, out.dim(labels.out_batch), 1, false}};
  for (size_t i = 0; i < labels.out_spatial.size(); ++i) {
    const int64_t dim = labels.out_spatial[i], size = out.dim(dim), dilation = attrs.window.dims[i].base_dilation;
    const int64_t step = size % dilation == 0 ? dilation : 1;
    if (step > 1) classes.push_back({dim, step, 1, true});
    parts.push_back({dim, size / step, step, false});
  }
  const std::vector<int64_t> strides = LayoutStrides(out);
  std::ranges::stable_sort(parts, std::ranges::greater(), [&](const RowPart& part) { return strides[part.dim]; });
  parts.insert(parts.begin(), classes.begin(), classes.end());
  return parts;
}

Status PlanConvolution(const Instruction& convolution, ContractionSpace& space) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const Shape &lhs = convolution.operand(0).shape(), &rhs = convolution.operand(1).shape(), &out = convolution.shape();
  const int64_t features = rhs.dim(labels.rhs_input_feature);
  std::vector<int64_t> window_sizes;
  for (const WindowDim& window : attrs.window.dims) window_sizes.push_back(window.size);
  const std::vector<RowPart> parts = RowParts(convolution);
  std::vector<int64_t> row_sizes;
  for (const RowPart& part : parts) row_sizes.push_back(part.size);
  const int64_t groups = attrs.feature_group_count * attrs.batch_group_count;
  Sizes sizes{.groups = groups,
              .rows = Product(row_sizes),
              .columns = out.dim(labels.out_feature) / groups,
              .positions = Product(window_sizes),
              .terms = features};
  // Window positions become terms if features alone would not fill a panel, or are major to positions in memory. In the
  // latter case, as in a gradient of filters, neighbouring features are distant.
  const std::vector<int64_t> strides = LayoutStrides(lhs);
  const bool is_major = !labels.lhs_spatial.empty() && strides[labels.lhs_feature] > strides[labels.lhs_spatial.back()];
  const bool joined = features < 16 || is_major;
  const int64_t positions = sizes.positions;
  if (joined) sizes.terms *= std::exchange(sizes.positions, 1);
  if (!MakeVariables(space, sizes)) return {};
  IndexPool& pool = space.pool;
  const IndexExpr term = space.term().e;
  const IndexExpr feature = !joined ? term : is_major ? pool.Div(term, positions) : pool.Mod(term, features);
  const IndexExpr position = !joined    ? space.position().e
                             : is_major ? pool.Mod(term, positions)
                                        : pool.Div(term, features);
  const std::vector<IndexExpr> w = pool.Delinearize(position, window_sizes);
  const std::vector<IndexExpr> at = pool.Delinearize(space.row().e, row_sizes);
  const IndexExpr out_feature = pool.Add(pool.Multiply(space.group().e, sizes.columns), space.column().e);
  std::vector<IndexExpr> a(lhs.rank()), b(rhs.rank());
  space.result.resize(out.rank());
  for (size_t i = 0; i < parts.size(); ++i) {
    IndexExpr& index = space.result[parts[i].dim];
    const IndexExpr part = pool.Multiply(at[i], parts[i].step);
    index = index.id < 0 ? part : pool.Add(index, part);
    if (parts[i].is_class) space.row_classes *= parts[i].size;
  }
  const auto in_group = [&](IndexExpr e, int64_t size, int64_t of) {
    return of > 1 ? pool.Add(pool.Multiply(space.group().e, size), e) : e;
  };
  a[labels.lhs_batch] = in_group(space.result[labels.out_batch], out.dim(labels.out_batch), attrs.batch_group_count);
  a[labels.lhs_feature] = in_group(feature, features, attrs.feature_group_count);
  b[labels.rhs_input_feature] = feature;
  b[labels.rhs_output_feature] = space.result[labels.out_feature] = out_feature;
  for (size_t i = 0; i < labels.lhs_spatial.size(); ++i) {
    const WindowDim& window = attrs.window.dims[i];
    a[labels.lhs_spatial[i]] = WindowBase(pool, space.result[labels.out_spatial[i]], w[i], window,
                                          lhs.dim(labels.lhs_spatial[i]), &space.lhs_conditions);
    b[labels.rhs_spatial[i]] = window.reversed ? pool.Add(pool.Multiply(w[i], -1), window.size - 1) : w[i];
  }
  space.lhs = TRY(space.graph.Plan(convolution.operand(0), a));
  space.rhs = TRY(space.graph.Plan(convolution.operand(1), b));
  return {};
}

}  // namespace

bool FitsMatrixUnits(const Instruction& product) {
  const PrimitiveType type = product.operand(0).shape().type(), result = product.shape().type();
  return (type == PrimitiveType::kBF16 || type == PrimitiveType::kF16) && product.operand(1).shape().type() == type &&
         (result == type || result == PrimitiveType::kF32);
}

bool Saturates(const Instruction& product) {
  return product.Is(Opcode::kConvolution) && IsInteger(product.shape().type());
}

std::vector<NodeId> ContractionSpace::Needed() const {
  std::vector<NodeId> needed = Values();
  needed.push_back(lhs);
  needed.push_back(rhs);
  return needed;
}

void ContractionSpace::PutNeighboursIntoColumns() {
  if (StepOf(outputs[0].offset, row()) != 1 || StepOf(outputs[0].offset, column()) == 1) return;
  std::swap(variables[1], variables[2]);
  std::swap(lhs, rhs);
  std::swap(lhs_conditions, rhs_conditions);
  std::swap(lhs_operand, rhs_operand);
  row_classes = 1;
}

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
    if (root.shape->NumElements() != shape.NumElements())
      return no("a result has another number of elements than the product");
    if (!root.shape->layout().tiling->tiles.empty()) return no("the layout of a result has tiles");
    space->outputs.push_back(TRY(OutputAt(*space, root, space->result, shape.dims())));
  }
  const NodeId operands[] = {space->lhs, space->rhs};
  for (const NodeId id : space->graph.Reachable(operands)) {
    if (space->graph.node(id).kind == ElementNode::Kind::kGiven) return no("the product reads its own result");
  }
  for (const NodeId id : space->graph.Reachable(space->Values())) {
    const ElementNode& node = space->graph.node(id);
    if (node.kind != ElementNode::Kind::kGiven) continue;
    if (node.index != space->result)
      return no("the product is read at another index than that of the computed element");
    space->given.push_back(id);
  }
  return space;
}

}  // namespace hlo::gpu
