// The emitter of regions that run in one block: kernels one after the other, with barriers in place of launches, and
// loops of kernels. A recurrent loop may run in a cluster. Then each block computes the elements in its columns
// (ir/analysis/recurrent_loop.h), but its arrays have the whole size.
//
//   one element    a block-level value, the same for all threads, in a register and without barriers
//   several        an array in shared memory while there is room, else in scratch memory
//   loop state     a variable for one element, else an array; the body writes the next value into it if it may
//                  (BlockPart::state_of_root), else the next value is copied at the end of the trip
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <variant>

#include "base/check.h"
#include "base/text.h"
#include "gpu/emitters/cluster_product.h"
#include "gpu/emitters/frame.h"
#include "gpu/emitters/reducers.h"
#include "gpu/emitters/scalar.h"
#include "gpu/plan/block_space.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::CeilDiv;
using kernel::KernelBuilder;
using kernel::Slot;
using kernel::Type;
using kernel::Value;
using kernel::Variable;
using Output = IterationSpace::Output;

// If shared arrays exceed this many bytes, further ones are in scratch memory, which a cache holds.
constexpr int64_t kMostSharedBytes = 40 << 10;
constexpr int64_t kMostSharedBytesOfCluster = 227 << 10;
constexpr int64_t kMostBlocksOfCluster = 8;

// An array's location. Empty if the array has no elements or is never read.
using Home = std::variant<std::monostate, Value, Variable, Array>;
// A location for each leaf of a value's shape.
using Homes = std::vector<Home>;
using Known = std::unordered_map<const Instruction*, Homes>;

class BlockEmitter {
 public:
  BlockEmitter(const BlockSpace& space, const EmitRequest& request)
      : space_(space),
        request_(request),
        region_(request.body.source()),
        threads_(request.plan.threads),
        k_(KernelName(region_, request.suffix), request.plan.splits, static_cast<int>(threads_)) {
    if (!space.recurrent) return;
    k_.SetCluster(static_cast<int>(request.plan.splits));
    columns_.emplace(k_, space.recurrent->period);
    most_shared_bytes_ = kMostSharedBytesOfCluster - SharedBytes(*space.recurrent, k_.cluster(), k_.warps());
  }

  EmittedKernel Emit() && {
    k_.SetSource(std::string(region_.name()));
    const Computation& computation = FusedComputation(region_);
    Known known;
    for (const Instruction* parameter : computation.parameters())
      known[parameter].resize(parameter->shape().LeafCount());
    if (columns_) {
      columns_->Open();
      FindFilled();
    }
    for (const FusionBody::Leaf& leaf : request_.body.leaves()) TakeLeaf(leaf, known);
    if (space_.has_loops) OpenTrips();
    EmitComputation(computation, known);
    StoreResults(known.at(&computation.root()));
    kernel_.kernel = std::make_shared<const kernel::Kernel>(std::move(k_).Build());
    kernel_.emitter = columns_ ? "loop of one cluster" : space_.has_loops ? "loops of one block" : "one block";
    kernel_.source = &region_;
    return std::move(kernel_);
  }

 private:
  // ---- Locations of values -----------------------------------------------------------------------------------------

  void TakeLeaf(const FusionBody::Leaf& leaf, Known& known) {
    const int64_t elements = leaf.shape->NumElements();
    if (elements == 0 || filled_from_.contains(leaf.operand)) return;
    const Array array = k_.Input(Str("in", kernel_.buffers.size()), KernelTypeOf(leaf.shape->type()), elements);
    kernel_.buffers.push_back({.kind = KernelBuffer::Kind::kOperand,
                               .operand = leaf.operand,
                               .index = leaf.index,
                               .bytes = leaf.shape->ByteSize()});
    const Instruction& parameter = *FusedComputation(region_).parameters()[leaf.operand];
    Home& home = known.at(&parameter)[leaf.index.empty() ? 0 : leaf.index[0]];
    if (elements == 1) home = array.Load(int64_t{0});
    else home = array;
  }

