#include "gpu/emitters/scatter.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/emitters/loop.h"
#include "gpu/emitters/scalar.h"
#include "gpu/emitters/transpose.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::CeilDiv;
using kernel::KernelBuilder;
using kernel::Type;
using kernel::Value;
using Kind = ElementNode::Kind;

bool Contains(const std::vector<int64_t>& list, int64_t d) { return std::ranges::find(list, d) != list.end(); }

int64_t Product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

struct ScatterPlan {
  explicit ScatterPlan(const FusionBody& body) : graph(body, pool) {}
  ScatterPlan(const ScatterPlan&) = delete;

  IndexPool pool;
  ElementGraph graph;
  std::vector<int64_t> scatter_sizes, window_sizes;
  IndexExpr scatter, window;  // Linear, row-major.
  NodeId update;
  IndexExpr window_offset;  // In the output, from where the window starts.
  bool windows_overlap = false;
  struct Start {  // A dimension whose start is loaded.
    NodeId index;
    int64_t most;  // Above it the window would leave the operand.
    int64_t stride;
  };
  std::vector<Start> starts;
};

Status PlanUpdates(const Instruction& inst, ScatterPlan& plan) {
  const auto& attrs = inst.attrs<ScatterAttrs>();
  const Instruction &operand = inst.operand(0), &indices = inst.operand(1), &updates = inst.operand(2);
  const std::vector<int64_t> strides = LayoutStrides(inst.shape());
  for (int64_t d = 0; d < updates.shape().rank(); ++d) {
    (Contains(attrs.update_window_dims, d) ? plan.window_sizes : plan.scatter_sizes).push_back(updates.shape().dim(d));
  }
  plan.scatter = plan.pool.Variable(0, Product(plan.scatter_sizes) - 1);
  plan.window = plan.pool.Variable(0, Product(plan.window_sizes) - 1);
  const std::vector<IndexExpr> scatter = plan.pool.Delinearize(plan.scatter, plan.scatter_sizes);
  const std::vector<IndexExpr> window = plan.pool.Delinearize(plan.window, plan.window_sizes);
  std::vector<IndexExpr> at;
  size_t next_scatter = 0, next_window = 0;
  for (int64_t d = 0; d < updates.shape().rank(); ++d) {
    at.push_back(Contains(attrs.update_window_dims, d) ? window[next_window++] : scatter[next_scatter++]);
  }
  plan.update = TRY(plan.graph.Plan(updates, at));

  plan.window_offset = plan.pool.Constant(0);
  next_window = 0;
  for (int64_t d = 0; d < operand.shape().rank(); ++d) {
    int64_t extent = 1;
    if (!Contains(attrs.inserted_window_dims, d) && !Contains(attrs.input_batching_dims, d)) {
      extent = plan.window_sizes[next_window];
      plan.window_offset = plan.pool.Add(plan.window_offset, plan.pool.Multiply(window[next_window++], strides[d]));
    }
    const auto batching = std::ranges::find(attrs.input_batching_dims, d);
    if (batching != attrs.input_batching_dims.end()) {
      int64_t dim = attrs.scatter_indices_batching_dims[batching - attrs.input_batching_dims.begin()];
      dim -= dim > attrs.index_vector_dim ? 1 : 0;
      plan.window_offset = plan.pool.Add(plan.window_offset, plan.pool.Multiply(scatter[dim], strides[d]));
      continue;
    }
    const auto k = std::ranges::find(attrs.scatter_dims_to_operand_dims, d);
    if (k == attrs.scatter_dims_to_operand_dims.end()) continue;
    std::vector<IndexExpr> component = scatter;
    if (attrs.index_vector_dim < indices.shape().rank()) {
      component.insert(component.begin() + attrs.index_vector_dim,
                       plan.pool.Constant(k - attrs.scatter_dims_to_operand_dims.begin()));
    }
    plan.starts.push_back({TRY(plan.graph.Plan(indices, component)), operand.shape().dim(d) - extent, strides[d]});
    plan.windows_overlap |= extent > 1 && operand.shape().dim(d) > extent;
  }
  return {};
}

}  // namespace

