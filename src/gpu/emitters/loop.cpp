// One thread computes a few neighbours of every output.
#include "gpu/emitters/loop.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

using Kind = ElementNode::Kind;

// The variable along which adjacent rows are contiguous in an operand but not in the outputs, or -1. Consecutive blocks
// go along it, so that each warp continues where the previous block's warp stopped, and pages are read in order.
int64_t MovedRows(const LoopSpace& space, int64_t rows_of_block) {
  const int64_t last = std::ssize(space.variables) - 2;
  if (last < 1 || space.variables[last].size % rows_of_block != 0) return -1;
  for (const NodeId id : space.graph.Reachable(space.Values())) {
    const ElementNode& node = space.graph.node(id);
    if (node.kind != Kind::kLoad || space.pool.Coefficient(node.offset, space.minor().e) != 1) continue;
    for (int64_t i = 0; i < last; ++i) {
      if (space.pool.Coefficient(node.offset, space.variables[i].e) == space.minor().size) return i;
    }
  }
  return -1;
}

void BindMovedRow(const LoopSpace& space, int64_t moved, Emission& emission, KernelBuilder& k) {
  const auto take = [&](int64_t i, Value index) { emission.Bind(space.variables[i].e, index); };
  const int64_t last = std::ssize(space.variables) - 2;
  const int64_t moved_size = space.variables[moved].size, groups = space.variables[last].size / k.warps();
  take(moved, k.block() % moved_size);
  Value rest = k.block() / moved_size;
  take(last, rest % groups * k.warps() + k.warp());
  rest = rest / groups;
  for (int64_t i = last; i-- > 0;) {
    if (i == moved) continue;
    take(i, rest % space.variables[i].size);
    rest = rest / space.variables[i].size;
  }
}

}  // namespace

Result<std::unique_ptr<LoopSpace>> LoopTarget::SpaceOf(const EmitRequest& request, bool flat) {
  const KernelPlan& plan = request.plan;
  const std::vector<FusionBody::Root>& all = request.body.roots();
  LoopRequest loop{.in_place = plan.in_place};
  if (plan.operand) {
    operand_ = {&all[0].inst->operand(0), 0, all[0].index, all[0].shape};
    loop.roots.push_back(&operand_);
  } else if (plan.roots.empty()) {
    for (const FusionBody::Root& root : all) {
      if (root.shape->NumElements() > 0) loop.roots.push_back(&root);
    }
  }
  for (const int64_t number : plan.roots) {
    TRY(request.Require(number < std::ssize(all), Str("it has no result number ", number)));
    loop.roots.push_back(&all[number]);
  }
  TRY(request.Require(!loop.roots.empty(), "it writes no result"));
  for (const FusionBody::Root* root : loop.roots) {
    TRY(request.Require(
        root->shape->NumElements() > 0 && root->shape->NumElements() == loop.roots[0]->shape->NumElements(),
        Str("results of one kernel must have equally many elements, not ", *loop.roots[0]->shape, " and ",
            *root->shape)));
  }
  if (plan.in_place) {
    const LoopSpaces decided = TRY(LoopSpacesOf(request.body, plan.operand ? loop.roots : AllRoots(request.body)));
    const auto allows = [&](const auto& space) {
      return space->outputs[0].root == loop.roots[0] && space->outputs[0].in_place_leaf >= 0;
    };
    TRY(request.Require(loop.roots.size() == 1 && std::ranges::any_of(decided, allows),
                        "its result cannot be written in place"));
  }
  return LoopSpaceOf(request.body, loop, flat);
}

std::vector<Array> MakeOutputs(const IterationSpace& space, std::span<const NodeId> needed, KernelFrame& frame) {
  std::vector<Array> arrays;
  for (const auto& output : space.outputs) {
    arrays.push_back(output.in_place_leaf >= 0 ? frame.InPlaceOutput(*output.root, output.in_place_leaf)
                                               : frame.Output(*output.root));
  }
  std::map<int, std::vector<IndexExpr>> reads;
  for (const NodeId id : space.graph.Reachable(needed)) {
    const ElementNode& node = space.graph.node(id);
    if (node.kind == Kind::kLoad) reads[node.leaf].push_back(node.offset);
  }
  for (const auto& [leaf, offsets] : reads) {
    const Shape& from = *space.graph.body().leaves()[leaf].shape;
    for (const auto& output : space.outputs) {
      if (output.in_place_leaf >= 0 || from.NumElements() != output.root->shape->NumElements()) continue;
      if (ByteWidth(from.type()) != ByteWidth(output.root->shape->type())) continue;
      if (std::ranges::all_of(offsets, [&](IndexExpr e) { return e == output.offset; }))
        frame.Share(leaf, *output.root);
    }
  }
  return arrays;
}