  // With `is_shared`, the array is in shared memory, which the plan has reserved.
  Array MakeArray(const Shape& shape, bool is_shared = false) {
    const Type type = KernelTypeOf(shape.type());
    const int64_t elements = shape.NumElements(), bytes = (elements * kernel::Bytes(type) + 15) / 16 * 16;
    if (is_shared) return k_.Shared("state", type, elements);
    if (shared_bytes_ + bytes <= most_shared_bytes_) {
      shared_bytes_ += bytes;
      return k_.Shared("value", type, elements);
    }
    kernel_.buffers.push_back(
        {.kind = KernelBuffer::Kind::kScratch, .bytes = elements * kernel::Bytes(type), .scratch = scratches_});
    return k_.InOut(Str("scratch", scratches_++), type, elements);
  }

  static Value ValueOf(const Home& home) {
    if (const auto* variable = std::get_if<Variable>(&home)) return variable->Get();
    return std::get<Value>(home);
  }

  Home HomeOf(const Literal& literal) {
    const int64_t elements = literal.shape().NumElements();
    if (elements == 0) return {};
    if (elements == 1) return LiteralValue(k_, literal, 0)[0];
    return LiteralArray(k_, Str("constant", kernel_.buffers.size()), literal, kernel_.buffers);
  }

  void ForChunks(int64_t size, int width, const std::function<void(Value)>& f) {
    if (size <= threads_ * width) return f(k_.Index(0));
    k_.Loop(0, size, threads_ * width, f);
  }
  int WidthFor(int64_t size) const { return size > threads_ ? static_cast<int>(request_.plan.vector) : 1; }

  // In a cluster, each block copies only its own columns, if the array has columns.
  void Copy(const Home& from, const Array& to) {
    if (const auto* array = std::get_if<Array>(&from)) {
      if (columns_ && to.elements() % space_.recurrent->period == 0) {
        return columns_->ForEach(to.elements() / k_.cluster(), WidthFor(to.elements() / k_.cluster()), [&](Value i) {
          const Value place = columns_->At(i);
          to.Store(place, array->Load(place));
        });
      }
      const int width = WidthFor(to.elements());
      return ForChunks(to.elements(), width, [&](Value begin) {
        TileOver(k_, width, to.elements(), begin, threads_ * width,
                 [&](Value i) { to.Store(begin + i, array->Load(begin + i)); });
      });
    }
    to.Store(0, ValueOf(from));
  }

  void StoreResults(const Homes& homes) {
    for (size_t i = 0; i < homes.size(); ++i) {
      const FusionBody::Root& root = request_.body.roots()[i];
      if (root.shape->NumElements() == 0 || filled_roots_.contains(i)) continue;
      const Array out = k_.Output(Str("out", i), KernelTypeOf(root.shape->type()), root.shape->NumElements());
      kernel_.buffers.push_back(
          {.kind = KernelBuffer::Kind::kOutput, .index = root.index, .bytes = root.shape->ByteSize()});
      if (!columns_ || root.shape->NumElements() % space_.recurrent->period == 0) Copy(homes[i], out);
      else k_.If(columns_->rank() == 0, [&] { Copy(homes[i], out); });
    }
  }

  // A state array that the loop fills. It is the buffer of result `root` and initially contains `operand`.
  struct Filled {
    int64_t operand;
    size_t root;
  };
  void FindFilled() {
    const RecurrentLoop& recurrent = *space_.recurrent;
    const Computation& computation = FusedComputation(region_);
    for (size_t i = 0; i < recurrent.state.size(); ++i) {
      const auto element = static_cast<int64_t>(i);
      const Instruction& init = recurrent.loop->operand(0);
      if (recurrent.state[i] != RecurrentLoop::Element::kFilled || !init.Is(Opcode::kTuple)) continue;
      const Instruction& from = init.operand(element);
      const auto root = RootOf(computation.root(), element);
      if (!root || !from.Is(Opcode::kParameter) || from.UseCount() != 1) continue;
      filled_.emplace(element, Filled{from.parameter_number(), *root});
      filled_from_.insert(from.parameter_number());
      filled_roots_.insert(*root);
    }
  }

  // The region's result that is this element of the loop's state, if exactly one is.
  std::optional<size_t> RootOf(const Instruction& root, int64_t element) const {
    const Instruction& loop = *space_.recurrent->loop;
    if (&root == &loop) return static_cast<size_t>(element);
    std::optional<size_t> found;
    const auto is_element = [&](const Instruction& value) {
      return value.Is(Opcode::kGetTupleElement) && &value.operand(0) == &loop && value.tuple_index() == element;
    };
    if (is_element(root)) return 0;
    for (int64_t i = 0; root.Is(Opcode::kTuple) && i < root.operand_count(); ++i) {
      if (!is_element(WithoutNames(root.operand(i)))) continue;
      if (found) return std::nullopt;
      found = static_cast<size_t>(i);
    }
    return found;
  }

