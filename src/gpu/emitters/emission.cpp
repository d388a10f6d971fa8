#include "gpu/emitters/emission.h"

#include <algorithm>
#include <variant>

#include "base/check.h"
#include "gpu/emitters/complex.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {

using Kind = ElementNode::Kind;

Emission::Emission(ElementGraph& graph, KernelBuilder& k, std::map<int, Array> leaves,
                   std::map<const Instruction*, Array> literals)
    : graph_(graph),
      pool_(graph.pool()),
      k_(k),
      leaves_(std::move(leaves)),
      literals_(std::move(literals)),
      scopes_(1) {}

void Emission::SetLane(IndexExpr variable) { lane_ = pool_[variable].variable; }

void Emission::Bind(IndexExpr variable, Value value) {
  // Variables of size 1 are constants.
  if (pool_.IsConstant(variable)) return;
  scopes_.back().expressions[variable.id] = value;
  scopes_.back().bound.insert(pool_[variable].variable);
}

void Emission::Bind(NodeId node, std::vector<Value> values) { scopes_.back().nodes[node] = std::move(values); }

void Emission::Decide(NodeId guard, bool holds) {
  scopes_.back().decisions[guard] = holds;
  AssumeSide(graph_.node(guard), holds);
}

const bool* Emission::Decision(NodeId id) const {
  for (const ScopeData& scope : scopes_) {
    if (const auto it = scope.decisions.find(id); it != scope.decisions.end()) return &it->second;
  }
  return nullptr;
}

bool Emission::IsBound(int32_t variable) const {
  return std::ranges::any_of(scopes_, [&](const ScopeData& scope) { return scope.bound.contains(variable); });
}

bool Emission::Ready(IndexExpr e) const {
  return std::ranges::all_of(graph_.VariablesOf(e), [&](int32_t variable) { return IsBound(variable); });
}

bool Emission::Ready(NodeId id) const {
  const ElementNode& node = graph_.node(id);
  if (!std::ranges::all_of(node.variables, [&](int32_t variable) { return IsBound(variable); })) return false;
  if (!node.needs_given) return true;
  const NodeId roots[] = {id};
  for (const NodeId each : graph_.Reachable(roots)) {
    if (graph_.node(each).kind != Kind::kGiven) continue;
    if (std::ranges::none_of(scopes_, [&](const ScopeData& scope) { return scope.nodes.contains(each); })) return false;
  }
  return true;
}

bool Emission::Varies(IndexExpr e) const {
  return lane_ >= 0 && std::ranges::binary_search(graph_.VariablesOf(e), lane_);
}

bool Emission::Varies(std::span<const IndexCondition> conditions) const {
  return std::ranges::any_of(conditions, [&](const IndexCondition& condition) { return Varies(condition.expression); });
}

// ---- Index expressions -------------------------------------------------------------------------------------------

Value Emission::Lower(IndexExpr e) {
  for (const ScopeData& scope : scopes_) {
    if (const auto it = scope.expressions.find(e.id); it != scope.expressions.end()) return it->second;
  }
  const Value value = ComputeExpr(e);
  scopes_.back().expressions[e.id] = value;
  return value;
}

Value Emission::ComputeExpr(IndexExpr e) {
  const IndexPool::Node node = pool_[e];
  switch (node.kind) {
    case IndexPool::Kind::kVariable: {
      CHECK(graph_.IsLoadedIndex(node.variable), "an index variable is not bound: ", pool_.ToString(e));
      // Clamps in 64 bits, because kIndex may have 32 on the device. A u64 is never negative.
      Value index = Emit(graph_.LoadedIndex(node.variable));
      if (index.type() != Type::kU64) {
        index = Convert(index, Type::kS64);
        index = Max(index, ConstantLike(index, int64_t{0}));
      }
      return Convert(Min(index, ConstantLike(index, node.high)), Type::kIndex);
    }
    case IndexPool::Kind::kDiv: return Lower(node.operand) / node.divisor;
    case IndexPool::Kind::kMod: return Lower(node.operand) % node.divisor;
    case IndexPool::Kind::kClamp: {
      Value value = Lower(node.operand);
      if (std::ranges::any_of(scopes_, [&](const ScopeData& scope) { return scope.assumed.contains(e.id); }))
        return value;
      if (pool_[node.operand].low < node.low) value = Max(value, k_.Index(node.low));
      if (pool_[node.operand].high > node.high) value = Min(value, k_.Index(node.high));
      return value;
    }
    case IndexPool::Kind::kSum: break;
  }
  if (node.terms.empty()) return k_.Index(node.constant);
  IndexExpr fixed = pool_.Constant(node.constant);
  std::vector<IndexPool::Term> varying;
  for (const auto& term : node.terms) {
    if (Varies(term.atom)) {
      varying.push_back(term);
    } else {
      fixed = pool_.Add(fixed, pool_.Multiply(term.atom, term.coefficient));
    }
  }
  const auto product = [&](const IndexPool::Term& term) {
    const Value atom = Lower(term.atom);
    return term.coefficient == 1 ? atom : atom * term.coefficient;
  };
  Value sum;
  if (fixed != e) {
    if (!pool_.IsConstant(fixed, 0)) sum = Lower(fixed);
  } else {
    varying = node.terms;
    if (node.constant != 0) varying.clear();
    // Positive terms come first, so that no intermediate value is negative unless the sum can be.
    std::vector<IndexPool::Term> terms = node.terms;
    std::ranges::stable_sort(terms,
                             [](const auto& a, const auto& b) { return a.coefficient > 0 && b.coefficient < 0; });
    for (const auto& term : terms) sum = sum ? sum + product(term) : product(term);
    return node.constant == 0 ? sum : sum + node.constant;
  }
  for (const auto& term : varying) sum = sum ? sum + product(term) : product(term);
  return sum;
}

