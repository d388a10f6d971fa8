#include "base/crash.h"
#include "base/parallel.h"
#include "gpu/runtime/compilation.h"
#include "gpu/runtime/prepare.h"
#include "ir/mutation.h"

namespace hlo::gpu {
namespace {

// Drops the name (" ('multiply.3')"), so that instructions share a note.
std::string WithoutName(const std::string& message) { return message.substr(0, message.find(" ('")); }

Result<std::vector<EmittedKernel>> Emit(const Compilation& compilation, CompiledStep& step) {
  const std::string fault = FaultOf(compilation, step);
  if (const Mutation* mutation = FindMutation(fault)) return EmitMutated(compilation, *mutation, step);
  std::vector<EmittedKernel> kernels = TRY(EmitFusion(step.inst, step.plan));
  if (const kernel::Mutation* of_kernel = kernel::FindMutation(fault))
    step.is_planted = PlantInKernels(*of_kernel, kernels);
  return kernels;
}

Status CallHost(Compilation& compilation, const std::vector<std::optional<Error>>& errors) {
  const CompileOptions& options = compilation.options();
  CompileReport& report = compilation.report();
  NamesByReason called;
  for (size_t i = 0; i < compilation.steps.size(); ++i) {
    CompiledStep& step = compilation.steps[i];
    if (errors[i]) {
      if (options.host == nullptr || errors[i]->exit != ExitCode::kUnsupported) FAIL(*errors[i]);
      step.kind = StepKind::kHostCall;
    }
    if (step.kind != StepKind::kHostCall) continue;
    if (options.host->takes) TRY(options.host->takes(step.inst));
    report.host_calls.emplace_back(step.inst.name());
    called[errors[i]                    ? WithoutName(errors[i]->message())
           : HasDynamicSizes(step.inst) ? "it has sizes that are known only at run time"
                                        : "there are no error bounds to judge its kernel by"]
        .push_back(step.inst.name());
  }
  AddNotes(called, " runs in the interpreter: ", " run in the interpreter: ", &report.notes);
  return {};
}

}  // namespace

Status EmitKernels(Compilation& compilation) {
  std::vector<CompiledStep>& steps = compilation.steps;
  std::vector<std::optional<Error>> errors;
  for (const CompiledStep& step : steps) errors.push_back(step.planned.why_not);
  // With a planted fault one thread emits, because all threads see a mutated instruction.
  const int64_t grain = compilation.fault.kind.empty() ? 1 : std::ssize(steps);
  ParallelFor(std::ssize(steps), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (steps[i].kind != StepKind::kKernel || errors[i]) continue;
      const AtHand at_hand("kernel", steps[i].inst.name());
      auto kernels = Emit(compilation, steps[i]);
      if (kernels) steps[i].kernels = std::move(*kernels);
      else errors[i] = std::move(kernels).error();
    }
  });
  TRY(CallHost(compilation, errors));
  NamesByReason slow;
  for (const CompiledStep& step : steps) {
    if (step.kind == StepKind::kKernel && !step.plan.slow.empty()) slow[step.plan.slow].push_back(step.inst.name());
  }
  AddNotes(slow, " is slow: ", " are slow: ", &compilation.report().notes);
  return {};
}

}  // namespace hlo::gpu
