#include "gpu/emitters/loop.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/text.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::CeilDiv;
using kernel::Value;
using Kind = ElementNode::Kind;

int64_t Product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

// Dynamic-update-slice roots that may write into the leaf they update: nothing else reads it, but for elements that the
// same thread is about to write.
bool IsInPlaceRoot(const FusionBody& body, const FusionBody::Root& root) {
  const Instruction& inst = *root.inst;
  if (!inst.Is(Opcode::kDynamicUpdateSlice) || inst.operand_count() != 2 + inst.shape().rank()) return false;
  const int leaf = body.LeafOf(inst.operand(0));
  return leaf >= 0 && body.leaves()[leaf].shape->layout().minor_to_major == inst.shape().layout().minor_to_major;
}

const Shape& IterationShape(const FusionBody::Root& root, bool in_place) {
  return in_place ? root.inst->operand(1).shape() : *root.shape;
}

// Sizes above 1, major to minor in memory, each with its logical dimension.
std::vector<int64_t> MajorToMinor(const Shape& shape) {
  std::vector<int64_t> dims;
  for (size_t i = shape.layout().minor_to_major.size(); i-- > 0;) {
    const int64_t d = shape.layout().minor_to_major[i];
    if (shape.dim(d) > 1) dims.push_back(d);
  }
  return dims;
}

struct LoopRequest {
  std::vector<const FusionBody::Root*> roots;
  bool in_place = false;
};

// Plans over the dimensions of the first root; groups[i] counts how many of them variable i stands for.
Result<std::unique_ptr<LoopPlan>> PlanOver(const FusionBody& body, const LoopRequest& request,
                                           const std::vector<int>& groups) {
  auto plan = std::make_unique<LoopPlan>(body);
  IndexPool& pool = plan->pool;
  const Shape& shape = IterationShape(*request.roots[0], request.in_place);
  const std::vector<int64_t> order = MajorToMinor(shape);
  std::vector<IndexExpr> index(shape.rank(), pool.Constant(0));
  size_t next = 0;
  for (const int group : groups) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < group; ++i) sizes.push_back(shape.dim(order[next + i]));
    plan->sizes.push_back(Product(sizes));
    plan->variables.push_back(pool.Variable(0, plan->sizes.back() - 1));
    const std::vector<IndexExpr> parts = pool.Delinearize(plan->variables.back(), sizes);
    for (int i = 0; i < group; ++i) index[order[next + i]] = parts[i];
    next += group;
  }
  for (const FusionBody::Root* root : request.roots) {
    TRY(KernelType(*root->inst, root->shape->type()));
    if (!root->shape->layout().tiling->tiles.empty()) {
      FAIL(UnsupportedAt(*root->inst, "U104",
                         Str("no kernels for arrays of shape ", root->shape->ToStringWithLayout())));
    }
    if (request.in_place) {
      const Instruction& inst = *root->inst;
      std::vector<IndexExpr> to;
      for (int64_t d = 0; d < shape.rank(); ++d) {
        to.push_back(
            pool.Add(index[d], TRY(plan->graph.Loaded(inst.operand(2 + d), {}, inst.shape().dim(d) - shape.dim(d)))));
      }
      plan->outputs.push_back({root, TRY(plan->graph.Plan(inst.operand(1), index)),
                               pool.Dot(to, LayoutStrides(*root->shape)), body.LeafOf(inst.operand(0))});
      continue;
    }
    const std::vector<IndexExpr> at = root->shape->dims() == shape.dims()
                                          ? index
                                          : pool.Delinearize(pool.Linearize(index, shape.dims()), root->shape->dims());
    plan->outputs.push_back(
        {root, TRY(plan->graph.Plan(*root->inst, at, root->result)), pool.Dot(at, LayoutStrides(*root->shape))});
  }
  return plan;
}

// Does every expression see the neighbours a, b only as a * size_b + b?
bool MayMerge(const LoopPlan& plan, IndexExpr a, IndexExpr b, int64_t size_b) {
  const IndexPool& pool = plan.pool;
  const std::function<bool(IndexExpr)> consistent = [&](IndexExpr e) {
    if (!pool.DependsOn(e, a) && !pool.DependsOn(e, b)) return true;
    const IndexPool::Node& node = pool[e];
    if (node.kind == IndexPool::Kind::kVariable) return false;
    if (node.kind != IndexPool::Kind::kSum) return consistent(node.operand);
    int64_t of_a = 0, of_b = 0;
    for (const auto& term : node.terms) {
      if (term.atom == a) of_a = term.coefficient;
      else if (term.atom == b) of_b = term.coefficient;
      else if (!consistent(term.atom)) return false;
    }
    return of_a == of_b * size_b;
  };
  for (const NodeId id : plan.graph.Reachable(plan.Values())) {
    if (!std::ranges::all_of(plan.graph.Expressions(id), consistent)) return false;
  }
  return std::ranges::all_of(plan.outputs, [&](const LoopPlan::Output& output) { return consistent(output.offset); });
}