Result<std::optional<std::vector<KernelPlan>>> EmitScatter(const FusionBody& body, const EmitterOptions& options) {
  const FusionBody::Root& root = body.roots()[0];
  const Instruction& inst = *root.inst;
  if (!inst.Is(Opcode::kScatter)) return std::nullopt;
  if (body.roots().size() != 1 || inst.operand_count() != 3) {
    FAIL(UnsupportedAt(
        inst, "U109",
        Str("no emitter for 'scatter' with ", inst.operand_count() / 2, " operands or beside other results")));
  }
  TRY(CheckOneFloatType(inst));
  TRY(CheckScalarComputation(*inst.attrs<ScatterAttrs>().to_apply));
  std::vector<KernelPlan> plans;
  const auto copy_operand = [&]() -> Status {
    // The operand, under the name of the result.
    const FusionBody::Root copied{&inst.operand(0), 0, root.index, root.shape};
    for (auto& loop : TRY(PlanLoops(body, {&copied}))) {
      if (auto transpose = EmitTranspose(*loop, options, "_operand")) {
        plans.push_back(std::move(*transpose));
      } else {
        plans.push_back(TRY(EmitLoop(body, std::move(loop), options, "_operand")));
      }
    }
    return {};
  };
  if (inst.operand(2).shape().NumElements() == 0) {
    TRY(copy_operand());
    return plans;
  }
  ScatterPlan plan(body);
  TRY(PlanUpdates(inst, plan));
  std::vector<NodeId> needed = {plan.update};
  for (const auto& start : plan.starts) needed.push_back(start.index);

  // In place when the operand is a leaf in the result's layout that the updates do not read.
  int leaf = body.LeafOf(inst.operand(0));
  if (leaf >= 0 && body.leaves()[leaf].shape->layout().minor_to_major != root.shape->layout().minor_to_major) leaf = -1;
  for (const NodeId id : plan.graph.Reachable(needed)) {
    if (plan.graph.node(id).kind == Kind::kLoad && plan.graph.node(id).leaf == leaf) leaf = -1;
  }
  if (leaf < 0) TRY(copy_operand());

  const int64_t window = Product(plan.window_sizes), count = Product(plan.scatter_sizes);
  const int threads = plan.windows_overlap ? 32 : ThreadsFor(window);
  KernelFrame frame(plan.graph, needed, plan.windows_overlap ? 1 : CeilDiv(window, threads), threads, options);
  const Array out = frame.WrittenOutput(root, leaf);
  KernelBuilder& k = frame.k();
  Emission& emission = frame.emission();
  emission.SetLane(plan.window);
  const Value begin = k.block() * threads;
  const auto update = [&](Value start, Value at) {
    emission.Bind(plan.window, at);
    const Value offset = start + emission.Lower(plan.window_offset);
    const Value arguments[] = {out.Load(offset), emission.Emit(plan.update)};
    out.Store(offset, EmitScalarComputation(k, *inst.attrs<ScatterAttrs>().to_apply, arguments, frame.fault())[0]);
  };
  k.Loop(int64_t{0}, frame.fault() == "dropped_term" ? count - 1 : count, 1, [&](Value i) {
    Emission::Scope scope(emission);
    emission.Bind(plan.scatter, i);
    // A window that does not fit is left out altogether.
    Value fits = k.Constant(Type::kPred, int64_t{1}), start = k.Index(0);
    for (const auto& each : plan.starts) {
      const Value index = Convert(emission.Emit(each.index), Type::kS64);
      fits = fits & (index >= 0) & (index <= each.most);
      start = start + Convert(index, Type::kIndex) * each.stride;
    }
    k.If(fits, [&] {
      Emission::Scope inner(emission);
      if (plan.windows_overlap) {
        k.Loop(int64_t{0}, window, 1, [&](Value at) {
          k.Tile(1, k.Index(1), [&](Value) {
            Emission::Scope in_tile(emission);
            update(start, at);
          });
        });
        return;
      }
      emission.Hoist(needed);
      emission.Hoist(plan.window_offset);
      TileOver(k, 1, window, begin, threads, [&](Value j) {
        Emission::Scope in_tile(emission);
        update(start, begin + j);
      });
    });
  });
  plans.push_back(std::move(frame).Finish("scatter, in the order of the indices"));
  if (IsFloat(inst.shape().type())) {
    plans.back().precision.instructions[inst.id()].sum =
        SumPlan{.accumulator = inst.shape().type(), .longest_chain = count};
  }
  return plans;
}

}  // namespace hlo::gpu
