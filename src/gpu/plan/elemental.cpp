#include "gpu/plan/elemental.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

// Folds of at most this many terms are written out.
constexpr int64_t kUnrolledTerms = 16, kUnrolledWindow = 64, kUnrolledPick = 256;
// An index that is computed from an index, and so on, is an expression as deep as this.
constexpr int kMostNested = 500;

bool NeverHolds(const IndexPool& pool, const IndexCondition& condition) {
  const auto& node = pool[condition.expression];
  return condition.low >= condition.high || node.high < condition.low || node.low >= condition.high;
}
bool NeverHolds(const IndexPool& pool, const std::vector<IndexCondition>& conditions) {
  return std::ranges::any_of(conditions, [&](const IndexCondition& c) { return NeverHolds(pool, c); });
}

// Adds `condition` unless it always holds.
void Require(const IndexPool& pool, IndexCondition condition, std::vector<IndexCondition>* conditions) {
  const auto& node = pool[condition.expression];
  if (node.low < condition.low || node.high >= condition.high) conditions->push_back(condition);
}

std::vector<int64_t> PhysicalDims(const Shape& shape) {
  const auto& minor_to_major = shape.layout().minor_to_major;
  std::vector<int64_t> dims;
  for (auto it = minor_to_major.rbegin(); it != minor_to_major.rend(); ++it) dims.push_back(shape.dim(*it));
  return dims;
}

Status CheckLayout(const Instruction& inst, const Shape& shape) {
  if (shape.layout().tiling->tiles.empty() && shape.layout().tiling->element_size_in_bits == 0 &&
      !shape.HasDynamicDims())
    return {};
  FAIL(UnsupportedAt(inst, "U104",
                     Str("no kernels for arrays of shape ", shape.ToStringWithLayout(), " ('", inst.name(), "')")));
}

// Before layouts are assigned a fusion's parameter may have another than the operand, which is what lies in memory.
const Shape& ShapeInMemory(const Instruction& source, int64_t operand, const ShapeIndex& index) {
  return SubShape(source.operand(operand).shape(), index);
}

}  // namespace

// ---- FusionBody --------------------------------------------------------------------------------------------------

FusionBody::FusionBody(const Instruction& inst) : source_(&inst) {
  if (inst.Is(Opcode::kFusion)) {
    const Computation& computation = *inst.attrs<FusionAttrs>().calls;
    for (const Instruction* parameter : computation.parameters()) AddLeaves(*parameter, parameter->parameter_number());
    for (const Instruction* each : computation.PostOrder()) {
      if (!leaf_of_.contains(each) && !each->Is(Opcode::kParameter)) instructions_.push_back(each);
    }
    AddRoots(computation.root(), {});
    return;
  }
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Instruction& operand = inst.operand(i);
    if (operand.Is(Opcode::kConstant) && operand.literal().shape().IsScalar()) {
      instructions_.push_back(&operand);  // Into the code.
    } else if (!leaf_of_.contains(&operand)) {
      AddLeaves(operand, i);
    }
  }
  instructions_.push_back(&inst);
  AddRoots(inst, {});
}

void FusionBody::AddLeaves(const Instruction& inst, int64_t operand) {
  if (!inst.shape().IsTuple()) {
    leaf_of_[&inst] = static_cast<int>(leaves_.size());
    leaves_.push_back({&inst, operand, {}, &ShapeInMemory(*source_, operand, {})});
    return;
  }
  if (source_->Is(Opcode::kFusion)) {
    // get-tuple-elements of a tuple parameter are the leaves, each index once.
    const std::function<void(const Instruction&, ShapeIndex)> walk = [&](const Instruction& tuple,
                                                                         const ShapeIndex& index) {
      for (const Instruction* user : tuple.users()) {
        if (!user->Is(Opcode::kGetTupleElement)) continue;
        ShapeIndex inner = index;
        inner.push_back(user->tuple_index());
        if (user->shape().IsTuple()) {
          walk(*user, inner);
          continue;
        }
        const auto same = std::ranges::find_if(
            leaves_, [&](const Leaf& leaf) { return leaf.operand == operand && leaf.index == inner; });
        leaf_of_[user] = static_cast<int>(same - leaves_.begin());
        if (same == leaves_.end()) leaves_.push_back({user, operand, inner, &ShapeInMemory(*source_, operand, inner)});
      }
    };
    walk(inst, {});
  }
}

