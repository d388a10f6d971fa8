#include "driver/run_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "driver/dataflow_check.h"
#include "driver/step_alone.h"
#include "interp/arguments.h"
#include "interp/shadow_slice.h"
#include "ir/instruction.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr int64_t kSeededIterations = 8;

// The iterations of each loop that are looked at, by the loop's id.
class ChosenIterations {
 public:
  // Sees every iteration of a first execution.
  void Count(std::span<const gpu::LoopStep> loops) {
    for (const gpu::LoopStep& step : loops) {
      int64_t& last = last_[step.loop->id()];
      last = std::max(last, step.iteration);
    }
  }

  void Choose(uint64_t seed) {
    for (const auto& [loop, last] : last_) {
      std::set<int64_t>& chosen = chosen_[loop];
      chosen = {0, last};
      uint64_t state = seed ^ (static_cast<uint64_t>(loop) << 32);
      for (int64_t i = 0; i < kSeededIterations; ++i) {
        state = state * 6364136223846793005 + 1442695040888963407;
        chosen.insert(static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(last + 1)));
      }
    }
  }

  bool Has(std::span<const gpu::LoopStep> loops) const {
    return std::all_of(loops.begin(), loops.end(),
                       [&](const gpu::LoopStep& step) { return chosen_.at(step.loop->id()).contains(step.iteration); });
  }

 private:
  std::map<int, int64_t> last_;
  std::map<int, std::set<int64_t>> chosen_;
};

// An instruction that no pass put in a fusion, as a computation of its own.
std::unique_ptr<Module> Alone(const Instruction& inst) {
  auto module = std::make_unique<Module>(std::string(inst.name()));
  Computation& computation = module->AddComputation(inst.name());
  std::vector<Instruction*> parameters;
  for (const Instruction* operand : inst.operands()) {
    const auto number = static_cast<int64_t>(parameters.size());
    parameters.push_back(&computation.AddParameter(number, operand->shape(), Str("param_", number)));
  }
  computation.SetRoot(computation.AddClone(inst, parameters));
  return module;
}

// The kernel alone, on integers from 1 to 8 of either sign. Nothing where that cannot be.
std::optional<Comparison> CompareOnIntegers(const Instruction& fusion, gpu::Device& device, const RunOptions& options,
                                            LocalOptions local) {
  const std::unique_ptr<Module> module = ExtractStep(fusion);
  const std::unique_ptr<gpu::Executable> alone = CompileAlone(*module, device, options);
  if (alone == nullptr) return std::nullopt;
  const auto arguments = MakeArguments(*module, {.seed = local.seed, .profile = InputProfile::kExact});
  if (!arguments) return std::nullopt;
  const auto output = alone->Run(*arguments);
  if (!output) return std::nullopt;
  for (const gpu::StepInfo& step : alone->steps()) {
    if (step.instruction->name() != fusion.name()) continue;
    local.plan = &step.precision;
    auto comparison = CompareLocal(*step.instruction->attrs<FusionAttrs>().calls, *arguments, *output, local);
    if (comparison && comparison->verdict != Verdict::kUnsupported) return std::move(*comparison);
  }
  return std::nullopt;
}

// What judging a step takes, when all of its outputs are.
int64_t StepsOf(const Instruction& inst) {
  if (inst.Is(Opcode::kCopy)) return 0;
  if (inst.Is(Opcode::kFusion)) return shadow::StepsOf(*inst.attrs<FusionAttrs>().calls);
  return shadow::StepsOf(inst, inst.shape().IsArray() ? inst.shape().NumElements() : 0);
}

// The limit to judging one step once, from how often each one ran.
int64_t LimitOfEach(std::span<const gpu::StepInfo> steps, std::span<const int64_t> runs, int64_t limit) {
  if (limit == 0) return 0;
  std::vector<shadow::Work> work;
  for (size_t i = 0; i < steps.size(); ++i)
    work.push_back({StepsOf(*steps[i].instruction), std::min(runs[i], kSeededIterations + 2)});
  return shadow::LimitOfEach(std::move(work), limit);
}

}  // namespace

Culprit CulpritOf(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison) {
  Culprit culprit;
  const bool library = step.kind == gpu::StepKind::kGemm || step.kind == gpu::StepKind::kConvolution;
  culprit.kind = library ? Culprit::Kind::kLibrary : Culprit::Kind::kKernel;
  culprit.name = step.instruction->name();
  culprit.text = Str(library ? "library call '" : "kernel '", culprit.name, "' (", step.kind, ", ", step.how, ")",
                     LoopText(loops));
  if (!step.instruction->metadata().op_name.empty())
    culprit.text += Str("  op_name=\"", step.instruction->metadata().op_name, "\"");
  culprit.comparison = std::move(comparison);
  return culprit;
}

