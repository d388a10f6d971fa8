#include "gpu/emitters/contraction.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "gpu/emitters/frame.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::CeilDiv;
using kernel::KernelBuilder;
using kernel::Slot;
using kernel::Type;
using kernel::Value;
using kernel::Variable;
using Kind = ElementNode::Kind;

constexpr int64_t kFewTerms = 16;  // The loop emitter's.
constexpr int64_t kColumns = 64;   // Of a block: two for each lane.
constexpr int64_t kPanel = 32;     // Terms in shared memory at a time.
constexpr int kWarps = 8;

int64_t Product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

// result[group, row, column] = sum over position, term of lhs[group, row, position, term] * rhs[group, position, term,
// column]. Positions are those of a convolution's window; a dot has one.
struct ContractionPlan {
  explicit ContractionPlan(const FusionBody& body) : graph(body, pool) {}
  ContractionPlan(const ContractionPlan&) = delete;

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

Status PlanDot(const Instruction& dot, ContractionPlan& plan) {
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
  plan.groups = Product(batch_sizes);
  plan.rows = Product(row_sizes);
  plan.columns = Product(column_sizes);
  plan.terms = Product(term_sizes);
  if (plan.groups * plan.rows * plan.columns * plan.terms == 0) return {};
  plan.MakeVariables();
  std::vector<IndexExpr> a(lhs.rank()), b(rhs.rank());
  const auto place = [&](IndexExpr e, const std::vector<int64_t>& dims_sizes, const std::vector<int64_t>* in_a,
                         const std::vector<int64_t>* in_b, bool is_result) {
    const std::vector<IndexExpr> parts = plan.pool.Delinearize(e, dims_sizes);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (in_a) a[(*in_a)[i]] = parts[i];
      if (in_b) b[(*in_b)[i]] = parts[i];
      if (is_result) plan.result.push_back(parts[i]);
    }
  };
  place(plan.group, batch_sizes, &attrs.lhs_batch, &attrs.rhs_batch, true);
  place(plan.row, row_sizes, &lhs_free, nullptr, true);
  place(plan.column, column_sizes, nullptr, &rhs_free, true);
  place(plan.term, term_sizes, &attrs.lhs_contracting, &attrs.rhs_contracting, false);
  plan.lhs = TRY(plan.graph.Plan(dot.operand(0), a));
  plan.rhs = TRY(plan.graph.Plan(dot.operand(1), b));
  return {};
}

Status PlanConvolution(const Instruction& convolution, ContractionPlan& plan) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const Shape &lhs = convolution.operand(0).shape(), &rhs = convolution.operand(1).shape(), &out = convolution.shape();
  const int64_t features = rhs.dim(labels.rhs_input_feature);
  std::vector<int64_t> window_sizes, row_sizes = {out.dim(labels.out_batch)};
  for (const WindowDim& window : attrs.window.dims) window_sizes.push_back(window.size);
  for (const int64_t d : labels.out_spatial) row_sizes.push_back(out.dim(d));
  plan.groups = attrs.feature_group_count;
  plan.rows = Product(row_sizes);
  plan.columns = out.dim(labels.out_feature) / plan.groups;
  plan.positions = Product(window_sizes);
  plan.terms = features;
  if (plan.groups * plan.rows * plan.columns * plan.positions * plan.terms == 0) return {};
  // Few features: the window joins them, so that panels are full.
  const bool joined = features < 16;
  if (joined) {
    plan.terms *= plan.positions;
    plan.positions = 1;
  }
  plan.MakeVariables();
  IndexPool& pool = plan.pool;
  const IndexExpr feature = joined ? pool.Mod(plan.term, features) : plan.term;
  const std::vector<IndexExpr> w =
      pool.Delinearize(joined ? pool.Div(plan.term, features) : plan.position, window_sizes);
  const std::vector<IndexExpr> at = pool.Delinearize(plan.row, row_sizes);
  const IndexExpr out_feature = pool.Add(pool.Multiply(plan.group, plan.columns), plan.column);
  std::vector<IndexExpr> a(lhs.rank()), b(rhs.rank());
  plan.result.resize(out.rank());
  a[labels.lhs_batch] = plan.result[labels.out_batch] = at[0];
  a[labels.lhs_feature] = pool.Add(pool.Multiply(plan.group, features), feature);
  b[labels.rhs_input_feature] = feature;
  b[labels.rhs_output_feature] = plan.result[labels.out_feature] = out_feature;
  for (size_t i = 0; i < labels.lhs_spatial.size(); ++i) {
    const WindowDim& window = attrs.window.dims[i];
    plan.result[labels.out_spatial[i]] = at[1 + i];
    a[labels.lhs_spatial[i]] =
        WindowBase(pool, at[1 + i], w[i], window, lhs.dim(labels.lhs_spatial[i]), &plan.lhs_conditions);
    b[labels.rhs_spatial[i]] = window.reversed ? pool.Add(pool.Multiply(w[i], -1), window.size - 1) : w[i];
  }
  plan.lhs = TRY(plan.graph.Plan(convolution.operand(0), a));
  plan.rhs = TRY(plan.graph.Plan(convolution.operand(1), b));
  return {};
}