  Array MakeFilled(const Filled& filled) {
    const FusionBody::Root& root = request_.body.roots()[filled.root];
    kernel_.buffers.push_back({.kind = KernelBuffer::Kind::kOutput,
                               .index = root.index,
                               .bytes = root.shape->ByteSize(),
                               .in_place_operand = filled.operand});
    return k_.InOut(Str("out", filled.root), KernelTypeOf(root.shape->type()), root.shape->NumElements());
  }

  // ---- Computations -------------------------------------------------------------------------------------------------

  void EmitComputation(const Computation& computation, Known& known) {
    for (const Instruction* inst : computation.PostOrder()) {
      if (inst->Is(Opcode::kParameter)) continue;
      Homes homes;
      if (inst->Is(Opcode::kConstant)) homes = {HomeOf(inst->literal())};
      else if (inst->Is(Opcode::kBitcast)) homes = known.at(&inst->operand(0));
      else if (inst->Is(Opcode::kTuple)) {
        for (const Instruction* operand : inst->operands()) homes.push_back(known.at(operand)[0]);
      } else if (inst->Is(Opcode::kGetTupleElement)) homes = {known.at(&inst->operand(0))[inst->tuple_index()]};
      else if (inst->Is(Opcode::kWhile)) homes = EmitLoop(*inst, known.at(&inst->operand(0)));
      else homes = EmitPart(*space_.parts.at(inst), known);
      known[inst] = std::move(homes);
    }
  }

  // ---- Loops --------------------------------------------------------------------------------------------------------

  Homes EmitLoop(const Instruction& loop, const Homes& init) {
    return columns_ ? EmitTrips(loop, init) : EmitWhile(loop, init);
  }

  // Blocks of a cluster must make equally many trips, so they read the limits from a buffer that no block writes.
  void OpenTrips() {
    if (columns_) {
      kernel_.buffers.push_back({.kind = KernelBuffer::Kind::kTrips, .bytes = kTripFields * int64_t{8}});
      const Array limits = k_.Input("limits", Type::kS64, kTripFields);
      most_trips_ = limits.Load(int64_t{kMostTrips});
      outermost_trips_ = Min(limits.Load(int64_t{kStopAfter}), most_trips_);
    }
    kernel_.buffers.push_back({.kind = KernelBuffer::Kind::kTrips, .bytes = kTripFields * int64_t{8}});
    trips_ = k_.InOut("trips", Type::kS64, kTripFields);
    if (columns_) return;
    most_trips_ = trips_.Load(int64_t{kMostTrips});
    outermost_trips_ = Min(trips_.Load(int64_t{kStopAfter}), most_trips_);
    stopped_ = k_.MakeVariable(k_.Constant(Type::kPred, 0));
  }

  Homes EmitWhile(const Instruction& loop, const Homes& init) {
    const auto& attrs = loop.attrs<WhileAttrs>();
    const auto number = std::ssize(kernel_.loops);
    kernel_.loops.push_back(&loop);
    const Homes state = MakeState(loop, init);
    const Variable goes_on = k_.MakeVariable(k_.Constant(Type::kPred, 0));
    const Variable made = k_.MakeVariable(k_.Constant(Type::kS64, 0));
    const Value most = depth_ == 0 ? outermost_trips_ : most_trips_;
    ++depth_;
    k_.While(
        [&] {
          Known known = {{attrs.condition->parameters()[0], state}};
          EmitComputation(*attrs.condition, known);
          goes_on.Set(ValueOf(known.at(&attrs.condition->root())[0]));
          return goes_on.Get() & (made.Get() < most) & ~stopped_.Get();
        },
        [&] {
          Known known = {{attrs.body->parameters()[0], state}};
          states_.push_back(&state);
          EmitComputation(*attrs.body, known);
          states_.pop_back();
          SetState(loop, state, known.at(&attrs.body->root()));
          made.Set(made.Get() + 1);
        });
    --depth_;
    if (depth_ == 0) trips_.Store(kTripsMade, made.Get());
    k_.If(goes_on.Get() & (made.Get() >= most_trips_) & ~stopped_.Get(), [&] {
      trips_.Store(kEndless, k_.Constant(Type::kS64, number + 1));
      stopped_.Set(k_.Constant(Type::kPred, 1));
    });
    return state;
  }