void Emission::Hoist(IndexExpr e) {
  if (pool_.IsConstant(e)) return;
  if (Ready(e)) {
    Lower(e);
    return;
  }
  const IndexPool::Node node = pool_[e];
  if (node.kind == IndexPool::Kind::kVariable) return;
  if (node.kind != IndexPool::Kind::kSum) return Hoist(node.operand);
  IndexExpr fixed = pool_.Constant(node.constant);
  for (const auto& term : node.terms) {
    if (Ready(term.atom) && !Varies(term.atom)) {
      fixed = pool_.Add(fixed, pool_.Multiply(term.atom, term.coefficient));
    } else {
      Hoist(term.atom);
    }
  }
  if (!pool_.IsConstant(fixed)) Lower(fixed);
}

Value Emission::All(std::span<const IndexCondition> conditions) {
  Value all;
  for (const IndexCondition& condition : conditions) {
    const auto& node = pool_[condition.expression];
    const int64_t low = node.low, high = node.high;
    const Value e = Lower(condition.expression);
    std::vector<Value> parts;
    if (condition.high > condition.low && condition.high - 1 == condition.low) {
      parts.push_back(e == condition.low);
    } else {
      if (low < condition.low) parts.push_back(e >= condition.low);
      if (high >= condition.high) parts.push_back(e < condition.high);
    }
    for (const Value part : parts) all = all ? all & part : part;
  }
  return all ? all : k_.Constant(Type::kPred, int64_t{1});
}

// Records that clamps made for these conditions have no effect in this scope.
void Emission::Assume(std::span<const IndexCondition> conditions) {
  for (const IndexCondition& condition : conditions) {
    const auto& node = pool_[condition.expression];
    const int64_t low = std::max(condition.low, node.low), high = std::min(condition.high - 1, node.high);
    if (low > high) continue;
    scopes_.back().assumed.insert(pool_.Clamp(condition.expression, low, high).id);
    scopes_.back().assumed.insert(pool_.Clamp(condition.expression, condition.low, condition.high - 1).id);
  }
}

void Emission::AssumeSide(const ElementNode& guard, bool holds) {
  if (holds) Assume(guard.conditions);
  for (const IndexExpr clamp : holds ? guard.then_clamps : guard.else_clamps) scopes_.back().assumed.insert(clamp.id);
}

// ---- Nodes -------------------------------------------------------------------------------------------------------

const std::vector<Value>* Emission::Emitted(NodeId id) const {
  for (const ScopeData& scope : scopes_) {
    if (const auto it = scope.nodes.find(id); it != scope.nodes.end()) return &it->second;
  }
  return nullptr;
}

// Uses an explicit stack, because chains of operands may be long.
const std::vector<Value>& Emission::EmitAll(NodeId id) {
  std::vector<NodeId> stack = {id};
  for (;;) {
    const NodeId top = stack.back();
    if (Emitted(top) == nullptr) {
      const ElementNode& node = graph_.node(top);
      const size_t before = stack.size();
      if (node.kind == Kind::kScalar || node.kind == Kind::kBits || node.kind == Kind::kMap) {
        for (size_t i = node.operands.size(); i-- > 0;) {
          if (Emitted(node.operands[i]) == nullptr) stack.push_back(node.operands[i]);
        }
      }
      if (stack.size() > before) continue;
      std::vector<Value> values = Compute(top);
      scopes_.back().nodes[top] = std::move(values);
    }
    if (stack.size() == 1) return *Emitted(id);
    stack.pop_back();
  }
}

