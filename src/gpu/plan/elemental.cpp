#include "gpu/plan/elemental.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "ir/module.h"

namespace hlo::gpu {
namespace {

// Longest chain of operations that compute indices from each other.
constexpr int kMostNested = 500;

// The operand's shape: before layout assignment a fusion's parameter may have another layout.
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
      instructions_.push_back(&operand);
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

bool FusionBody::HasComplex() const {
  bool found = std::ranges::any_of(leaves_, [](const Leaf& leaf) { return IsComplex(leaf.shape->type()); });
  for (const Instruction* inst : instructions_)
    ForEachLeaf(inst->shape(), [&](const ShapeIndex&, const Shape& leaf) { found |= IsComplex(leaf.type()); });
  return found;
}

int FusionBody::LeafOf(const Instruction& inst) const {
  const auto it = leaf_of_.find(&inst);
  return it == leaf_of_.end() ? -1 : it->second;
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

// The instruction that computes the result, and its result number.
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

// An explicit stack handles chains of any length. If only Build knows an instruction's operand indices, Build and Plan
// call each other, at most kMostNested deep.
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
      FAIL(UnsupportedAt(*element.inst, "U110",
                         Str("no kernel for '", element.inst->name(), "': more than ", kMostNested,
                             " operations compute indices from each other")));
    }
    nested_ = element.nested;
    node = TRY(Build(*element.inst, element.index));
    planned_.emplace(std::tuple(element.inst, element.index), node);
    stack.pop_back();
  }
  nested_ = nested;
  return node;
}

// The operands that Build will plan, except those whose indices only Build knows.
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

}  // namespace hlo::gpu
