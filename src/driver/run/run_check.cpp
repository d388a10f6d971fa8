#include "driver/run/run_check.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "driver/run/divergence.h"
#include "driver/run/further_arguments.h"
#include "driver/run/local_check.h"
#include "ir/instruction.h"
#include "ir/module.h"
#include "judge/bounds/slice.h"

namespace hlo {
namespace {

std::string Share(int64_t part, int64_t whole) {
  if (part == 0) return "0";
  return Format("%lld (%.3g%%)", static_cast<long long>(part),
                100.0 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole)));
}

}  // namespace

int64_t JudgingSteps(const Instruction& inst) {
  if (inst.Is(Opcode::kCopy)) return 0;
  if (inst.Is(Opcode::kFusion)) return shadow::StepsOf(*inst.attrs<FusionAttrs>().calls);
  return shadow::StepsOf(inst, inst.shape().IsArray() ? inst.shape().NumElements() : 0);
}

Culprit CulpritOf(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison) {
  Culprit culprit;
  const bool library = gpu::CallsLibrary(step.kind);
  culprit.kind = library ? Culprit::Kind::kLibrary : Culprit::Kind::kKernel;
  culprit.name = step.instruction->name();
  culprit.sort = step.kind == gpu::StepKind::kKernel && !step.plan.kernels.empty()
                     ? ToString(step.plan.kernels.front().kind)
                     : ToString(step.kind);
  culprit.made_by = step.instruction->module().MakerOf(*step.instruction);
  culprit.text = Str(library ? "library call '" : "kernel '", culprit.name, "' (", step.kind, ", ", step.how, ")",
                     culprit.made_by.empty() ? "" : ", made by ", culprit.made_by, LoopText(loops));
  culprit.text += SourceAtEnd(*step.instruction);
  culprit.comparison = std::move(comparison);
  return culprit;
}

namespace {

Status Run(LocalCheck& s) {
  TRY(LookAtSteps(s));
  TRY(DecideDoubtful(s));
  TRY(DecideOpen(s));
  s.summary.checked = static_cast<int64_t>(s.seen.size());
  s.summary.sampled = static_cast<int64_t>(s.sampled.size());
  s.summary.unchecked.assign(s.unchecked.begin(), s.unchecked.end());
  s.summary.beyond_work = s.local.meter != nullptr && s.meter.left < 0;
  if (s.culprit.kind != Culprit::Kind::kNone || s.summary.beyond_work) return {};
  return CheckAtEdges(s);
}

Status JudgeOnFurther(Experiment& experiment, LocalCheck& check, RunReport* report) {
  const FurtherArguments& further = *TRY(experiment.Further());
  report->not_exercised = further.not_exercised;
  for (const ReachingSet& set : further.sets) {
    experiment.progress().Stage("checking on arguments that reach more decisions");
    Experiment on_set = experiment.With([](RunOptions&) {});
    RunArguments arguments = *TRY(experiment.Arguments());
    arguments.values = set.arguments;
    on_set.Take(arguments);
    TRY(on_set.Placed());
    TRY(RunOnFurther(check, set.arguments, set.result));
    if (report->culprit.kind != Culprit::Kind::kNone) return {};
  }
  return {};
}

}  // namespace

Status JudgeKernels(Experiment& experiment, const FollowedRun& followed, RunReport* report) {
  gpu::Executable& executable = *TRY(experiment.Placed());
  gpu::Device& device = *TRY(experiment.Compiled())->device;
  const RunOptions options = TRY(experiment.Judging());
  std::unique_ptr<Divergence> divergence;
  if (options.first_divergence) divergence = TRY(Divergence::Of(experiment));
  const std::optional<Literal>& reference = TRY(experiment.Arguments())->reference;
  const Literal* const interpreted = reference ? &*reference : nullptr;
  Progress& progress = experiment.progress();
  LocalCheck check(executable, device, followed, interpreted, options, progress, divergence.get(), report);
  TRY(Run(check));
  if (report->culprit.kind == Culprit::Kind::kNone && followed.fault.empty())
    TRY(JudgeOnFurther(experiment, check, report));
  if (divergence == nullptr) return {};
  experiment.progress().Stage("looking into the kernel");
  report->divergence = std::make_shared<DivergenceReport>(divergence->Finish(device, options));
  return {};
}

std::string ToString(const LocalSummary& local) {
  const auto count = [&](ElementClass c) { return local.counts[static_cast<int>(c)]; };
  const bool wrong = count(ElementClass::kViolation) > 0 || !local.wrong.empty();
  if (local.steps == 0 && local.interpreted > 0)
    return Str("nothing to check: ",
               local.interpreted == 1 ? "the one step ran" : Str("all ", local.interpreted, " steps ran"),
               " in the interpreter, which is the reference");
  std::string out =
      Str(wrong                     ? "MISMATCH  "
          : local.unchecked.empty() ? "MATCH  "
                                    : "",
          local.checked, " of ", local.steps, " kernels and calls checked, ", local.elements_checked, " elements");
  if (local.sampled > 0) {
    out += Str(", sampled ", local.sampled_checked, " of ", local.sampled_elements, " in ",
               Counted(local.sampled, "kernel"));
  }
  const std::pair<ElementClass, const char*> kClasses[] = {{ElementClass::kViolation, "BEYOND BOUND"},
                                                           {ElementClass::kUndetermined, "undetermined"},
                                                           {ElementClass::kVacuous, "vacuous"},
                                                           {ElementClass::kSuspicious, "suspicious"}};
  for (const auto& [element_class, word] : kClasses) {
    if (count(element_class) > 0) out += Str(", ", Share(count(element_class), local.elements_checked), " ", word);
  }
  if (local.decided > 0) out += Str("; ", Counted(local.decided, "kernel"), " decided on made-up arguments");
  if (!local.open.empty())
    out += Str("; ", Counted(std::ssize(local.open), "kernel"), " open on made-up arguments, too");
  if (local.disproved > 0)
    out +=
        Str("; ", local.disproved, " beyond a bound although they have the interpreter's bits, so the bound is wrong");
  if (local.worst_ratio > 0)
    out += Format("; worst err/bound %.2f", local.worst_ratio) + Str(" ('", local.worst_step, "')");
  return out;
}

}  // namespace hlo