void Emission::EmitParts(NodeId id, std::vector<Value>* parts) {
  const std::vector<Value>& all = EmitAll(id);
  parts->insert(parts->end(), all.begin(), all.end());
}

std::vector<Value> Emission::EmitParts(std::span<const NodeId> ids) {
  std::vector<Value> parts;
  for (const NodeId id : ids) EmitParts(id, &parts);
  return parts;
}

void Emission::Hoist(std::span<const NodeId> nodes) {
  std::set<NodeId> seen;
  std::vector<std::variant<NodeId, IndexExpr>> stack(nodes.rbegin(), nodes.rend());
  while (!stack.empty()) {
    const auto next = stack.back();
    stack.pop_back();
    if (const IndexExpr* e = std::get_if<IndexExpr>(&next)) {
      Hoist(*e);
      continue;
    }
    const NodeId id = std::get<NodeId>(next);
    if (!seen.insert(id).second) continue;
    if (Ready(id)) {
      EmitAll(id);
      continue;
    }
    const ElementNode& node = graph_.node(id);
    if (const bool* decision = Decision(id)) {
      stack.emplace_back(node.operands[*decision ? 0 : 1]);
      continue;
    }
    const size_t before = stack.size();
    for (const IndexExpr e : graph_.Expressions(id)) {
      stack.emplace_back(e);
      for (const int32_t variable : pool_[e].variables) {
        if (graph_.IsLoadedIndex(variable)) stack.emplace_back(graph_.LoadedIndex(variable));
      }
    }
    // Values that are needed only under a varying condition are not computed for all elements.
    if (node.kind != Kind::kGuard || !Varies(node.conditions)) {
      stack.insert(stack.end(), node.operands.begin(), node.operands.end());
      for (const auto& step : node.steps) stack.insert(stack.end(), step.operands.begin(), step.operands.end());
    } else {
      HoistLoads(node);
    }
    std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(before), stack.end());
  }
}

void Emission::HoistLoads(const ElementNode& guard) {
  for (const NodeId id : graph_.Reachable(guard.operands)) {
    const ElementNode& node = graph_.node(id);
    const auto array = node.kind == Kind::kLoad ? leaves_.find(node.leaf) : leaves_.end();
    if (array == leaves_.end() || !Ready(id)) continue;
    const auto& offset = pool_[node.offset];
    const int64_t elements = array->second.elements() / ComponentCount(node.inst->shape().type());
    if (offset.low >= 0 && offset.high < elements) EmitAll(id);
  }
}

std::vector<Value> Emission::Compute(NodeId id) {
  const ElementNode& node = graph_.node(id);
  switch (node.kind) {
    case Kind::kLoad: {
      return LoadElement(leaves_.at(node.leaf), Lower(node.offset), ComponentCount(node.inst->shape().type()));
    }
    case Kind::kLiteral: {
      const Literal& literal = node.inst->literal();
      if (pool_.IsConstant(node.offset)) return LiteralValue(k_, literal, pool_[node.offset].constant);
      return LoadElement(literals_.at(node.inst), Lower(node.offset), ComponentCount(literal.shape().type()));
    }
    case Kind::kIota: {
      // Integers may wrap, so a wide integer is converted. Floats are rounded as in a conversion.
      const Type type = KernelTypeOf(node.inst->shape().type());
      const bool narrow = kernel::IsFloat(type) && pool_[node.offset].high <= INT32_MAX;
      std::vector<Value> parts = {Convert(Convert(Lower(node.offset), narrow ? Type::kS32 : Type::kS64), type)};
      if (IsComplex(node.inst->shape().type())) parts.push_back(k_.Constant(type, 0.0));
      return parts;
    }
    case Kind::kScalar: return EmitElement(*node.inst, EmitParts(node.operands));
    case Kind::kBits: return {ComputeBits(node)};
    case Kind::kMap: return EmitScalarComputation(k_, *node.inst->attrs<MapAttrs>().to_apply, EmitParts(node.operands));
    case Kind::kGuard:
      if (const bool* decision = Decision(id)) return EmitAll(node.operands[*decision ? 0 : 1]);
      return ComputeGuard(node);
    case Kind::kReduce: return ComputeReduce(node);
    case Kind::kPick: return {ComputePick(node)};
    case Kind::kResult: {
      const Shape& results = node.inst->shape();
      int first = 0;
      for (int i = 0; i < node.which; ++i) first += ComponentCount(results.element(i).type());
      const auto begin = EmitAll(node.operands[0]).begin() + first;
      return {begin, begin + ComponentCount(results.element(node.which).type())};
    }
    case Kind::kGiven: CHECK(false, "'", node.inst->name(), "' is needed where its emitter does not give it"); break;
  }
  __builtin_unreachable();
}

