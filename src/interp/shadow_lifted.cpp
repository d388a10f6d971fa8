// A computation of scalars applied at every index of arrays: for map and for reducers.
#include "interp/shadow_rules.h"

namespace hlo::shadow {

Lifted::Lifted(const Computation& computation, const std::vector<int64_t>& dims)
    : module_(std::make_unique<Module>("lifted")) {
  Computation& entry = module_->AddComputation("entry");
  module_->SetEntry(entry);
  const auto lift = [&](const Shape& shape) {
    if (!shape.IsTuple()) return Shape(shape.type(), dims);
    std::vector<Shape> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Shape(element.type(), dims));
    return Shape::Tuple(std::move(elements));
  };
  std::unordered_map<const Instruction*, Instruction*> map;
  for (const Instruction* inst : computation.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      map[inst] = &entry.AddParameter(inst->parameter_number(), lift(inst->shape()));
      continue;
    }
    if (inst->Is(Opcode::kConstant)) {
      Instruction& constant = entry.AddConstant(inst->literal());
      map[inst] = &entry.Add(Opcode::kBroadcast, lift(inst->shape()), {&constant}, DimensionsAttrs{});
      lifted_from_[map[inst]] = inst;
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(map[operand]);
    map[inst] = &entry.AddClone(*inst, lift(inst->shape()), operands);
    lifted_from_[map[inst]] = inst;
  }
  entry.SetRoot(*map[&computation.root()]);
}

Result<ShadowValue> Lifted::operator()(Context& context, Operands args) const {
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
