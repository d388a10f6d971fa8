#include "driver/run/fallback.h"

#include <algorithm>

#include "ir/module.h"
#include "judge/bounds/rules.h"

namespace hlo {
namespace {

// Checks that the interpreter can run a step. Memory of called computations counts only for fusions: loops, branches
// and calls have steps of their own.
Status CheckStep(const Instruction& inst, const InterpretOptions& options) {
  // Evaluate returns the error that names the missing op.
  if (!CanInterpret(inst)) TRY(Evaluate(inst, std::vector<Literal>(inst.operand_count())));
  for (const Computation* called : CalledComputations(inst)) {
    if (inst.Is(Opcode::kFusion)) TRY(CheckMemory(*called, options));
    for (const Instruction* inner : called->Instructions()) TRY(CheckStep(*inner, options));
  }
  return {};
}

// Some reductions of complex numbers have no error bounds, so their kernels could not be judged.
bool HasNoBounds(const Instruction& inst) {
  if (shadow::IsOfComplex(inst) && !shadow::HasComplexRule(inst)) return true;
  if (!inst.Is(Opcode::kFusion)) return false;
  return std::ranges::any_of(inst.attrs<FusionAttrs>().calls->Instructions(),
                             [](const Instruction* inner) { return HasNoBounds(*inner); });
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