std::vector<Value> Emission::ComputeGuard(const ElementNode& node) {
  const size_t parts = ComponentCount(node.inst->shape().type());
  if (!Varies(node.conditions) && !node.inst->Is(Opcode::kConcatenate)) {
    // Reads both operands, with clamped indices where needed, so that accesses stay contiguous.
    const Value holds = All(node.conditions);
    std::vector<Value> both = EmitParts(node.operands);
    for (size_t i = 0; i < parts; ++i) both[i] = Select(holds, both[i], both[parts + i]);
    both.resize(parts);
    return both;
  }
  const Value holds = All(node.conditions);
  std::vector<Variable> results;
  for (size_t i = 0; i < parts; ++i) results.push_back(k_.MakeVariable(KernelTypeOf(node.inst->shape().type())));
  const auto side = [&](bool inside) {
    Scope scope(*this);
    AssumeSide(node, inside);
    const std::vector<Value>& values = EmitAll(node.operands[inside ? 0 : 1]);
    for (size_t i = 0; i < parts; ++i) results[i].Set(values[i]);
  };
  k_.If(holds, [&] { side(true); }, [&] { side(false); });
  std::vector<Value> values;
  for (const Variable& result : results) values.push_back(result.Get());
  return values;
}

Value Emission::ComputeBits(const ElementNode& node) {
  const Type type = KernelTypeOf(node.inst->shape().type());
  const std::vector<Value> values = EmitParts(node.operands);
  if (node.offset.id >= 0) return PartOfBits(values[0], Lower(node.offset), type);
  return values.size() > 1 ? JoinedBits(values, type) : EmitBits(values[0], type);
}

Value Emission::EmitWhere(std::span<const IndexCondition> conditions, NodeId id, Value otherwise) {
  if (conditions.empty()) return Emit(id);
  const Value holds = All(conditions);
  if (!Varies(conditions)) return Select(holds, Emit(id), otherwise);
  const Variable result = k_.MakeVariable(otherwise);
  k_.If(holds, [&] {
    Scope scope(*this);
    Assume(conditions);
    result.Set(Emit(id));
  });
  return result.Get();
}

std::vector<Value> Emission::Fold(const ElementNode& node, std::span<const Value> accumulators,
                                  std::span<const Value> terms) {
  const Instruction& inst = *node.inst;
  if (inst.Is(Opcode::kDot) || inst.Is(Opcode::kConvolution)) {
    if (accumulators.size() > 1)
      return AddComplexProduct(accumulators, terms.first(kComplexParts), terms.last(kComplexParts));
    const Type declared = KernelTypeOf(inst.shape().type()), type = accumulators[0].type();
    const Value a = Convert(Convert(terms[0], declared), type), b = Convert(Convert(terms[1], declared), type);
    if (type == Type::kPred) return {accumulators[0] | (a & b)};
    return {kernel::IsFloat(type) ? Fma(a, b, accumulators[0]) : accumulators[0] + a * b};
  }
  const Computation& reducer =
      inst.Is(Opcode::kReduce) ? *inst.attrs<ReduceAttrs>().to_apply : *inst.attrs<ReduceWindowAttrs>().to_apply;
  std::vector<Value> arguments(accumulators.begin(), accumulators.end());
  for (size_t i = 0; i < terms.size(); ++i) arguments.push_back(Convert(terms[i], accumulators[i].type()));
  return EmitScalarComputation(k_, reducer, arguments);
}