Result<std::unique_ptr<LoopPlan>> PlanMerged(const FusionBody& body, const LoopRequest& request) {
  const size_t rank = MajorToMinor(IterationShape(*request.roots[0], request.in_place)).size();
  auto plan = TRY(PlanOver(body, request, std::vector<int>(rank, 1)));
  std::vector<int> groups;
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0 && MayMerge(*plan, plan->variables[i - 1], plan->variables[i], plan->sizes[i])) {
      ++groups.back();
    } else {
      groups.push_back(1);
    }
  }
  if (groups.size() == rank) return plan;
  return PlanOver(body, request, groups);
}

// The leaf of an in-place root must be read nowhere else.
bool ReadsOnlyInPlace(const std::vector<std::unique_ptr<LoopPlan>>& plans, const LoopPlan& owner) {
  const int leaf = owner.outputs[0].in_place_leaf;
  for (const auto& plan : plans) {
    for (const NodeId id : plan->graph.Reachable(plan->Values())) {
      const ElementNode& node = plan->graph.node(id);
      if (node.kind != Kind::kLoad || node.leaf != leaf) continue;
      if (plan.get() != &owner || node.offset != owner.outputs[0].offset) return false;
    }
    if (plan.get() != &owner && plan->outputs[0].in_place_leaf == leaf) return false;
  }
  return true;
}

}  // namespace

std::vector<NodeId> LoopPlan::Values() const {
  std::vector<NodeId> values;
  for (const Output& output : outputs) values.push_back(output.value);
  // The nodes behind loaded indices of the offsets count too.
  for (const Output& output : outputs) {
    for (const int32_t variable : pool[output.offset].variables) {
      if (graph.IsLoadedIndex(variable)) values.push_back(graph.LoadedIndex(variable));
    }
  }
  return values;
}

Result<std::vector<std::unique_ptr<LoopPlan>>> PlanLoops(const FusionBody& body,
                                                         const std::vector<const FusionBody::Root*>& roots) {
  std::vector<bool> in_place;
  for (const FusionBody::Root* root : roots) in_place.push_back(IsInPlaceRoot(body, *root));
  for (;;) {
    std::vector<LoopRequest> requests;
    for (size_t i = 0; i < roots.size(); ++i) {
      const int64_t elements = IterationShape(*roots[i], in_place[i]).NumElements();
      if (elements == 0) continue;
      const auto same = std::ranges::find_if(requests, [&](const LoopRequest& request) {
        return !request.in_place && !in_place[i] && request.roots[0]->shape->NumElements() == elements;
      });
      if (same == requests.end()) {
        requests.push_back({{roots[i]}, in_place[i]});
      } else {
        same->roots.push_back(roots[i]);
      }
    }
    std::vector<std::unique_ptr<LoopPlan>> plans;
    for (const LoopRequest& request : requests) plans.push_back(TRY(PlanMerged(body, request)));
    bool changed = false;
    for (const auto& plan : plans) {
      if (plan->outputs[0].in_place_leaf < 0 || ReadsOnlyInPlace(plans, *plan)) continue;
      const size_t i = std::ranges::find(roots, plan->outputs[0].root) - roots.begin();
      in_place[i] = false;
      changed = true;
    }
    if (!changed) return plans;
  }
}

Result<std::unique_ptr<LoopPlan>> Flattened(const FusionBody& body, const LoopPlan& plan) {
  LoopRequest request{.in_place = plan.outputs[0].in_place_leaf >= 0};
  for (const auto& output : plan.outputs) request.roots.push_back(output.root);
  const size_t rank = MajorToMinor(IterationShape(*request.roots[0], request.in_place)).size();
  return PlanOver(body, request, {static_cast<int>(rank)});
}

std::vector<Array> MakeOutputs(LoopPlan& plan, KernelFrame& frame) {
  std::vector<Array> arrays;
  for (const auto& output : plan.outputs) {
    arrays.push_back(output.in_place_leaf >= 0 ? frame.InPlaceOutput(*output.root, output.in_place_leaf)
                                               : frame.Output(*output.root));
  }
  // An operand may share the buffer of an output when every thread reads of it only what it is about to write there.
  std::map<int, std::vector<IndexExpr>> reads;
  for (const NodeId id : plan.graph.Reachable(plan.Values())) {
    const ElementNode& node = plan.graph.node(id);
    if (node.kind == Kind::kLoad) reads[node.leaf].push_back(node.offset);
  }
  for (const auto& [leaf, offsets] : reads) {
    const Shape& from = *plan.graph.body().leaves()[leaf].shape;
    for (const auto& output : plan.outputs) {
      if (output.in_place_leaf >= 0 || from.NumElements() != output.root->shape->NumElements()) continue;
      if (ByteWidth(from.type()) != ByteWidth(output.root->shape->type())) continue;
      if (std::ranges::all_of(offsets, [&](IndexExpr e) { return e == output.offset; }))
        frame.Share(leaf, *output.root);
    }
  }
  return arrays;
}