// Do loads of `node` run along `variable`?
bool RunsAlong(const ContractionPlan& plan, NodeId node, IndexExpr variable) {
  const NodeId roots[] = {node};
  for (const NodeId id : plan.graph.Reachable(roots)) {
    const ElementNode& each = plan.graph.node(id);
    if (each.kind == Kind::kLoad && plan.pool.Coefficient(each.offset, variable) == 1) return true;
  }
  return false;
}

KernelPlan EmitTiles(ContractionPlan& plan, const Instruction& hero, const EmitterOptions& options) {
  const Type declared = KernelTypeOf(hero.shape().type()), type = AccumulatorType(hero, declared);
  // Rows of a warp: fewer where there are few rows.
  const int64_t warp_rows = plan.rows <= kWarps ? 1 : plan.rows <= 2 * kWarps ? 2 : plan.rows <= 4 * kWarps ? 4 : 8;
  const int64_t tile_rows = warp_rows * kWarps;
  const int64_t row_tiles = CeilDiv(plan.rows, tile_rows), column_tiles = CeilDiv(plan.columns, kColumns);
  const int64_t panels = CeilDiv(plan.terms, kPanel);

  std::vector<NodeId> needed = plan.Epilogues();
  needed.push_back(plan.lhs);
  needed.push_back(plan.rhs);
  KernelFrame frame(plan.graph, needed, plan.groups * row_tiles * column_tiles, kWarps * 32, options);
  std::vector<Array> outputs;
  for (const auto& output : plan.outputs) outputs.push_back(frame.Output(*output.root));
  KernelBuilder& k = frame.k();
  // 128 registers a thread at most. Left to itself, ptxas takes 48 of the 56 that are needed, for one more block on the
  // SM, and spills the others.
  k.SetMinBlocksPerSm(2);
  Emission& emission = frame.emission();
  const Array a_tile = k.Shared("lhs", type, tile_rows * kPanel), b_tile = k.Shared("rhs", type, kPanel * kColumns);
  const Value column0 = k.block() % column_tiles * kColumns;
  const Value row0 = k.block() / column_tiles % row_tiles * tile_rows;
  emission.Bind(plan.group, k.block() / (column_tiles * row_tiles));

  std::vector<Slot> sums;
  const auto zero = [&] { return kernel::IsFloat(type) ? k.Constant(type, 0.0) : k.Constant(type, int64_t{0}); };
  for (int64_t r = 0; r < warp_rows; ++r) {
    sums.push_back(k.MakeSlot(type, 2));
    k.Fill(sums.back(), zero());
  }

  // An operand's tile: `line` is the variable that a warp steps along, `lane` the one its lanes take. Indices beyond
  // the end read the last element, and terms beyond the end are 0 on both sides.
  const auto fill = [&](const Array& tile, NodeId node, std::span<const IndexCondition> conditions, IndexExpr line,
                        Value line0, int64_t lines, int64_t line_size, IndexExpr lane, Value lane0, int64_t lanes,
                        int64_t lane_size, int64_t line_pitch, int64_t lane_pitch) {
    const int64_t terms = options.inject == "dropped_term" && plan.terms > 1 ? plan.terms - 1 : plan.terms;
    const auto within = [&](Value index, int64_t size, int64_t step) {
      return size % step == 0 ? index : Min(index, k.Index(size - 1));
    };
    emission.SetLane(lane);
    k.Warps([&] {
      k.Loop(k.warp(), k.Index(lines), kWarps, [&](Value i) {
        Emission::Scope scope(emission);
        const Value at_line = line0 + i;
        emission.Bind(line, within(at_line, line_size, lines));
        const NodeId nodes[] = {node};
        emission.Hoist(nodes);
        for (const IndexCondition& condition : conditions) emission.Hoist(condition.expression);
        k.Tile(static_cast<int>(lanes / 32), [&](Value j) {
          Emission::Scope in_tile(emission);
          const Value at_lane = lane0 + j;
          emission.Bind(lane, within(at_lane, lane_size, lanes));
          Value value = Convert(Convert(emission.Emit(node), declared), type);
          if (!conditions.empty()) value = Select(emission.All(conditions), value, zero());
          if (terms % kPanel != 0) value = Select((line == plan.term ? at_line : at_lane) < terms, value, zero());
          tile.Store(i * line_pitch + j * lane_pitch, value);
        });
      });
    });
  };

  k.Loop(int64_t{0}, plan.positions * panels, 1, [&](Value step) {
    Emission::Scope scope(emission);
    emission.Bind(plan.position, panels == 1 ? step : step / panels);
    const Value term0 = panels == 1 ? k.Index(0) : (plan.positions == 1 ? step : step % panels) * kPanel;
    if (tile_rows % 32 == 0 && RunsAlong(plan, plan.lhs, plan.row)) {
      fill(a_tile, plan.lhs, plan.lhs_conditions, plan.term, term0, kPanel, plan.terms, plan.row, row0, tile_rows,
           plan.rows, 1, kPanel);
    } else {
      fill(a_tile, plan.lhs, plan.lhs_conditions, plan.row, row0, tile_rows, plan.rows, plan.term, term0, kPanel,
           plan.terms, kPanel, 1);
    }
    if (RunsAlong(plan, plan.rhs, plan.term)) {
      fill(b_tile, plan.rhs, {}, plan.column, column0, kColumns, plan.columns, plan.term, term0, kPanel, plan.terms, 1,
           kColumns);
    } else {
      fill(b_tile, plan.rhs, {}, plan.term, term0, kPanel, plan.terms, plan.column, column0, kColumns, plan.columns,
           kColumns, 1);
    }
    k.Warps([&] {
      const Value first = k.warp() * (warp_rows * kPanel);
      k.Tile(2, [&](Value i) {
        std::vector<Variable> running;
        for (const Slot& sum : sums) running.push_back(k.MakeVariable(sum.Get()));
        k.Loop(
            int64_t{0}, kPanel, 1,
            [&](Value t) {
              const Value b = b_tile.Load(t * kColumns + i);
              for (int64_t r = 0; r < warp_rows; ++r) {
                const Value a = a_tile.Load(first + (t + r * kPanel));
                running[r].Set(kernel::IsFloat(type) ? Fma(a, b, running[r].Get()) : running[r].Get() + a * b);
              }
            },
            8);
        for (size_t r = 0; r < sums.size(); ++r) sums[r].Set(running[r].Get());
      });
    });
  });

  emission.SetLane(plan.column);
  k.Warps([&] {
    for (int64_t r = 0; r < warp_rows; ++r) {
      const Value row = row0 + k.warp() * warp_rows + r;
      k.If(row < plan.rows, [&] {
        Emission::Scope scope(emission);
        emission.Bind(plan.row, row);
        emission.Hoist(plan.Epilogues());
        for (const auto& output : plan.outputs) emission.Hoist(output.offset);
        TileOver(k, 2, plan.columns, column0, kColumns, [&](Value j) {
          Emission::Scope in_tile(emission);
          emission.Bind(plan.column, column0 + j);
          for (const NodeId given : plan.given) emission.Bind(given, {Convert(sums[r].Get(), declared)});
          std::vector<Value> results;
          for (const auto& output : plan.outputs) results.push_back(emission.Emit(output.value));
          for (size_t o = 0; o < results.size(); ++o)
            outputs[o].Store(emission.Lower(plan.outputs[o].offset), results[o]);
        });
      });
    }
  });
  KernelPlan result = std::move(frame).Finish(hero.Is(Opcode::kDot) ? "dot, tiled" : "convolution, tiled");
  if (IsFloat(hero.shape().type())) {
    result.precision.instructions[hero.id()].sum =
        SumPlan{.accumulator = type == declared ? hero.shape().type() : PrimitiveType::kF32,
                .longest_chain = plan.positions * plan.terms};
  }
  return result;
}

}  // namespace