void EmitTile(LoopSpace& space, KernelFrame& frame, const std::vector<Array>& arrays, int width, IndexExpr lane,
              Value begin, int64_t step, const std::function<void(Value)>& in_tile) {
  // Choices in a tree of concatenations (a prefix scan by halves) are independent: eight of them need 256 tiles.
  constexpr int kMostBranches = 8, kMostTiles = 24;
  int tiles = 1;
  Emission& emission = frame.emission();
  KernelBuilder& k = frame.k();
  const std::vector<NodeId> values = space.Values();
  const int64_t size = space.pool[lane].high + 1;
  const auto tile = [&](const KernelBuilder::IndexBody& body) { TileOver(k, width, size, begin, step, body); };
  const std::function<void(int)> emit = [&](int branches) {
    const NodeId choice = branches < kMostBranches && tiles < kMostTiles ? emission.UniformChoice(values) : -1;
    if (choice >= 0) {
      ++tiles;
      const auto side = [&](bool holds) {
        Emission::Scope scope(emission);
        emission.Decide(choice, holds);
        emit(branches + 1);
      };
      k.If(emission.All(space.graph.node(choice).conditions), [&] { side(true); }, [&] { side(false); });
      return;
    }
    emission.Hoist(values);
    for (const auto& output : space.outputs) emission.Hoist(output.offset);
    tile([&](Value i) {
      Emission::Scope scope(emission);
      emission.Bind(lane, begin + i);
      if (in_tile) in_tile(i);
      std::vector<std::vector<Value>> results;
      for (const auto& output : space.outputs) results.push_back(emission.EmitParts(std::span(&output.value, 1)));
      for (size_t j = 0; j < results.size(); ++j)
        StoreElement(arrays[j], emission.Lower(space.outputs[j].offset), results[j]);
    });
  };
  emit(0);
}

Result<EmittedKernel> EmitLoop(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  LoopTarget target;
  const auto space = TRY(target.SpaceOf(request, /*flat=*/plan.tile.size() == 1));
  TRY(request.RequireBlock(plan.tile.size() == 1 ? 1 : 2));
  const bool by_row = plan.tile.size() > 1;
  const int64_t row = space->minor().size, rows = space->Size() / row, warps = plan.threads / 32;
  TRY(request.Require(
      !by_row || space->variables.size() > 1,
      Str("its ", row, " elements are one row, so its tile must be [", plan.threads * plan.vector, "]")));
  TRY(request.Require(!by_row || row % plan.vector == 0,
                      Str("rows of ", row, " elements are not a multiple of vector, ", plan.vector)));
  const bool by_warp = by_row && plan.tile[0] > 1;
  TRY(request.Require(
      Product(plan.tile) == plan.threads * plan.vector && (!by_warp || plan.tile[0] == warps),
      Str("a tile for ", plan.threads, " threads with vector ", plan.vector, " must be [", plan.threads * plan.vector,
          "], [1,", plan.threads * plan.vector, "] or [", warps, ",", 32 * plan.vector, "]")));
  TRY(request.Require(
      !by_warp || row <= plan.tile[1],
      Str("rows of ", row, " elements are longer than a tile, which has ", by_warp ? plan.tile[1] : 0)));
  const IndexExpr lane = space->minor().e;
  const int width = static_cast<int>(plan.vector);
  const int64_t step = plan.threads * width, chunks = CeilDiv(row, step);

  KernelFrame frame(space->graph, space->Values(), LaunchOf(*space, ElementAxes(*space, by_row), plan), request);
  const std::vector<Array> arrays = MakeOutputs(*space, space->Values(), frame);
  KernelBuilder& k = frame.k();
  k.CountsTo(rows * row);
  Emission& emission = frame.emission();
  emission.SetLane(lane);
  const auto bind_row = [&](Value index) {
    for (size_t i = space->variables.size() - 1; i-- > 0;) {
      const LoopSpace::Variable& variable = space->variables[i];
      emission.Bind(variable.e, i == 0 ? index : index % variable.size);
      if (i > 0) index = index / variable.size;
    }
  };
  if (const int64_t moved = by_warp ? MovedRows(*space, warps) : -1; moved >= 0) {
    k.Warps([&] {
      Emission::Scope scope(emission);
      BindMovedRow(*space, moved, emission, k);
      EmitTile(*space, frame, arrays, width, lane, k.Index(0), 32 * width);
    });
    return std::move(frame).Finish("loop");
  }
  if (by_warp) {
    k.Warps([&] {
      const Value index = k.block() * warps + k.warp();
      k.If(index < rows, [&] {
        Emission::Scope scope(emission);
        bind_row(index);
        EmitTile(*space, frame, arrays, width, lane, k.Index(0), 32 * width);
      });
    });
    return std::move(frame).Finish("loop");
  }
  Value begin = k.block() * step;
  if (by_row) {
    bind_row(chunks == 1 ? k.block() : k.block() / chunks);
    begin = chunks == 1 ? k.Index(0) : k.block() % chunks * step;
  }
  EmitTile(*space, frame, arrays, width, lane, begin, step);
  return std::move(frame).Finish("loop");
}

}  // namespace hlo::gpu