  Homes EmitTrips(const Instruction& loop, const Homes& init) {
    kernel_.loops.push_back(&loop);
    const Homes state = MakeState(loop, init);
    LoadWeights(state);
    const Computation& body = *loop.attrs<WhileAttrs>().body;
    const Value wanted = k_.Constant(Type::kS64, space_.recurrent->trips), made = Min(wanted, outermost_trips_);
    k_.Loop(k_.Index(0), Convert(made, Type::kIndex), 1, [&](Value) {
      Known known = {{body.parameters()[0], state}};
      states_.push_back(&state);
      EmitComputation(body, known);
      states_.pop_back();
      SetState(loop, state, known.at(&body.root()));
    });
    k_.If(columns_->rank() == 0, [&] {
      trips_.Store(kTripsMade, made);
      k_.If(wanted > most_trips_, [&] { trips_.Store(kEndless, k_.Constant(Type::kS64, 1)); });
    });
    return state;
  }

  void LoadWeights(const Homes& state) {
    const RecurrentLoop& recurrent = *space_.recurrent;
    int64_t most_sums = 0;
    for (const RecurrentLoop::Product& product : recurrent.products) {
      ClusterProduct& own = products_.try_emplace(&product, k_, *columns_, product, product.terms).first->second;
      const Instruction& weights = WithoutNames(product.call->operand(product.weights));
      const Home home = weights.Is(Opcode::kConstant) ? HomeOf(weights.literal()) : state[weights.tuple_index()];
      own.LoadWeights(std::get<Array>(home), static_cast<int>(request_.plan.vector));
      most_sums = std::max(most_sums, own.SumElements());
    }
    sums_ = k_.Shared("sums", Type::kF32, most_sums);
    for (const Instruction* value : recurrent.gathered)
      gathered_.emplace(value,
                        k_.Shared("gathered", KernelTypeOf(value->shape().type()), value->shape().NumElements()));
  }

  Homes MakeState(const Instruction& loop, const Homes& init) {
    Homes state;
    for (size_t i = 0; i < init.size(); ++i) {
      if (const auto filled = filled_.find(static_cast<int64_t>(i)); filled != filled_.end()) {
        state.emplace_back(MakeFilled(filled->second));
        continue;
      }
      if (IsPassedOn(loop, static_cast<int64_t>(i)) || std::holds_alternative<std::monostate>(init[i])) {
        state.push_back(init[i]);
      } else if (std::holds_alternative<Array>(init[i])) {
        const bool is_shared = columns_ && space_.recurrent->state[i] == RecurrentLoop::Element::kColumns;
        const Array array = MakeArray(loop.shape().element(static_cast<int64_t>(i)), is_shared);
        Copy(init[i], array);
        state.emplace_back(array);
      } else {
        state.emplace_back(k_.MakeVariable(ValueOf(init[i])));
      }
    }
    return state;
  }

  // All elements of the state change at once. If a copy overwrites the source of another copy, a third array saves this
  // source first.
  void SetState(const Instruction& loop, const Homes& state, const Homes& next) {
    struct Move {
      Array to, from;
      const Shape* shape;
    };
    std::vector<std::pair<Variable, Value>> values;
    std::vector<Move> moves;
    for (size_t i = 0; i < state.size(); ++i) {
      const auto element = static_cast<int64_t>(i);
      if (IsPassedOn(loop, element)) continue;
      if (const auto* variable = std::get_if<Variable>(&state[i])) values.emplace_back(*variable, ValueOf(next[i]));
      const auto* array = std::get_if<Array>(&state[i]);
      if (array == nullptr || std::get<Array>(next[i]) == *array) continue;
      moves.push_back({*array, std::get<Array>(next[i]), &loop.shape().element(element)});
    }
    for (Move& move : moves) {
      if (std::ranges::none_of(moves, [&](const Move& other) { return other.to == move.from; })) continue;
      const Array third = MakeArray(*move.shape);
      Copy(move.from, third);
      move.from = third;
    }
    for (const Move& move : moves) Copy(move.from, move.to);
    for (const auto& [variable, value] : values) variable.Set(value);
  }

