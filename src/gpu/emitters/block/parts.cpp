#include "gpu/emitters/block/state.h"

#include <algorithm>

#include "gpu/emitters/reducers.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

using Output = IterationSpace::Output;

const Home& HomeOfLeaf(const FusionBody& body, int leaf, const Known& known) {
  const FusionBody::Leaf& from = body.leaves()[leaf];
  const Homes& homes = known.at(&body.source().operand(from.operand));
  return homes[from.index.empty() ? 0 : from.index[0]];
}

Emission OpenEmission(BlockState& block, BlockPart& part, IterationSpace& space, std::span<const NodeId> nodes,
                      const Known& known) {
  const std::vector<NodeId> needed = space.graph.Reachable(nodes);
  CountIndices(space.graph, needed, block.k);
  AddPromises(space.graph, needed, block.kernel.precision);
  std::map<int, Array> arrays;
  std::vector<std::pair<NodeId, Value>> values;
  for (const NodeId id : needed) {
    const ElementNode& node = space.graph.node(id);
    if (node.kind != ElementNode::Kind::kLoad) continue;
    const Home& home = HomeOfLeaf(part.body, node.leaf, known);
    if (const auto* array = std::get_if<Array>(&home)) arrays[node.leaf] = *array;
    else values.emplace_back(id, ValueOf(home));
  }
  Emission emission(space.graph, block.k, std::move(arrays),
                    LiteralArrays(space.graph, needed, block.k, block.kernel.buffers));
  for (const auto& [id, value] : values) emission.Bind(id, std::vector{value});
  return emission;
}

bool IsInColumns(const BlockState& block, const BlockPart& part) {
  return block.columns && block.space.recurrent->in_columns.contains(&part.body.source());
}

void Multiply(BlockState& block, const BlockPart& part, const Known& known) {
  const RecurrentLoop::Product& product = *part.product;
  const Instruction& operand = part.body.source().operand(product.left);
  Array left = std::get<Array>(known.at(&operand)[0]);
  if (product.gathered != nullptr) {
    const Array& gathered = block.gathered.at(product.gathered);
    if (block.is_gathered.insert(product.gathered).second)
      block.columns->Gather(left, gathered, static_cast<int>(block.request.plan.vector));
    left = gathered;
  }
  const ClusterProduct& own = block.products.at(&product);
  own.Multiply(left, block.sums);
  if (!IsFloat(product.dot->shape().type())) return;
  block.kernel.precision.instructions[product.dot->id()].sum =
      SumPlan{.accumulator = PrimitiveType::kF32, .longest_chain = own.Chain()};
}

// In a cluster, results must be in shared memory if other blocks read them or each block computes its own copy.
bool IsShared(const BlockState& block, const BlockPart& part, size_t root) {
  if (!block.columns) return false;
  if (!IsInColumns(block, part)) return true;
  return std::ranges::any_of(block.space.recurrent->gathered, [&](const Instruction* value) {
    const bool is_element = value->Is(Opcode::kGetTupleElement);
    return &part.body.source() == (is_element ? &value->operand(0) : value) &&
           root == (is_element ? static_cast<size_t>(value->tuple_index()) : 0);
  });
}

std::vector<Array> MakeOutputs(BlockState& block, const BlockPart& part, std::span<const Output> outputs,
                               Homes& homes) {
  std::vector<Array> arrays;
  for (const Output& output : outputs) {
    const size_t root = output.root - part.body.roots().data();
    const int element = part.state_of_root[root];
    arrays.push_back(element < 0 ? MakeArray(block, *output.root->shape, IsShared(block, part, root))
                                 : std::get<Array>((*block.states.back())[element]));
    homes[root] = arrays.back();
  }
  return arrays;
}

void BindSum(const BlockState& block, const BlockPart& part, Emission& emission, Value i) {
  const Value sum = block.products.at(part.product).Sum(block.sums, i);
  emission.Bind(part.sum, std::vector{Convert(sum, KernelTypeOf(part.product->dot->shape().type()))});
}

