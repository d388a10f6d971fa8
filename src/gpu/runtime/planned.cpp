#include "gpu/runtime/planned.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/crash.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/libraries/open.h"
#include "gpu/plan/fill.h"
#include "gpu/plan/planner.h"
#include "gpu/runtime/located.h"
#include "gpu/runtime/prepare.h"
#include "ir/fusion.h"

namespace hlo::gpu {
namespace {

using Clock = std::chrono::steady_clock;
double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Returns kKernel if the plan determines the kind.
StepKind KindWithoutPlan(const Instruction& inst, const HostCalls* host) {
  if (host != nullptr && host->prefers && host->prefers(inst)) return StepKind::kHostCall;
  if (MovesBytes(inst)) return StepKind::kCopy;
  if (host != nullptr && HasDynamicSizes(inst)) return StepKind::kHostCall;
  return StepKind::kKernel;
}

void ListSteps(const Computation& computation, const HostCalls* host, std::vector<PlannedStep>* steps) {
  for (const Instruction* inst : RunOrder(computation)) {
    if (inst->Is(kControl)) {
      for (const Computation* called : CalledComputations(*inst)) ListSteps(*called, host, steps);
    } else if (IsStep(*inst)) {
      steps->push_back({.inst = inst, .kind = KindWithoutPlan(*inst, host)});
    }
  }
}

StepKind KindOf(const FusionPlan& plan) {
  if (plan.kernels.empty()) return StepKind::kKernel;
  switch (plan.kernels.front().kind) {
    case KernelKind::kFill: return StepKind::kFill;
    case KernelKind::kGemm: return StepKind::kGemm;
    case KernelKind::kConvolution: return StepKind::kConvolution;
    case KernelKind::kLibraryAttention: return StepKind::kAttention;
    default: return StepKind::kKernel;
  }
}

Status CheckKind(const PlannedStep& step) {
  const Instruction& inst = *step.inst;
  const bool is_fill = step.kind == StepKind::kFill;
  if (!is_fill && !CallsLibrary(step.kind)) return {};
  const bool fits = is_fill                             ? FilledWith(inst) != nullptr
                    : step.kind == StepKind::kAttention ? HasAttention(inst)
                                                        : LibraryOf(inst) == ToString(step.kind);
  if (!fits) FAIL(PlanError(inst, Str("it is not a ", ToString(step.kind))));
  if (step.plan.kernels.size() > 1)
    FAIL(PlanError(inst, Str("a ", ToString(step.kind), " must be the only kernel of its plan")));
  return {};
}

// On a host with libraries, a kernel for a product replaces a library call, and a scatter for GPUs would scan all
// indices in each block, so both are planned for the host.
Result<FusionPlan> InHostForm(const Instruction& inst, FusionPlan plan, const Device& device,
                              const CompileOptions& options) {
  const bool has_host_form = std::ranges::any_of(plan.kernels, [](const KernelPlan& kernel) {
    return kernel.kind == KernelKind::kContraction || kernel.kind == KernelKind::kScatter;
  });
  if (!has_host_form || !device.IsHost() || !options.libraries) return plan;
  const auto written = TRY(ReadPlan(inst));
  if (written && IsOwnKernel(written->kernels.front().kind)) return plan;
  return PlanKernels(inst, device.Describe());
}

// Calls `plan_of` for steps of kind kKernel for which `is_wanted`, in parallel.
template <class Wanted, class PlanStep>
void PlanEach(std::span<PlannedStep> steps, const Wanted& is_wanted, const PlanStep& plan_of) {
  ParallelFor(std::ssize(steps), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      PlannedStep& step = steps[i];
      if (step.kind != StepKind::kKernel || !is_wanted(step)) continue;
      const AtHand at_hand("kernel", step.inst->name());
      Result<FusionPlan> plan = plan_of(step);
      if (plan) step.plan = std::move(*plan);
      else step.why_not = std::move(plan).error();
    }
  });
}

Status PlanSteps(std::span<PlannedStep> steps, const Device& device, const CompileOptions& options) {
  PlanEach(
      steps, [](const PlannedStep&) { return true; },
      [&](const PlannedStep& step) -> Result<FusionPlan> {
        return InHostForm(*step.inst, TRY(PlanOf(*step.inst, *options.target)), device, options);
      });
  for (PlannedStep& step : steps) {
    if (step.kind == StepKind::kKernel) step.kind = KindOf(step.plan);
  }
  for (const PlannedStep& step : steps) TRY(CheckKind(step));
  return {};
}

