#include "judge/bounds/plain_body.h"

#include <algorithm>

namespace hlo::shadow {
namespace {

constexpr int64_t kMostInstructions = 4096;

bool IsCall(const Instruction& inst) { return inst.Is(Opcode::kCall) || inst.Is(Opcode::kFusion); }

bool IsSkipped(const Instruction& inst) {
  if (inst.Is(Opcode::kCopy)) return inst.shape().IsArray() && inst.shape().type() == inst.operand(0).shape().type();
  if (inst.Is(Opcode::kGetTupleElement)) return inst.operand(0).Is(Opcode::kTuple);
  return inst.Is(Opcode::kOptimizationBarrier) || inst.Is(Opcode::kDomain);
}

int64_t SizeOf(const Computation& computation) {
  int64_t size = 0;
  std::vector<const Computation*> pending = {&computation};
  while (!pending.empty() && size <= kMostInstructions) {
    const Computation& next = *pending.back();
    pending.pop_back();
    for (const Instruction* inst : next.instructions()) {
      ++size;
      if (IsCall(*inst)) pending.push_back(CalledComputations(*inst).front());
    }
  }
  return size;
}

}  // namespace

std::unique_ptr<PlainBody> PlainBody::Of(const Computation& body) {
  const auto is_hidden = [](const Instruction* inst) { return IsCall(*inst) || IsSkipped(*inst); };
  if (std::ranges::none_of(body.Instructions(), is_hidden) || SizeOf(body) > kMostInstructions) return nullptr;
  return std::unique_ptr<PlainBody>(new PlainBody(body));
}

PlainBody::PlainBody(const Computation& body) {
  Computation& plain = module_.AddComputation(body.name());
  module_.SetEntry(plain);
  std::vector<Instruction*> args;
  for (const Instruction* parameter : body.parameters()) {
    args.push_back(&plain.AddParameter(parameter->parameter_number(), parameter->shape()));
    originals_[args.back()] = parameter;
  }
  plain.SetRoot(ValueOf(body, args));
}

const Instruction& PlainBody::Original(const Instruction& inst) const {
  const auto original = originals_.find(&inst);
  return original == originals_.end() ? inst : *original->second;
}

Instruction& PlainBody::ValueOf(const Computation& computation, const std::vector<Instruction*>& args) {
  Computation& plain = module_.entry();
  std::unordered_map<const Instruction*, Instruction*> values;
  for (const Instruction* inst : computation.PostOrder()) {
    Instruction*& value = values[inst];
    if (inst->Is(Opcode::kParameter)) {
      value = args[inst->parameter_number()];
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(values.at(operand));
    if (IsCall(*inst)) {
      value = &ValueOf(*CalledComputations(*inst).front(), operands);
    } else if (inst->Is(Opcode::kGetTupleElement) && operands[0]->Is(Opcode::kTuple)) {
      value = &operands[0]->operand(inst->tuple_index());
    } else if (IsSkipped(*inst)) {
      value = operands[0];
    } else {
      value = &plain.AddClone(*inst, operands);
      originals_[value] = inst;
    }
  }
  return *values.at(&computation.root());
}

}  // namespace hlo::shadow