void EmitTile(LoopPlan& plan, KernelFrame& frame, const std::vector<Array>& arrays, int width, IndexExpr lane,
              Value begin, int64_t step, const std::function<void(Value)>& in_tile) {
  constexpr int kMostBranches = 8;
  Emission& emission = frame.emission();
  kernel::KernelBuilder& k = frame.k();
  const std::vector<NodeId> values = plan.Values();
  const int64_t size = plan.pool[lane].high + 1;
  const auto tile = [&](const kernel::KernelBuilder::IndexBody& body) {
    // Guarded in each tile: a planted fault leaves elements out and never goes beyond the arrays.
    if (frame.fault() == "tail") return k.Tile(width, k.Index(size - 1) - begin, body);
    TileOver(k, width, size, begin, step, body);
  };
  const std::function<void(int)> emit = [&](int branches) {
    const NodeId choice = branches < kMostBranches ? emission.UniformChoice(values) : -1;
    if (choice >= 0) {
      const auto side = [&](bool holds) {
        Emission::Scope scope(emission);
        emission.Decide(choice, holds);
        emit(branches + 1);
      };
      k.If(emission.All(plan.graph.node(choice).conditions), [&] { side(true); }, [&] { side(false); });
      return;
    }
    emission.Hoist(values);
    for (const auto& output : plan.outputs) emission.Hoist(output.offset);
    tile([&](Value i) {
      Emission::Scope scope(emission);
      emission.Bind(lane, begin + i);
      if (in_tile) in_tile(i);
      std::vector<Value> results;
      for (const auto& output : plan.outputs) results.push_back(emission.Emit(output.value));
      for (size_t j = 0; j < results.size(); ++j) arrays[j].Store(emission.Lower(plan.outputs[j].offset), results[j]);
    });
  };
  emit(0);
}

Result<KernelPlan> EmitLoop(const FusionBody& body, std::unique_ptr<LoopPlan> plan, const EmitterOptions& options,
                            std::string_view suffix) {
  constexpr int64_t kShortRow = 32;
  const int64_t minor = plan->sizes.empty() ? 1 : plan->sizes.back();
  if (plan->sizes.empty() || (plan->sizes.size() > 1 && minor < kShortRow)) plan = TRY(Flattened(body, *plan));
  const int64_t row = plan->sizes.back(), rows = Product(plan->sizes) / row;
  int width = VectorWidth(plan->graph, plan->Values(), body.roots());
  const IndexExpr lane = plan->variables.back();

  // One row of everything: blocks cut it.
  const bool by_row = plan->sizes.size() > 1;
  while (width > 1 && (by_row ? row % width != 0 : row / (256 * width) < options.multiprocessors)) width /= 2;
  const bool by_warp = by_row && CeilDiv(row, width) <= 32;
  const int threads = by_warp ? 256 : ThreadsFor(CeilDiv(row, width));
  const int64_t step = int64_t{threads} * width, chunks = CeilDiv(row, step);
  const int64_t blocks = by_warp ? CeilDiv(rows, 8) : rows * chunks;

  KernelFrame frame(plan->graph, plan->Values(), blocks, threads, options, suffix);
  const std::vector<Array> arrays = MakeOutputs(*plan, frame);
  kernel::KernelBuilder& k = frame.k();
  k.CountsTo(rows * row);
  Emission& emission = frame.emission();
  emission.SetLane(lane);
  const auto bind_row = [&](Value index) {
    for (size_t i = plan->variables.size() - 1; i-- > 0;) {
      emission.Bind(plan->variables[i], i == 0 ? index : index % plan->sizes[i]);
      if (i > 0) index = index / plan->sizes[i];
    }
  };
  if (by_warp) {
    k.Warps([&] {
      const Value index = k.block() * 8 + k.warp();
      k.If(index < rows, [&] {
        Emission::Scope scope(emission);
        bind_row(index);
        EmitTile(*plan, frame, arrays, width, lane, k.Index(0), 32 * width);
      });
    });
    return std::move(frame).Finish("loop");
  }
  Value begin = k.block() * step;
  if (by_row) {
    bind_row(chunks == 1 ? k.block() : k.block() / chunks);
    begin = chunks == 1 ? k.Index(0) : k.block() % chunks * step;
  }
  EmitTile(*plan, frame, arrays, width, lane, begin, step);
  return std::move(frame).Finish("loop");
}

}  // namespace hlo::gpu