  // ---- Kernels ------------------------------------------------------------------------------------------------------

  Emission OpenEmission(BlockPart& part, IterationSpace& space, std::span<const NodeId> nodes, const Known& known) {
    const std::vector<NodeId> needed = space.graph.Reachable(nodes);
    CountIndices(space.graph, needed, k_);
    AddPromises(space.graph, needed, kernel_.precision);
    std::map<int, Array> arrays;
    std::vector<std::pair<NodeId, Value>> values;
    for (const NodeId id : needed) {
      const ElementNode& node = space.graph.node(id);
      if (node.kind != ElementNode::Kind::kLoad) continue;
      const Home& home = HomeOf(part.body, node.leaf, known);
      if (const auto* array = std::get_if<Array>(&home)) arrays[node.leaf] = *array;
      else values.emplace_back(id, ValueOf(home));
    }
    Emission emission(space.graph, k_, std::move(arrays), LiteralArrays(space.graph, needed, k_, kernel_.buffers));
    for (const auto& [id, value] : values) emission.Bind(id, std::vector{value});
    return emission;
  }

  static const Home& HomeOf(const FusionBody& body, int leaf, const Known& known) {
    const FusionBody::Leaf& from = body.leaves()[leaf];
    const Homes& homes = known.at(&body.source().operand(from.operand));
    return homes[from.index.empty() ? 0 : from.index[0]];
  }

  Homes EmitPart(BlockPart& part, const Known& known) {
    k_.SetSource(std::string(part.body.source().name()));
    Homes homes(part.body.roots().size());
    if (part.product != nullptr) Multiply(part, known);
    if (part.reduction != nullptr) EmitReduction(part, known, homes);
    for (const auto& space : part.loops) EmitElements(part, *space, known, homes);
    return homes;
  }

  bool IsInColumns(const BlockPart& part) const {
    return columns_ && space_.recurrent->in_columns.contains(&part.body.source());
  }

  void Multiply(const BlockPart& part, const Known& known) {
    const RecurrentLoop::Product& product = *part.product;
    const Instruction& operand = part.body.source().operand(product.left);
    Array left = std::get<Array>(known.at(&operand)[0]);
    if (product.gathered != nullptr) {
      const Array& gathered = gathered_.at(product.gathered);
      if (is_gathered_.insert(product.gathered).second)
        columns_->Gather(left, gathered, static_cast<int>(request_.plan.vector));
      left = gathered;
    }
    const ClusterProduct& own = products_.at(&product);
    own.Multiply(left, sums_);
    if (!IsFloat(product.dot->shape().type())) return;
    kernel_.precision.instructions[product.dot->id()].sum =
        SumPlan{.accumulator = PrimitiveType::kF32, .longest_chain = own.Chain()};
  }

  // In a cluster, results must be in shared memory if other blocks read them or each block computes its own copy.
  bool IsShared(const BlockPart& part, size_t root) const {
    if (!columns_) return false;
    if (!IsInColumns(part)) return true;
    return std::ranges::any_of(space_.recurrent->gathered, [&](const Instruction* value) {
      const bool is_element = value->Is(Opcode::kGetTupleElement);
      return &part.body.source() == (is_element ? &value->operand(0) : value) &&
             root == (is_element ? static_cast<size_t>(value->tuple_index()) : 0);
    });
  }

  std::vector<Array> MakeOutputs(const BlockPart& part, std::span<const Output> outputs, Homes& homes) {
    std::vector<Array> arrays;
    for (const Output& output : outputs) {
      const size_t root = output.root - part.body.roots().data();
      const int element = part.state_of_root[root];
      arrays.push_back(element < 0 ? MakeArray(*output.root->shape, IsShared(part, root))
                                   : std::get<Array>((*states_.back())[element]));
      homes[root] = arrays.back();
    }
    return arrays;
  }

