// A computation of scalars applied at every index of arrays: for map and for reducers.
#include <utility>

#include "interp/shadow/rules.h"

namespace hlo::shadow {

namespace {

// Whose callee takes arrays as it does.
bool IsCall(const Instruction& inst) { return inst.Is(Opcode::kCall) || inst.Is(Opcode::kFusion); }

// What `computation` reaches by calls, callees first, itself last.
std::vector<const Computation*> CalledFirst(const Computation& computation) {
  std::vector<const Computation*> order, stack = {&computation};
  std::unordered_map<const Computation*, bool> done;  // False: its callees are on the way.
  while (!stack.empty()) {
    const Computation& top = *stack.back();
    const auto [state, is_new] = done.try_emplace(&top, false);
    if (!is_new) {
      stack.pop_back();
      if (!std::exchange(state->second, true)) order.push_back(&top);
      continue;
    }
    for (const Instruction* inst : top.instructions()) {
      if (!IsCall(*inst)) continue;
      const Computation* callee = CalledComputations(*inst).front();
      if (!done.contains(callee)) stack.push_back(callee);
    }
  }
  return order;
}

}  // namespace

Lifted::Lifted(const Computation& computation, const std::vector<int64_t>& dims)
    : module_(std::make_unique<Module>("lifted")) {
  const auto lift = [&](const Shape& shape) {
    if (!shape.IsTuple()) return Shape(shape.type(), dims);
    std::vector<Shape> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Shape(element.type(), dims));
    return Shape::Tuple(std::move(elements));
  };
  std::unordered_map<const Computation*, Computation*> lifted;
  for (const Computation* each : CalledFirst(computation)) {
    Computation& to = module_->AddComputation(each->name());
    lifted[each] = &to;
    std::unordered_map<const Instruction*, Instruction*> map;
    for (const Instruction* inst : each->PostOrder()) {
      if (inst->Is(Opcode::kParameter)) {
        map[inst] = &to.AddParameter(inst->parameter_number(), lift(inst->shape()));
        continue;
      }
      if (inst->Is(Opcode::kConstant)) {
        Instruction& constant = to.AddConstant(inst->literal());
        map[inst] = &to.Add(Opcode::kBroadcast, lift(inst->shape()), {&constant}, DimensionsAttrs{});
        lifted_from_[map[inst]] = inst;
        continue;
      }
      std::vector<Instruction*> operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(map[operand]);
      map[inst] = &to.AddClone(*inst, lift(inst->shape()), operands);
      if (inst->Is(kControl) && !IsCall(*inst)) stays_scalar_ = inst;
      if (IsCall(*inst))
        ForEachCalled(map[inst]->attributes(), [&](Computation*& callee) { callee = lifted.at(callee); });
      lifted_from_[map[inst]] = inst;
    }
    to.SetRoot(*map[&each->root()]);
  }
  module_->SetEntry(*lifted.at(&computation));
}

Result<ShadowValue> Lifted::operator()(Context& context, Operands args) const {
  if (stays_scalar_ != nullptr) {
    FAIL(UnsupportedAt(
        *stays_scalar_, "U041",
        Str("no error bounds for '", stays_scalar_->opcode(), "' in a computation that is applied to each element")));
  }
  // What is given for an instruction of the body is so at every index.
  const auto given = [&](const Instruction& inst) -> std::optional<ShadowValue> {
    const auto from = lifted_from_.find(&inst);
    if (from == lifted_from_.end() || !inst.shape().IsArray()) return std::nullopt;
    const auto scalar = context.options.given(*from->second);
    return scalar ? std::optional(Splat(*scalar, inst.shape())) : std::nullopt;
  };
  ShadowOptions options = context.options;
  if (options.given) options.given = given;
  // The plan knows instructions by number, and these have others; without its promises more is permitted.
  if (!context.ftz()) options.plan = nullptr;
  Context lifted = {.options = options, .top = context.top, .heuristic = context.heuristic, .depth = context.depth};
  auto value = Run(lifted, module_->entry(), args);
  context.heuristic = lifted.heuristic;
  return value;
}

}  // namespace hlo::shadow