void EmitElements(BlockState& block, BlockPart& part, LoopSpace& space, const Known& known, Homes& homes) {
  const std::vector<NodeId> nodes = space.Values();
  Emission emission = OpenEmission(block, part, space, nodes, known);
  const bool in_columns = IsInColumns(block, part);
  const int64_t size = in_columns ? space.Size() / block.k.cluster() : space.Size();
  if (space.outputs[0].root->shape->NumElements() == 1) {
    for (const Output& output : space.outputs)
      homes[output.root - part.body.roots().data()] = emission.Emit(output.value);
    return;
  }
  const std::vector<Array> arrays = MakeOutputs(block, part, space.outputs, homes);
  const IndexExpr lane = space.minor().e;
  emission.SetLane(lane);
  const auto store = [&] {
    std::vector<Value> results;
    for (const Output& output : space.outputs) results.push_back(emission.Emit(output.value));
    for (size_t j = 0; j < results.size(); ++j) arrays[j].Store(emission.Lower(space.outputs[j].offset), results[j]);
  };
  // One element of an array is updated without a loop.
  if (size == 1) return store();
  emission.Hoist(nodes);
  for (const Output& output : space.outputs) emission.Hoist(output.offset);
  const int width = WidthFor(block, size);
  ForChunks(block, size, width, [&](Value begin) {
    TileOver(block.k, width, size, begin, block.threads * width, [&](Value i) {
      Emission::Scope scope(emission);
      emission.Bind(lane, in_columns ? block.columns->At(begin + i) : begin + i);
      if (part.product != nullptr) BindSum(block, part, emission, begin + i);
      store();
    });
  });
}

void EmitReduction(BlockState& block, BlockPart& part, const Known& known, Homes& homes) {
  ReductionSpace& space = *part.reduction;
  Emission emission = OpenEmission(block, part, space, space.Needed(), known);
  const std::vector<Array> stores = MakeOutputs(block, part, space.stores, homes);
  const int64_t row = space.minor().size, outer = space.Size() / row;
  const int width = WidthFor(block, row);
  emission.SetLane(space.minor().e);
  Reducers reducers(block.k, emission, space.Heroes());
  const std::vector<Slot> slots = reducers.MakeSlots(width);
  const auto walk = [&](Value begin) {
    TileOver(block.k, width, row, begin, block.threads * width, [&](Value i) {
      Emission::Scope scope(emission);
      emission.Bind(space.minor().e, begin + i);
      std::vector<Value> sums, stored;
      for (const Slot& slot : slots) sums.push_back(slot.Get());
      const std::vector<Value> terms = reducers.Terms();
      for (const Output& store : space.stores) stored.push_back(emission.Emit(store.value));
      sums = reducers.Combine(sums, terms);
      for (size_t j = 0; j < stored.size(); ++j) stores[j].Store(emission.Lower(space.stores[j].offset), stored[j]);
      for (size_t j = 0; j < slots.size(); ++j) slots[j].Set(sums[j]);
    });
  };
  const auto in_row = [&](Value index) {
    Emission::Scope scope(emission);
    for (size_t v = space.variables.size() - 1; v-- > 0;) {
      emission.Bind(space.variables[v].e, v == 0 ? index : index % space.variables[v].size);
      if (v > 0) index = index / space.variables[v].size;
    }
    emission.Hoist(space.Inputs());
    for (const Output& store : space.stores) emission.Hoist(store.offset);
    ForChunks(block, row, width, walk);
  };
  if (outer == 1) in_row(block.k.Index(0));
  else block.k.Loop(0, outer, 1, in_row);
  const int64_t chain = outer * CeilDiv(row, block.threads * width) + width + 5 + block.threads / 32 + 1;
  for (const ReducedHero& hero : space.heroes)
    AddChain(hero, chain, space.Size(Role::kReduced), block.kernel.precision);
  reducers.Give(block.k.BlockReduce(slots, reducers.Combiner()));
  for (const Output& output : space.outputs)
    homes[output.root - part.body.roots().data()] = emission.Emit(output.value);
}

}  // namespace

Homes EmitPart(BlockState& block, BlockPart& part, const Known& known) {
  block.k.SetSource(std::string(part.body.source().name()));
  Homes homes(part.body.roots().size());
  if (part.product != nullptr) Multiply(block, part, known);
  if (part.reduction != nullptr) EmitReduction(block, part, known, homes);
  for (const auto& space : part.loops) EmitElements(block, part, *space, known, homes);
  return homes;
}

}  // namespace hlo::gpu
