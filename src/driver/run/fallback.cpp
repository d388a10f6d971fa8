#include "driver/run/fallback.h"

#include "ir/module.h"

namespace hlo {
namespace {

// Bodies of loops, branches and calls are steps of their own; what a step calls runs with it.
Status CheckStep(const Instruction& inst, const InterpretOptions& options) {
  if (!CanInterpret(inst)) TRY(Evaluate(inst, std::vector<Literal>(inst.operand_count())));  // Says what is missing.
  for (const Computation* called : CalledComputations(inst)) {
    if (inst.Is(Opcode::kFusion)) TRY(CheckMemory(*called, options));
    for (const Instruction* inner : called->Instructions()) TRY(CheckStep(*inner, options));
  }
  return {};
}

// Kernels of complex numbers, and of stochastic-convert, have no error bounds yet: a verdict on them would be none.
bool HasNoBounds(const Instruction& inst) {
  bool found = inst.Is(Opcode::kStochasticConvert);
  ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& leaf) { found |= IsComplex(leaf.type()); });
  for (const Instruction* operand : inst.operands())
    ForEachLeaf(operand->shape(), [&](const ShapeIndex&, const Shape& leaf) { found |= IsComplex(leaf.type()); });
  if (!inst.Is(Opcode::kFusion)) return found;
  for (const Instruction* inner : inst.attrs<FusionAttrs>().calls->instructions()) found = found || HasNoBounds(*inner);
  return found;
}

class InterpreterCaller : public gpu::HostCaller {
 public:
  explicit InterpreterCaller(const InterpretOptions& options) : interpreter_(options) {}

  void Begin() override { interpreter_.Restart(); }
  Result<Literal> Call(const Instruction& inst, std::span<const Literal> operands) override {
    return interpreter_.Run(inst, operands);
  }

 private:
  StepInterpreter interpreter_;
};

}  // namespace

std::shared_ptr<const gpu::HostCalls> InterpreterCalls(const InterpretOptions& options) {
  gpu::HostCalls calls;
  calls.open = [options] { return std::make_unique<InterpreterCaller>(options); };
  calls.takes = [options](const Instruction& inst) { return CheckStep(inst, options); };
  calls.prefers = HasNoBounds;
  return std::make_shared<const gpu::HostCalls>(std::move(calls));
}

}  // namespace hlo