  void EmitElements(BlockPart& part, LoopSpace& space, const Known& known, Homes& homes) {
    const std::vector<NodeId> nodes = space.Values();
    Emission emission = OpenEmission(part, space, nodes, known);
    const bool in_columns = IsInColumns(part);
    const int64_t size = in_columns ? space.Size() / k_.cluster() : space.Size();
    if (space.outputs[0].root->shape->NumElements() == 1) {
      for (const Output& output : space.outputs)
        homes[output.root - part.body.roots().data()] = emission.Emit(output.value);
      return;
    }
    const std::vector<Array> arrays = MakeOutputs(part, space.outputs, homes);
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
    const int width = WidthFor(size);
    ForChunks(size, width, [&](Value begin) {
      TileOver(k_, width, size, begin, threads_ * width, [&](Value i) {
        Emission::Scope scope(emission);
        emission.Bind(lane, in_columns ? columns_->At(begin + i) : begin + i);
        if (part.product != nullptr) BindSum(part, emission, begin + i);
        store();
      });
    });
  }

  void BindSum(const BlockPart& part, Emission& emission, Value i) const {
    const Value sum = products_.at(part.product).Sum(sums_, i);
    emission.Bind(part.sum, std::vector{Convert(sum, KernelTypeOf(part.product->dot->shape().type()))});
  }

  void EmitReduction(BlockPart& part, const Known& known, Homes& homes) {
    ReductionSpace& space = *part.reduction;
    Emission emission = OpenEmission(part, space, space.Needed(), known);
    const std::vector<Array> stores = MakeOutputs(part, space.stores, homes);
    const int64_t row = space.minor().size, outer = space.Size() / row;
    const int width = WidthFor(row);
    emission.SetLane(space.minor().e);
    Reducers reducers(k_, emission, space.Heroes());
    const std::vector<Slot> slots = reducers.MakeSlots(width);
    const auto walk = [&](Value begin) {
      TileOver(k_, width, row, begin, threads_ * width, [&](Value i) {
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
      ForChunks(row, width, walk);
    };
    if (outer == 1) in_row(k_.Index(0));
    else k_.Loop(0, outer, 1, in_row);
    const int64_t chain = outer * CeilDiv(row, threads_ * width) + width + 5 + threads_ / 32 + 1;
    for (const ReducedHero& hero : space.heroes) AddChain(hero, chain, space.Size(Role::kReduced), kernel_.precision);
    reducers.Give(k_.BlockReduce(slots, reducers.Combiner()));
    for (const Output& output : space.outputs)
      homes[output.root - part.body.roots().data()] = emission.Emit(output.value);
  }

  const BlockSpace& space_;
  const EmitRequest& request_;
  const Instruction& region_;
  const int64_t threads_;
  KernelBuilder k_;
  EmittedKernel kernel_;
  int64_t shared_bytes_ = 0, most_shared_bytes_ = kMostSharedBytes;
  int scratches_ = 0;
  Array trips_;
  Value most_trips_, outermost_trips_;
  // Whether a loop exceeded its limit of trips.
  Variable stopped_;
  int depth_ = 0;
  // States of the surrounding loops, outermost first.
  std::vector<const Homes*> states_;
  std::optional<ClusterColumns> columns_;
  std::map<const RecurrentLoop::Product*, ClusterProduct> products_;
  Array sums_;
  std::map<const Instruction*, Array> gathered_;
  std::set<const Instruction*> is_gathered_;
  std::map<int64_t, Filled> filled_;
  // Operands and results that share buffers with filled arrays.
  std::set<int64_t> filled_from_;
  std::set<size_t> filled_roots_;
};

Status CheckCluster(const EmitRequest& request, int64_t period) {
  const KernelPlan& plan = request.plan;
  TRY(request.Require(plan.splits <= kMostBlocksOfCluster && period % plan.splits == 0,
                      Str("its ", period, " units cannot be divided equally among ", plan.splits, " blocks")));
  return request.Require(period / plan.splits % plan.vector == 0,
                         Str(period / plan.splits, " columns of a block are not a multiple of vector, ", plan.vector));
}

}  // namespace

Result<EmittedKernel> EmitBlock(const EmitRequest& request) {
  TRY(request.Require(RegionOf(request.body.source()) == "block", "it is not a region of kind block"));
  TRY(request.RequireBlock(0));
  const auto space = TRY(BlockSpaceOf(request.body.source(), /*in_cluster=*/request.plan.splits > 1));
  if (space->recurrent) TRY(CheckCluster(request, space->recurrent->period));
  return BlockEmitter(*space, request).Emit();
}

}  // namespace hlo::gpu