Status CheckRun(gpu::Executable& executable, gpu::Device& device, std::span<const Literal> arguments,
                const RunOptions& options, Progress& progress, RunReport* report) {
  LocalSummary* summary = &report->local.emplace();
  Culprit* culprit = &report->culprit;
  std::map<int, size_t> step_by_id;
  for (size_t i = 0; i < executable.steps().size(); ++i) step_by_id[executable.steps()[i].instruction->id()] = i;
  summary->interpreted = std::ranges::count(executable.steps(), gpu::StepKind::kHostCall, &gpu::StepInfo::kind);
  summary->steps = std::ssize(executable.steps()) - summary->interpreted;

  ChosenIterations iterations;
  std::vector<int64_t> runs(executable.steps().size());
  DataflowCheck dataflow(executable.module(), arguments);
  const gpu::Observer follow = {.observe = [&](const Instruction& inst, std::span<const gpu::LoopStep> loops,
                                               std::span<const Literal> inputs, const Literal& output) -> Status {
    iterations.Count(loops);
    ++runs[step_by_id.at(inst.id())];
    dataflow.Step(inst, loops, inputs, output);
    return {};
  }};
  TRY(executable.Execute({.observer = &follow}));
  dataflow.End(TRY(executable.Output()));
  report->dataflow = {.steps = dataflow.steps(), .operands = dataflow.operands(), .sound = dataflow.fault().empty()};
  if (!dataflow.fault().empty())
    *culprit = {
        .kind = Culprit::Kind::kRuntime, .name = dataflow.guilty(), .text = Str("run time: ", dataflow.fault())};
  iterations.Choose(static_cast<uint64_t>(options.seed));

  const int64_t work_limit = LimitOfEach(executable.steps(), runs, options.work_limit);
  std::set<size_t> seen, doubtful, sampled;
  std::set<std::string> unchecked;
  const auto local_options = [&] {
    LocalOptions local;
    static_cast<CompareOptions&>(local) = options.compare;
    local.work_limit = work_limit;
    local.seed = static_cast<uint64_t>(options.seed);
    return local;
  };
  gpu::Observer look;
  look.wants = [&](const Instruction& inst, std::span<const gpu::LoopStep> loops) {
    return executable.steps()[step_by_id.at(inst.id())].kind != gpu::StepKind::kHostCall && iterations.Has(loops);
  };
  look.observe = [&](const Instruction& inst, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
                     const Literal& output) -> Status {
    const gpu::StepInfo& step = executable.steps()[step_by_id.at(inst.id())];
    progress.Step(static_cast<int64_t>(seen.size()) + 1, summary->steps, "kernel");
    Comparison comparison;
    LocalOptions local = local_options();
    if (inst.Is(Opcode::kCopy)) {
      comparison = CompareBitwise(inputs[0], output, options.compare);
    } else if (inst.Is(Opcode::kFusion)) {
      local.plan = &step.precision;
      comparison = TRY(CompareLocal(*inst.attrs<FusionAttrs>().calls, inputs, output, local));
    } else {
      const auto alone = Alone(inst);  // The plan goes by ids, and these are others.
      comparison = TRY(CompareLocal(*alone->Computations().front(), inputs, output, local));
    }
    if (comparison.verdict == Verdict::kUnsupported) {
      unchecked.insert(Str("'", inst.name(), "': ", comparison.reason));
      return {};
    }
    seen.insert(step_by_id.at(inst.id()));
    ++summary->runs_checked;
    summary->elements += comparison.elements();
    summary->elements_checked += comparison.checked();
    if (comparison.checked() < comparison.elements()) {
      sampled.insert(step_by_id.at(inst.id()));
      summary->sampled_elements += comparison.elements();
      summary->sampled_checked += comparison.checked();
    }
    for (int c = 0; c < kElementClasses; ++c) summary->counts[c] += comparison.Count(static_cast<ElementClass>(c));
    if (comparison.worst_ratio() > summary->worst_ratio) {
      summary->worst_ratio = comparison.worst_ratio();
      summary->worst_step = inst.name();
    }
    if (inst.Is(Opcode::kFusion) && comparison.Count(ElementClass::kSuspicious) > 0)
      doubtful.insert(step_by_id.at(inst.id()));
    if (comparison.verdict == Verdict::kMismatch) summary->wrong.emplace(inst.name());
    if (comparison.verdict == Verdict::kMismatch && culprit->kind == Culprit::Kind::kNone) {
      *culprit = CulpritOf(step, loops, std::move(comparison));
    }
    return {};
  };
  TRY(executable.Execute({.observer = &look}));
  for (const size_t i : doubtful) {
    const gpu::StepInfo& step = executable.steps()[i];
    if (summary->wrong.contains(std::string(step.instruction->name()))) continue;
    progress.Stage("checking on integers");
    std::optional<Comparison> comparison = CompareOnIntegers(*step.instruction, device, options, local_options());
    if (!comparison || comparison->verdict != Verdict::kMismatch) continue;
    summary->wrong.emplace(step.instruction->name());
    if (culprit->kind != Culprit::Kind::kNone) continue;
    *culprit = CulpritOf(step, {}, std::move(*comparison));
    culprit->text += ", on small integers";
  }
  summary->checked = static_cast<int64_t>(seen.size());
  summary->sampled = static_cast<int64_t>(sampled.size());
  summary->unchecked.assign(unchecked.begin(), unchecked.end());
  return {};
}

}  // namespace hlo