void FusionBody::AddRoots(const Instruction& inst, ShapeIndex index) {
  if (inst.Is(Opcode::kTuple)) {
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      ShapeIndex inner = index;
      inner.push_back(i);
      AddRoots(inst.operand(i), inner);
    }
    return;
  }
  ForEachLeaf(inst.shape(), [&](const ShapeIndex& inner, const Shape& shape) {
    ShapeIndex whole = index;
    whole.insert(whole.end(), inner.begin(), inner.end());
    roots_.push_back({&inst, inner.empty() ? 0 : inner[0], whole, &shape});
  });
}

int FusionBody::LeafOf(const Instruction& inst) const {
  const auto it = leaf_of_.find(&inst);
  return it == leaf_of_.end() ? -1 : it->second;
}

// ---- Index helpers -----------------------------------------------------------------------------------------------

int64_t Product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

IndexExpr Within(IndexPool& pool, IndexExpr e, int64_t low, int64_t high, std::vector<IndexCondition>* conditions) {
  Require(pool, {e, low, high}, conditions);
  return low < high ? pool.Clamp(e, low, high - 1) : pool.Constant(low);
}

IndexExpr WindowBase(IndexPool& pool, IndexExpr position, IndexExpr w, const WindowDim& window, int64_t size,
                     std::vector<IndexCondition>* conditions) {
  const IndexExpr dilated = pool.Add(
      pool.Add(pool.Multiply(position, window.stride), pool.Multiply(w, window.window_dilation)), -window.pad_low);
  if (window.base_dilation == 1) return Within(pool, dilated, 0, size, conditions);
  const int64_t extent = size == 0 ? 0 : (size - 1) * window.base_dilation + 1;
  const IndexExpr inside = Within(pool, dilated, 0, extent, conditions);
  Require(pool, {pool.Mod(inside, window.base_dilation), 0, 1}, conditions);
  return pool.Div(inside, window.base_dilation);
}

// ---- ElementGraph ------------------------------------------------------------------------------------------------