std::vector<Value> Emission::ComputeReduce(const ElementNode& node) {
  std::vector<Value> initial;
  std::vector<Type> types;
  if (node.operands.empty()) {
    const Type type = KernelTypeOf(node.inst->shape().type());
    types.assign(ComponentCount(node.inst->shape().type()), type);
    const Type accumulator = AccumulatorType(*node.inst, type);
    initial.assign(types.size(),
                   kernel::IsFloat(accumulator) ? k_.Constant(accumulator, 0.0) : k_.Constant(accumulator, int64_t{0}));
  }
  for (const Value value : EmitParts(node.operands)) {
    types.push_back(value.type());
    initial.push_back(Convert(value, AccumulatorType(*node.inst, value.type())));
  }
  const auto finish = [&](std::vector<Value> values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = Convert(values[i], types[i]);
    return values;
  };
  const auto terms_of = [&](const ElementNode::Step& step) { return EmitParts(step.operands); };

  if (node.loop.empty()) {
    std::vector<Value> accumulators = initial;
    for (const ElementNode::Step& step : node.steps) {
      if (step.conditions.empty()) {
        accumulators = Fold(node, accumulators, terms_of(step));
        continue;
      }
      const Value holds = All(step.conditions);
      if (!Varies(step.conditions)) {
        const std::vector<Value> folded = Fold(node, accumulators, terms_of(step));
        for (size_t i = 0; i < folded.size(); ++i) accumulators[i] = Select(holds, folded[i], accumulators[i]);
        continue;
      }
      std::vector<Variable> results;
      for (const Value accumulator : accumulators) results.push_back(k_.MakeVariable(accumulator));
      k_.If(holds, [&] {
        Scope scope(*this);
        Assume(step.conditions);
        const std::vector<Value> folded = Fold(node, accumulators, terms_of(step));
        for (size_t i = 0; i < folded.size(); ++i) results[i].Set(folded[i]);
      });
      for (size_t i = 0; i < results.size(); ++i) accumulators[i] = results[i].Get();
    }
    return finish(accumulators);
  }

  std::vector<Variable> results;
  for (const Value value : initial) results.push_back(k_.MakeVariable(value));
  const ElementNode::Step& step = node.steps[0];
  const auto fold = [&] {
    std::vector<Value> accumulators;
    for (const Variable& result : results) accumulators.push_back(result.Get());
    const std::vector<Value> folded = Fold(node, accumulators, terms_of(step));
    for (size_t i = 0; i < folded.size(); ++i) results[i].Set(folded[i]);
  };
  const std::function<void(size_t)> loop = [&](size_t depth) {
    if (depth == node.loop.size()) {
      if (step.conditions.empty()) return fold();
      k_.If(All(step.conditions), [&] {
        Scope scope(*this);
        Assume(step.conditions);
        fold();
      });
      return;
    }
    k_.Loop(int64_t{0}, node.loop_sizes[depth], 1, [&](Value index) {
      Scope scope(*this);
      Bind(node.loop[depth], index);
      Hoist(step.operands);
      loop(depth + 1);
    });
  };
  loop(0);
  std::vector<Value> values;
  for (const Variable& result : results) values.push_back(result.Get());
  return finish(values);
}

// Combines the initial value with the sources of all windows that select this element.
Value Emission::ComputePick(const ElementNode& node) {
  const auto& attrs = node.inst->attrs<SelectAndScatterAttrs>();
  Value result = Emit(node.operands[0]);
  const Value no = k_.Constant(Type::kPred, int64_t{0});
  for (size_t s = 0; s < node.steps.size(); s += 1 + node.window_size) {
    const ElementNode::Step& scatter = node.steps[s];
    Value best, have = no, mine = no;
    for (int64_t w = 0; w < node.window_size; ++w) {
      const ElementNode::Step& element = node.steps[s + 1 + w];
      const Value valid = All(element.conditions), own = All(element.own);
      const Value x = Emit(element.operands[0]);
      Value wins = valid;
      if (best) {
        const Value arguments[] = {best, x};
        wins = valid & (~have | ~EmitScalarComputation(k_, *attrs.select, arguments)[0]);
      }
      best = best ? Select(wins, x, best) : x;
      mine = Select(wins, own, mine);
      have = have | valid;
    }
    const Value arguments[] = {Emit(scatter.operands[0]), result};
    const Value scattered = EmitScalarComputation(k_, *attrs.scatter, arguments)[0];
    result = Select(All(scatter.conditions) & mine & have, scattered, result);
  }
  return result;
}

NodeId Emission::UniformChoice(std::span<const NodeId> nodes) const {
  std::set<NodeId> seen;
  std::vector<NodeId> stack(nodes.rbegin(), nodes.rend());
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    const ElementNode& node = graph_.node(id);
    if (const bool* decision = Decision(id)) {
      stack.push_back(node.operands[*decision ? 0 : 1]);
      continue;
    }
    const bool splits = node.kind == Kind::kGuard &&
                        (node.inst->Is(Opcode::kConcatenate) || node.inst->Is(Opcode::kDynamicUpdateSlice));
    if (splits && !Varies(node.conditions)) return id;
    stack.insert(stack.end(), node.operands.rbegin(), node.operands.rend());
  }
  return -1;
}

}  // namespace hlo::gpu
