#include <algorithm>

#include "gpu/plan/planner.h"
#include "gpu/runtime/compilation.h"
#include "ir/mutation.h"

namespace hlo::gpu {
namespace {

std::string_view FaultKindOf(const CompiledStep& step) {
  if (step.kind == StepKind::kKernel) return "kernel";
  return CallsLibrary(step.kind) ? "library" : "";
}

Result<bool> DiffersFromSound(const CompiledStep& step) {
  const std::vector<EmittedKernel> sound = TRY(EmitFusion(step.inst, step.planned.plan));
  return !std::ranges::equal(step.kernels, sound, [](const EmittedKernel& a, const EmittedKernel& b) {
    return kernel::Hash(*a.kernel) == kernel::Hash(*b.kernel);
  });
}

}  // namespace

std::string FaultOf(const Compilation& compilation, const CompiledStep& step) {
  return compilation.fault.MeantFor(FaultKindOf(step), step.inst.name()) ? compilation.fault.what : "";
}

Result<std::vector<EmittedKernel>> EmitMutated(const Compilation& compilation, const Mutation& mutation,
                                               CompiledStep& step) {
  Instruction& own = const_cast<Instruction&>(step.inst);  // It is restored below.
  std::vector<Instruction*> candidates = {&own};
  for (size_t i = 0; i < candidates.size(); ++i) {
    for (Computation* called : CalledComputations(*candidates[i])) {
      const std::vector<Instruction*> inside = called->Instructions();
      candidates.insert(candidates.end(), inside.begin(), inside.end());
    }
  }
  for (Instruction* inst : candidates) {
    const Restored restored(*inst);
    if (!mutation.apply(*inst)) continue;
    step.plan = TRY(PlanKernels(own, *compilation.options().target));
    return EmitFusion(own, step.plan);
  }
  return EmitFusion(own, step.plan);
}

Status CountPlanted(Compilation& compilation) {
  const Fault& fault = compilation.fault;
  CompileReport& report = compilation.report();
  if (fault.kind.empty()) return {};
  std::vector<std::string_view> names;
  for (const CompiledStep& step : compilation.steps) {
    if (fault.kind == "runtime" || fault.kind == FaultKindOf(step)) names.push_back(step.inst.name());
    if (FaultOf(compilation, step).empty()) continue;
    const bool is_mutated = step.kind == StepKind::kKernel && FindMutation(fault.what) != nullptr;
    report.planted += is_mutated ? TRY(DiffersFromSound(step)) : step.kind != StepKind::kKernel || step.is_planted;
  }
  if (fault.kind == "runtime") {
    for (const auto& computation : compilation.program.module->Computations()) {
      for (const Instruction* inst : computation->Instructions()) {
        if (inst->Is(Opcode::kWhile) || inst->Is(Opcode::kConditional)) names.push_back(inst->name());
      }
    }
  }
  if (report.planted > 0) return {};
  if (std::ranges::find(report.host_calls, fault.name) != report.host_calls.end())
    FAIL(UsageError("F004", Str("'", fault.name, "' runs in the interpreter, where no fault can be planted")));
  FAIL(NothingPlanted(fault, names));
}

}  // namespace hlo::gpu