std::vector<int32_t> ElementGraph::VariablesOf(IndexExpr e) const {
  std::vector<int32_t> all;
  for (const int32_t variable : pool_[e].variables) {
    const auto it = loaded_.find(variable);
    if (it == loaded_.end()) {
      all.push_back(variable);
    } else {
      const auto& behind = nodes_[it->second].variables;
      all.insert(all.end(), behind.begin(), behind.end());
    }
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<IndexExpr> ElementGraph::Expressions(NodeId id) const {
  const ElementNode& node = nodes_[id];
  std::vector<IndexExpr> all = node.index;
  if (node.offset.id >= 0) all.push_back(node.offset);
  for (const auto& condition : node.conditions) all.push_back(condition.expression);
  for (const auto& step : node.steps) {
    for (const auto& condition : step.conditions) all.push_back(condition.expression);
    for (const auto& condition : step.own) all.push_back(condition.expression);
  }
  return all;
}

NodeId ElementGraph::Add(ElementNode node) {
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(node));
  std::set<int32_t> variables;
  for (const IndexExpr e : Expressions(id)) {
    const auto more = VariablesOf(e);
    variables.insert(more.begin(), more.end());
  }
  nodes_[id].needs_given = nodes_[id].kind == ElementNode::Kind::kGiven;
  const auto add = [&](NodeId operand) {
    variables.insert(nodes_[operand].variables.begin(), nodes_[operand].variables.end());
    nodes_[id].needs_given |= nodes_[operand].needs_given;
  };
  std::ranges::for_each(nodes_[id].operands, add);
  for (const auto& step : nodes_[id].steps) std::ranges::for_each(step.operands, add);
  for (const IndexExpr loop : nodes_[id].loop) {
    if (!pool_.IsConstant(loop)) variables.erase(pool_[loop].variable);
  }
  nodes_[id].variables.assign(variables.begin(), variables.end());
  return id;
}

std::vector<NodeId> ElementGraph::Needs(NodeId id) const {
  std::vector<NodeId> needs;
  for (const IndexExpr e : Expressions(id)) {
    for (const int32_t variable : pool_[e].variables) {
      if (IsLoadedIndex(variable)) needs.push_back(LoadedIndex(variable));
    }
  }
  const ElementNode& node = nodes_[id];
  needs.insert(needs.end(), node.operands.begin(), node.operands.end());
  for (const auto& step : node.steps) needs.insert(needs.end(), step.operands.begin(), step.operands.end());
  return needs;
}

std::vector<NodeId> ElementGraph::Reachable(std::span<const NodeId> roots) const {
  std::vector<bool> seen(nodes_.size());
  std::vector<NodeId> order;
  struct Frame {
    NodeId node;
    std::vector<NodeId> needs;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto enter = [&](NodeId id) {
    if (seen[id]) return;
    seen[id] = true;
    stack.push_back({id, Needs(id)});
  };
  for (const NodeId root : roots) {
    enter(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.needs.size()) {
        enter(frame.needs[frame.next++]);
        continue;
      }
      order.push_back(frame.node);
      stack.pop_back();
    }
  }
  return order;
}

Result<IndexExpr> ElementGraph::Loaded(const Instruction& inst, std::vector<IndexExpr> index, int64_t high) {
  if (high <= 0) return pool_.Constant(0);
  const NodeId node = TRY(Plan(inst, std::move(index)));
  const auto [it, is_new] = loaded_variables_.try_emplace({node, high});
  if (is_new) {
    it->second = pool_.Variable(0, high);
    loaded_[pool_[it->second].variable] = node;
  }
  return it->second;
}

// The instruction whose result number `result` is that of `inst`, where that only names one of several.
std::pair<const Instruction*, int64_t> ElementGraph::SourceOf(const Instruction& inst, int64_t result) const {
  const Instruction* source = &inst;
  for (;;) {
    if (source->Is(Opcode::kGetTupleElement) && body_.LeafOf(*source) < 0) {
      result = source->tuple_index();
      source = &source->operand(0);
    } else if (source->Is(Opcode::kTuple)) {
      source = &source->operand(std::exchange(result, 0));
    } else {
      return {source, result};
    }
  }
}

Result<NodeId> ElementGraph::Plan(const Instruction& inst, std::vector<IndexExpr> index, int64_t result) {
  const auto [source, which] = SourceOf(inst, result);
  const NodeId node = TRY(PlanOperandsFirst({source, std::move(index), nested_ + 1}));
  if (!source->shape().IsTuple()) return node;
  const auto [of_result, is_new] = results_.try_emplace({node, static_cast<int>(which)});
  if (is_new) {
    of_result->second =
        Add({.kind = ElementNode::Kind::kResult, .inst = source, .which = static_cast<int>(which), .operands = {node}});
  }
  return of_result->second;
}

// A fusion may be a chain of any length, so that one element of it is planned with a stack of our own. Only what has
// more to say of its operands' indices than Moved goes through Build to Plan again, and that not without end.
Result<NodeId> ElementGraph::PlanOperandsFirst(Element wanted) {
  const auto planned = [&](const Element& e) { return planned_.find(std::tuple(e.inst, e.index)); };
  if (const auto it = planned(wanted); it != planned_.end()) return it->second;
  const int nested = nested_;
  std::vector<Element> stack = {std::move(wanted)};
  NodeId node = -1;
  while (!stack.empty()) {
    const Element element = stack.back();
    if (const auto it = planned(element); it != planned_.end()) {
      node = it->second;
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    for (Element& operand : OperandsOf(element)) {
      if (planned(operand) == planned_.end()) stack.push_back(std::move(operand));
    }
    std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(before), stack.end());
    if (stack.size() > before) continue;
    if (element.nested > kMostNested) {
      FAIL(UnsupportedAt(
          *element.inst, "U110",
          Str("no kernel with '", element.inst->name(), "' below ", kMostNested, " operations that compute indices")));
    }
    nested_ = element.nested;
    node = TRY(Build(*element.inst, element.index));
    planned_.emplace(std::tuple(element.inst, element.index), node);
    stack.pop_back();
  }
  nested_ = nested;
  return node;
}

// The operand's index of what only moves elements, by a rule that needs no conditions. Null: something else.
std::optional<std::vector<IndexExpr>> ElementGraph::Moved(const Instruction& inst,
                                                          const std::vector<IndexExpr>& index) {
  std::vector<IndexExpr> inner;
  switch (inst.opcode()) {
    case Opcode::kOptimizationBarrier: return index;
    case Opcode::kBroadcast:
      for (const int64_t d : inst.dimensions()) inner.push_back(index[d]);
      return inner;
    case Opcode::kReshape:
      return pool_.Delinearize(pool_.Linearize(index, inst.shape().dims()), inst.operand(0).shape().dims());
    case Opcode::kTranspose:
      inner.resize(index.size());
      for (size_t i = 0; i < index.size(); ++i) inner[inst.dimensions()[i]] = index[i];
      return inner;
    case Opcode::kReverse:
      inner = index;
      for (const int64_t d : inst.dimensions())
        inner[d] = pool_.Add(pool_.Multiply(index[d], -1), inst.shape().dim(d) - 1);
      return inner;
    case Opcode::kSlice: {
      const auto& dims = inst.attrs<SliceAttrs>().slice.dims;
      for (size_t i = 0; i < index.size(); ++i)
        inner.push_back(pool_.Add(pool_.Multiply(index[i], dims[i].stride), dims[i].start));
      return inner;
    }
    default: return std::nullopt;
  }
}

// What Build will ask for, as far as that can be known without it.
std::vector<ElementGraph::Element> ElementGraph::OperandsOf(const Element& element) {
  const Instruction& inst = *element.inst;
  std::vector<Element> operands;
  if (given_.contains(&inst) || body_.LeafOf(inst) >= 0) return operands;
  const auto add = [&](int64_t i, std::vector<IndexExpr> index, int nested) {
    operands.push_back({SourceOf(inst.operand(i), 0).first, std::move(index), nested});
  };
  if (auto inner = Moved(inst, element.index)) {
    add(0, *std::move(inner), element.nested + inst.Is(Opcode::kReshape));
  } else if (inst.Is(kElementwise) || inst.Is(Opcode::kMap)) {
    for (int64_t i = 0; i < inst.operand_count(); ++i)
      add(i, inst.operand(i).shape().IsScalar() ? std::vector<IndexExpr>() : element.index, element.nested);
  }
  return operands;
}

Result<NodeId> ElementGraph::Build(const Instruction& inst, const std::vector<IndexExpr>& index) {
  using Kind = ElementNode::Kind;
  if (given_.contains(&inst)) return Add({.kind = Kind::kGiven, .inst = &inst, .index = index});
  if (const int leaf = body_.LeafOf(inst); leaf >= 0) {
    TRY(KernelType(inst, inst.shape().type()));
    const Shape& shape = *body_.leaves()[leaf].shape;
    TRY(CheckLayout(inst, shape));
    return Add({.kind = Kind::kLoad, .inst = &inst, .offset = pool_.Dot(index, LayoutStrides(shape)), .leaf = leaf});
  }
  TRY(CheckOneFloatType(inst));
  if (auto inner = Moved(inst, index)) return Plan(inst.operand(0), *std::move(inner));
  switch (inst.opcode()) {
    case Opcode::kConstant: {
      TRY(KernelType(inst, inst.shape().type()));
      const bool splat = inst.literal().IsSplat();
      return Add({.kind = Kind::kLiteral,
                  .inst = &inst,
                  .offset = splat ? pool_.Constant(0) : pool_.Linearize(index, inst.shape().dims())});
    }
    case Opcode::kIota:
      TRY(KernelType(inst, inst.shape().type()));
      return Add({.kind = Kind::kIota, .inst = &inst, .offset = index[inst.attrs<IotaAttrs>().iota_dimension]});
    case Opcode::kBitcast: return BuildBitcast(inst, index);
    case Opcode::kBitcastConvert: {
      TRY(KernelType(inst, inst.shape().type()));
      TRY(KernelType(inst, inst.operand(0).shape().type()));
      const PrimitiveType from = inst.operand(0).shape().type(), to = inst.shape().type();
      if (to != from && BitWidth(to) != (from == PrimitiveType::kPred ? 8 : BitWidth(from))) {
        FAIL(UnsupportedAt(inst, "U105",
                           Str("no emitter for 'bitcast-convert' between widths, from ", inst.operand(0).shape(),
                               " to ", inst.shape())));
      }
      return Add({.kind = Kind::kBits, .inst = &inst, .operands = {TRY(Plan(inst.operand(0), index))}});
    }
    case Opcode::kConcatenate: return BuildConcatenate(inst, index);
    case Opcode::kPad: return BuildPad(inst, index);
    case Opcode::kDynamicSlice: return BuildDynamicSlice(inst, index);
    case Opcode::kDynamicUpdateSlice: return BuildDynamicUpdateSlice(inst, index);
    case Opcode::kGather: return BuildGather(inst, index);
    case Opcode::kReduce: return BuildReduce(inst, index);
    case Opcode::kReduceWindow: return BuildReduceWindow(inst, index);
    case Opcode::kSelectAndScatter: return BuildSelectAndScatter(inst, index);
    case Opcode::kDot:
    case Opcode::kConvolution: return BuildContraction(inst, index);
    case Opcode::kMap: {
      TRY(CheckScalarComputation(*inst.attrs<MapAttrs>().to_apply));
      ElementNode node{.kind = Kind::kMap, .inst = &inst};
      for (const Instruction* operand : inst.operands()) node.operands.push_back(TRY(Plan(*operand, index)));
      return Add(std::move(node));
    }
    default: break;
  }
  TRY(CheckScalar(inst));
  ElementNode node{.kind = Kind::kScalar, .inst = &inst};
  for (const Instruction* operand : inst.operands()) {
    // clamp and select take scalars beside arrays.
    node.operands.push_back(TRY(Plan(*operand, operand->shape().IsScalar() ? std::vector<IndexExpr>() : index)));
  }
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildBitcast(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const Instruction& operand = inst.operand(0);
  TRY(CheckLayout(inst, inst.shape()));
  TRY(CheckLayout(operand, operand.shape()));
  const bool same_type = inst.shape().type() == operand.shape().type();
  if (BitWidth(inst.shape().type()) != BitWidth(operand.shape().type()) ||
      inst.shape().NumElements() != operand.shape().NumElements()) {
    FAIL(UnsupportedAt(inst, "U105", Str("no emitter for 'bitcast' from ", operand.shape(), " to ", inst.shape())));
  }
  const IndexExpr linear = pool_.Dot(index, LayoutStrides(inst.shape()));
  const std::vector<IndexExpr> physical = pool_.Delinearize(linear, PhysicalDims(operand.shape()));
  std::vector<IndexExpr> inner(operand.shape().rank());
  const auto& minor_to_major = operand.shape().layout().minor_to_major;
  for (size_t i = 0; i < inner.size(); ++i) inner[minor_to_major[i]] = physical[inner.size() - 1 - i];
  const NodeId value = TRY(Plan(operand, std::move(inner)));
  if (same_type) return value;
  TRY(KernelType(inst, inst.shape().type()));
  return Add({.kind = ElementNode::Kind::kBits, .inst = &inst, .operands = {value}});
}

Result<NodeId> ElementGraph::BuildConcatenate(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const int64_t d = inst.attrs<OneDimensionAttrs>().dimension.value;
  // Pieces from the last to the first: [0, limit) is an operand, what lies behind it the rest.
  NodeId rest = -1;
  IndexExpr rest_clamp;
  int64_t begin = inst.shape().dim(d);
  for (int64_t i = inst.operand_count(); i-- > 0;) {
    const Instruction& operand = inst.operand(i);
    const int64_t size = operand.shape().dim(d), end = begin;
    begin -= size;
    if (size == 0) continue;
    ElementNode node{.kind = ElementNode::Kind::kGuard, .inst = &inst};
    Require(pool_, {index[d], INT64_MIN, end}, &node.conditions);
    if (NeverHolds(pool_, node.conditions)) continue;
    std::vector<IndexExpr> inner = index;
    std::vector<IndexCondition> ignored;
    const IndexExpr inner_at = inner[d] = Within(pool_, pool_.Add(index[d], -begin), 0, size, &ignored);
    const NodeId value = TRY(Plan(operand, std::move(inner)));
    if (rest < 0 || node.conditions.empty()) {
      rest = value;
      rest_clamp = inner_at;
      continue;
    }
    node.operands = {value, rest};
    node.then_clamps = {inner_at};
    node.else_clamps = {rest_clamp};
    rest_clamp = inner_at;
    rest = Add(std::move(node));
  }
  CHECK(rest >= 0, inst.name());
  return rest;
}

Result<NodeId> ElementGraph::BuildPad(const Instruction& inst, const std::vector<IndexExpr>& index) {
  ElementNode node{.kind = ElementNode::Kind::kGuard, .inst = &inst};
  const Instruction& operand = inst.operand(0);
  const auto& dims = inst.attrs<PadAttrs>().padding.dims;
  std::vector<IndexExpr> inner;
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t size = operand.shape().dim(i), spread = dims[i].interior + 1;
    const int64_t extent = size == 0 ? 0 : (size - 1) * spread + 1;
    const IndexExpr inside = Within(pool_, pool_.Add(index[i], -dims[i].low), 0, extent, &node.conditions);
    if (spread > 1) Require(pool_, {pool_.Mod(inside, spread), 0, 1}, &node.conditions);
    inner.push_back(pool_.Div(inside, spread));
  }
  const NodeId padding = TRY(Plan(inst.operand(1), {}));
  if (NeverHolds(pool_, node.conditions)) return padding;
  const NodeId value = TRY(Plan(operand, std::move(inner)));
  if (node.conditions.empty()) return value;
  node.operands = {value, padding};
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildDynamicSlice(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const Instruction& operand = inst.operand(0);
  if (operand.shape().rank() > 0 && inst.operand_count() != 1 + operand.shape().rank()) {
    FAIL(UnsupportedAt(inst, "U106", "no emitter for 'dynamic-slice' with its indices in one array"));
  }
  std::vector<IndexExpr> inner;
  for (size_t i = 0; i < index.size(); ++i) {
    const IndexExpr start = TRY(Loaded(inst.operand(1 + i), {}, operand.shape().dim(i) - inst.shape().dim(i)));
    inner.push_back(pool_.Add(index[i], start));
  }
  return Plan(operand, std::move(inner));
}

Result<NodeId> ElementGraph::BuildDynamicUpdateSlice(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const Shape& update = inst.operand(1).shape();
  if (update.rank() > 0 && inst.operand_count() != 2 + update.rank()) {
    FAIL(UnsupportedAt(inst, "U106", "no emitter for 'dynamic-update-slice' with its indices in one array"));
  }
  ElementNode node{.kind = ElementNode::Kind::kGuard, .inst = &inst};
  std::vector<IndexExpr> inner;
  for (size_t i = 0; i < index.size(); ++i) {
    const IndexExpr start = TRY(Loaded(inst.operand(2 + i), {}, inst.shape().dim(i) - update.dim(i)));
    inner.push_back(Within(pool_, pool_.Add(index[i], pool_.Multiply(start, -1)), 0, update.dim(i), &node.conditions));
  }
  const NodeId old = TRY(Plan(inst.operand(0), index));
  if (NeverHolds(pool_, node.conditions)) return old;
  const NodeId updated = TRY(Plan(inst.operand(1), std::move(inner)));
  if (node.conditions.empty()) return updated;
  node.operands = {updated, old};
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildGather(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const auto& attrs = inst.attrs<GatherAttrs>();
  const Shape &operand = inst.operand(0).shape(), &indices = inst.operand(1).shape();
  const auto contains = [](const std::vector<int64_t>& list, int64_t d) {
    return std::ranges::find(list, d) != list.end();
  };
  std::vector<IndexExpr> batch;
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    if (!contains(attrs.offset_dims, d)) batch.push_back(index[d]);
  }
  // Where in the indices array component k of this element's index vector lies.
  const auto position = [&](int64_t k) {
    std::vector<IndexExpr> at = batch;
    if (attrs.index_vector_dim < indices.rank()) at.insert(at.begin() + attrs.index_vector_dim, pool_.Constant(k));
    return at;
  };
  std::vector<IndexExpr> inner;
  size_t next_offset = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    IndexExpr at = pool_.Constant(0);
    const auto k = std::ranges::find(attrs.start_index_map, d) - attrs.start_index_map.begin();
    const auto b = std::ranges::find(attrs.operand_batching_dims, d) - attrs.operand_batching_dims.begin();
    if (k < static_cast<int64_t>(attrs.start_index_map.size())) {
      at = TRY(Loaded(inst.operand(1), position(k), operand.dim(d) - attrs.slice_sizes[d]));
    } else if (b < static_cast<int64_t>(attrs.operand_batching_dims.size())) {
      const int64_t indices_dim = attrs.start_indices_batching_dims[b];
      at = batch[indices_dim - (indices_dim > attrs.index_vector_dim ? 1 : 0)];
    }
    if (!contains(attrs.collapsed_slice_dims, d) && !contains(attrs.operand_batching_dims, d)) {
      at = pool_.Add(at, index[attrs.offset_dims[next_offset++]]);
    }
    inner.push_back(at);
  }
  return Plan(inst.operand(0), std::move(inner));
}

// Plans the terms of a fold over `sizes`: written out when they are few, else as a loop.
Result<NodeId> ElementGraph::BuildFold(
    ElementNode node, const std::vector<int64_t>& sizes,
    const std::function<Result<ElementNode::Step>(const std::vector<IndexExpr>&)>& step) {
  const int64_t terms = Product(sizes);
  const int64_t limit = node.inst->Is(Opcode::kReduceWindow) ? kUnrolledWindow : kUnrolledTerms;
  if (terms > limit) {
    std::vector<IndexExpr> loop;
    for (const int64_t size : sizes) loop.push_back(pool_.Variable(0, size - 1));
    ElementNode::Step one = TRY(step(loop));
    if (NeverHolds(pool_, one.conditions)) return Add(std::move(node));  // Every window lies in padding.
    node.loop = std::move(loop);
    node.loop_sizes = sizes;
    node.steps.push_back(std::move(one));
    return Add(std::move(node));
  }
  for (int64_t i = 0; i < terms; ++i) {
    ElementNode::Step one = TRY(step(pool_.Delinearize(pool_.Constant(i), sizes)));
    if (!NeverHolds(pool_, one.conditions)) node.steps.push_back(std::move(one));
  }
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildReduce(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const auto& attrs = inst.attrs<ReduceAttrs>();
  TRY(CheckScalarComputation(*attrs.to_apply));
  const int64_t arrays = inst.operand_count() / 2;
  ElementNode node{.kind = ElementNode::Kind::kReduce, .inst = &inst};
  for (int64_t i = 0; i < arrays; ++i) node.operands.push_back(TRY(Plan(inst.operand(arrays + i), {})));
  std::vector<int64_t> dimensions = attrs.dimensions, sizes;
  std::ranges::sort(dimensions);
  for (const int64_t d : dimensions) sizes.push_back(inst.operand(0).shape().dim(d));
  return BuildFold(std::move(node), sizes, [&](const std::vector<IndexExpr>& terms) -> Result<ElementNode::Step> {
    std::vector<IndexExpr> inner = index;
    for (size_t i = 0; i < dimensions.size(); ++i) inner.insert(inner.begin() + dimensions[i], terms[i]);
    ElementNode::Step step;
    for (int64_t i = 0; i < arrays; ++i) step.operands.push_back(TRY(Plan(inst.operand(i), inner)));
    return step;
  });
}

Result<NodeId> ElementGraph::BuildReduceWindow(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const auto& attrs = inst.attrs<ReduceWindowAttrs>();
  TRY(CheckScalarComputation(*attrs.to_apply));
  const int64_t arrays = inst.operand_count() / 2;
  const Shape& operand = inst.operand(0).shape();
  ElementNode node{.kind = ElementNode::Kind::kReduce, .inst = &inst};
  for (int64_t i = 0; i < arrays; ++i) node.operands.push_back(TRY(Plan(inst.operand(arrays + i), {})));
  std::vector<int64_t> sizes;
  for (const WindowDim& window : attrs.window.dims) sizes.push_back(window.size);
  return BuildFold(std::move(node), sizes, [&](const std::vector<IndexExpr>& terms) -> Result<ElementNode::Step> {
    std::vector<IndexExpr> inner;
    ElementNode::Step step;
    for (size_t i = 0; i < terms.size(); ++i) {
      inner.push_back(WindowBase(pool_, index[i], terms[i], attrs.window.dims[i], operand.dim(i), &step.conditions));
    }
    if (NeverHolds(pool_, step.conditions)) return step;
    for (int64_t i = 0; i < arrays; ++i) step.operands.push_back(TRY(Plan(inst.operand(i), inner)));
    return step;
  });
}

Result<NodeId> ElementGraph::BuildSelectAndScatter(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const auto& attrs = inst.attrs<SelectAndScatterAttrs>();
  TRY(CheckScalarComputation(*attrs.select));
  TRY(CheckScalarComputation(*attrs.scatter));
  const Shape &operand = inst.operand(0).shape(), &source = inst.operand(1).shape();
  std::vector<int64_t> sizes, covering;
  for (const WindowDim& window : attrs.window.dims) {
    if (window.base_dilation != 1 || window.window_dilation != 1) {
      FAIL(UnsupportedAt(inst, "U107", "no emitter for 'select-and-scatter' with dilation"));
    }
    sizes.push_back(window.size);
    covering.push_back((window.size + window.stride - 1) / window.stride);
  }
  if (Product(sizes) * Product(covering) > kUnrolledPick) {
    FAIL(UnsupportedAt(inst, "U107",
                       Str("no emitter for 'select-and-scatter' with a window of ", Product(sizes), " elements")));
  }
  ElementNode node{.kind = ElementNode::Kind::kPick,
                   .inst = &inst,
                   .operands = {TRY(Plan(inst.operand(2), {}))},
                   .window_size = Product(sizes)};
  // Windows that cover the element, in row-major order: the first one has the largest offset of the element in it.
  for (int64_t c = 0; c < Product(covering); ++c) {
    const std::vector<IndexExpr> back = pool_.Delinearize(pool_.Constant(c), covering);
    ElementNode::Step scatter;
    std::vector<IndexExpr> at, offset;
    for (size_t i = 0; i < index.size(); ++i) {
      const WindowDim& window = attrs.window.dims[i];
      // Padded coordinates; a negative low padding leaves elements in front that no window covers.
      const IndexExpr padded =
          Within(pool_, pool_.Add(index[i], window.pad_low), 0, INT64_MAX / 4, &scatter.conditions);
      const int64_t j = covering[i] - 1 - pool_[back[i]].constant;
      at.push_back(
          Within(pool_, pool_.Add(pool_.Div(padded, window.stride), -j), 0, source.dim(i), &scatter.conditions));
      offset.push_back(pool_.Add(pool_.Mod(padded, window.stride), j * window.stride));
      Require(pool_, {offset.back(), 0, window.size}, &scatter.conditions);
    }
    if (NeverHolds(pool_, scatter.conditions)) continue;
    scatter.operands.push_back(TRY(Plan(inst.operand(1), at)));
    node.steps.push_back(std::move(scatter));
    for (int64_t w = 0; w < node.window_size; ++w) {
      const std::vector<IndexExpr> position = pool_.Delinearize(pool_.Constant(w), sizes);
      ElementNode::Step element;
      std::vector<IndexExpr> inner;
      for (size_t i = 0; i < index.size(); ++i) {
        inner.push_back(
            WindowBase(pool_, at[i], position[i], attrs.window.dims[i], operand.dim(i), &element.conditions));
        Require(pool_, {pool_.Add(offset[i], -pool_[position[i]].constant), 0, 1}, &element.own);
      }
      element.operands.push_back(TRY(Plan(inst.operand(0), inner)));
      node.steps.push_back(std::move(element));
    }
  }
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildContraction(const Instruction& inst, const std::vector<IndexExpr>& index) {
  TRY(KernelType(inst, inst.shape().type()));
  ElementNode node{.kind = ElementNode::Kind::kReduce, .inst = &inst};
  const Shape &lhs = inst.operand(0).shape(), &rhs = inst.operand(1).shape();
  if (inst.operand_count() != 2)
    FAIL(UnsupportedAt(inst, "U108", Str("no emitter for sparse '", ToString(inst.opcode()), "'")));
  if (inst.Is(Opcode::kDot)) {
    const auto& attrs = inst.attrs<DotAttrs>();
    std::vector<int64_t> sizes;
    for (const int64_t d : attrs.lhs_contracting) sizes.push_back(lhs.dim(d));
    return BuildFold(std::move(node), sizes, [&](const std::vector<IndexExpr>& terms) -> Result<ElementNode::Step> {
      std::vector<IndexExpr> a(lhs.rank()), b(rhs.rank());
      size_t next = 0;
      for (size_t i = 0; i < attrs.lhs_batch.size(); ++i) a[attrs.lhs_batch[i]] = b[attrs.rhs_batch[i]] = index[next++];
      for (size_t i = 0; i < terms.size(); ++i) a[attrs.lhs_contracting[i]] = b[attrs.rhs_contracting[i]] = terms[i];
      for (IndexExpr& e : a)
        if (e.id < 0) e = index[next++];
      for (IndexExpr& e : b)
        if (e.id < 0) e = index[next++];
      ElementNode::Step step;
      step.operands = {TRY(Plan(inst.operand(0), a)), TRY(Plan(inst.operand(1), b))};
      return step;
    });
  }
  const auto& attrs = inst.attrs<ConvolutionAttrs>();
  if (!IsFloat(inst.shape().type())) {
    FAIL(UnsupportedAt(inst, "U108", Str("no emitter for 'convolution' of ", inst.shape().type())));
  }
  const DimLabels& labels = attrs.dim_labels;
  const int64_t features = rhs.dim(labels.rhs_input_feature), out_features = rhs.dim(labels.rhs_output_feature);
  const int64_t batch = lhs.dim(labels.lhs_batch) / attrs.batch_group_count;
  std::vector<int64_t> sizes;
  for (const WindowDim& window : attrs.window.dims) sizes.push_back(window.size);
  sizes.push_back(features);
  return BuildFold(std::move(node), sizes, [&](const std::vector<IndexExpr>& terms) -> Result<ElementNode::Step> {
    std::vector<IndexExpr> a(lhs.rank()), b(rhs.rank());
    ElementNode::Step step;
    const IndexExpr feature = index[labels.out_feature];
    const IndexExpr batch_group = pool_.Div(feature, out_features / attrs.batch_group_count);
    const IndexExpr feature_group = pool_.Div(feature, out_features / attrs.feature_group_count);
    a[labels.lhs_batch] = pool_.Add(index[labels.out_batch], pool_.Multiply(batch_group, batch));
    a[labels.lhs_feature] = pool_.Add(pool_.Multiply(feature_group, features), terms.back());
    b[labels.rhs_input_feature] = terms.back();
    b[labels.rhs_output_feature] = feature;
    for (size_t i = 0; i < labels.lhs_spatial.size(); ++i) {
      const WindowDim& window = attrs.window.dims[i];
      a[labels.lhs_spatial[i]] = WindowBase(pool_, index[labels.out_spatial[i]], terms[i], window,
                                            lhs.dim(labels.lhs_spatial[i]), &step.conditions);
      b[labels.rhs_spatial[i]] = window.reversed ? pool_.Add(pool_.Multiply(terms[i], -1), window.size - 1) : terms[i];
    }
    if (NeverHolds(pool_, step.conditions)) return step;
    step.operands = {TRY(Plan(inst.operand(0), a)), TRY(Plan(inst.operand(1), b))};
    return step;
  });
}

}  // namespace hlo::gpu