// Steps that all libraries refuse become kernels.
Status OpenLibraries(std::span<PlannedStep> steps, Device& device, const CompileOptions& options,
                     CompileReport* report) {
  std::vector<PlannedStep*> calls;
  std::vector<LibraryRequest> requests;
  for (PlannedStep& step : steps) {
    const bool may_be_call = options.libraries && !device.IsHost() && IsOwnAttention(step.plan);
    if (!CallsLibrary(step.kind) && !may_be_call) continue;
    calls.push_back(&step);
    requests.push_back({step.inst, &step.plan.kernels.front()});
    if (!options.libraries) step.kind = StepKind::kKernel;
  }
  if (!options.libraries) return {};
  auto choices = OpenLibraryCalls(requests, device, {.search = options.library_path, .allow_tf32 = options.allow_tf32});
  NamesByReason kernels;
  for (size_t i = 0; i < calls.size(); ++i) {
    PlannedStep& step = *calls[i];
    const bool is_own = !CallsLibrary(step.kind);
    LibraryChoice choice = TRY(LocatedAt(*step.inst, std::move(choices[i])));
    for (const std::string& note : choice.notes) report->notes.push_back(Str("'", step.inst->name(), "': ", note));
    if (step.plan.kernels.front().library.empty()) step.plan.refused.clear();
    for (const Refusal& refusal : choice.refusals)
      step.plan.refused.push_back(refusal.library.empty() ? refusal.why : Str(refusal.library, ": ", refusal.why));
    if (choice.call == nullptr) {
      if (!is_own) kernels[choice.refusals.back().why].push_back(step.inst->name());
      step.kind = StepKind::kKernel;
      continue;
    }
    step.plan.kernels = {std::move(choice.plan)};
    step.kind = KindOf(step.plan);
    step.call = std::move(choice.call);
    ++report->library_calls;
  }
  AddNotes(kernels, " runs as a kernel of hlokit: ", " run as kernels of hlokit: ", &report->notes);
  return {};
}

// Plans kernels for the library calls that became kernels.
void PlanRefusedCalls(std::span<PlannedStep> steps, const Device& device, const CompileOptions& options) {
  PlanEach(
      steps, [](const PlannedStep& step) { return !step.why_not && KindOf(step.plan) != StepKind::kKernel; },
      [&](PlannedStep& step) -> Result<FusionPlan> {
        std::vector<std::string> refused = std::move(step.plan.refused);
        FusionPlan plan = TRY(InHostForm(*step.inst, TRY(KernelPlanOf(*step.inst, *options.target)), device, options));
        plan.refused = std::move(refused);
        return plan;
      });
}

}  // namespace

void AddNotes(const NamesByReason& names, std::string_view one, std::string_view several,
              std::vector<std::string>* notes) {
  for (const auto& [reason, steps] : names) {
    const std::string more = steps.size() > 1 ? Str(" and ", steps.size() - 1, " more") : "";
    notes->push_back(Str("'", steps.front(), "'", more, steps.size() > 1 ? several : one, reason));
  }
}

std::vector<std::string> ResolveRegions(Module& module, const std::function<Device*()>& device,
                                        const CompileOptions& options, bool may_measure) {
  std::vector<std::string> notes;
  const auto library_of = [&](const Instruction& fusion) -> std::optional<FusionPlan> {
    Device* const runs_on = options.libraries ? device() : nullptr;
    if (runs_on == nullptr || runs_on->IsHost()) return std::nullopt;
    return LibraryPlanOfRegion(fusion, *runs_on,
                               {.search = options.library_path, .allow_tf32 = options.allow_tf32, .notes = &notes},
                               may_measure);
  };
  std::ranges::move(TakeUnplannedRegionsApart(module, *options.target, library_of), std::back_inserter(notes));
  return notes;
}

Result<std::shared_ptr<const PlannedModule>> Plan(const Module& optimized, Device& device,
                                                  const CompileOptions& options) {
  const Clock::time_point start = Clock::now();
  std::shared_ptr<PlannedModule> planned(new PlannedModule());
  CompileReport& report = planned->report_;
  planned->module_ = Prepare(optimized, *options.target);
  ListSteps(planned->module_->entry(), options.host.get(), &planned->steps_);
  const Clock::time_point listed = Clock::now();
  TRY(PlanSteps(planned->steps_, device, options));
  report.emit_ms = MillisecondsSince(listed);
  const Clock::time_point libraries = Clock::now();
  TRY(OpenLibraries(planned->steps_, device, options, &report));
  if (options.libraries) report.libraries_ms = MillisecondsSince(libraries);
  PlanRefusedCalls(planned->steps_, device, options);
  report.total_ms = MillisecondsSince(start);
  return planned;
}

}  // namespace hlo::gpu