Result<std::optional<KernelPlan>> EmitContraction(const FusionBody& body, const EmitterOptions& options) {
  const Instruction* hero = nullptr;
  for (const Instruction* inst : body.instructions()) {
    if (!inst->Is(Opcode::kDot) && !inst->Is(Opcode::kConvolution)) continue;
    if (hero != nullptr) return std::nullopt;
    hero = inst;
  }
  if (hero == nullptr || hero->operand_count() != 2) return std::nullopt;
  const PrimitiveType type = hero->shape().type();
  TRY(KernelType(*hero, type));
  if (type == PrimitiveType::kPred) return std::nullopt;
  if (hero->Is(Opcode::kConvolution) && (!IsFloat(type) || hero->attrs<ConvolutionAttrs>().batch_group_count != 1))
    return std::nullopt;

  ContractionPlan plan(body);
  TRY(hero->Is(Opcode::kDot) ? PlanDot(*hero, plan) : PlanConvolution(*hero, plan));
  if (plan.lhs < 0 || plan.positions * plan.terms <= kFewTerms) return std::nullopt;
  plan.graph.SetGiven(*hero);
  const Shape& shape = hero->shape();
  for (const FusionBody::Root& root : body.roots()) {
    TRY(KernelType(*root.inst, root.shape->type()));
    if (root.shape->NumElements() != shape.NumElements() || !root.shape->layout().tiling->tiles.empty())
      return std::nullopt;
    const std::vector<IndexExpr> at =
        root.shape->dims() == shape.dims()
            ? plan.result
            : plan.pool.Delinearize(plan.pool.Linearize(plan.result, shape.dims()), root.shape->dims());
    plan.outputs.push_back(
        {&root, TRY(plan.graph.Plan(*root.inst, at, root.result)), plan.pool.Dot(at, LayoutStrides(*root.shape))});
  }
  const NodeId operands[] = {plan.lhs, plan.rhs};
  for (const NodeId id : plan.graph.Reachable(operands)) {
    if (plan.graph.node(id).kind == Kind::kGiven) return std::nullopt;
  }
  for (const NodeId id : plan.graph.Reachable(plan.Epilogues())) {
    const ElementNode& node = plan.graph.node(id);
    if (node.kind != Kind::kGiven) continue;
    if (node.index != plan.result) return std::nullopt;
    plan.given.push_back(id);
  }
  return EmitTiles(plan, *hero, options);
}

}  // namespace hlo::gpu
