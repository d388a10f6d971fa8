#include "driver/run/run_check.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/text.h"
#include "driver/run/dataflow_check.h"
#include "driver/run/step_alone.h"
#include "interp/arguments/arguments.h"
#include "interp/shadow/slice.h"
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

// A step alone, on arguments made for it. Nothing where that cannot be.
std::optional<Comparison> CompareMadeUp(const Instruction& inst, gpu::Device& device, const RunOptions& options,
                                        LocalOptions local, const ArgumentOptions& made) {
  const std::unique_ptr<Module> module = ExtractStep(inst);
  const std::unique_ptr<gpu::Executable> alone = CompileAlone(*module, device, options);
  if (alone == nullptr) return std::nullopt;
  const auto arguments = MakeArguments(*module, made);
  if (!arguments) return std::nullopt;
  const auto output = alone->Run(*arguments);
  if (!output) return std::nullopt;
  for (const gpu::StepInfo& step : alone->steps()) {
    if (step.instruction->name() != inst.name()) continue;
    std::vector<Literal> inputs;
    for (const Instruction* operand : step.instruction->operands()) {
      if (operand->Is(Opcode::kParameter)) inputs.push_back((*arguments)[operand->attrs<ParameterAttrs>().number]);
      else if (operand->Is(Opcode::kConstant)) inputs.push_back(operand->literal());
      else return std::nullopt;
    }
    const bool fusion = inst.Is(Opcode::kFusion);
    if (fusion) local.plan = &step.precision;
    const std::unique_ptr<Module> single = fusion ? nullptr : Alone(inst);
    const Computation& body = fusion ? *step.instruction->attrs<FusionAttrs>().calls : *single->Computations().front();
    auto comparison = CompareLocal(body, inputs, *output, local);
    if (comparison && comparison->verdict != Verdict::kUnsupported) return std::move(*comparison);
  }
  return std::nullopt;
}

// From 1 to 8 of either sign.
std::optional<Comparison> CompareOnIntegers(const Instruction& fusion, gpu::Device& device, const RunOptions& options,
                                            const LocalOptions& local) {
  return CompareMadeUp(fusion, device, options, local, {.seed = local.seed, .profile = InputProfile::kExact});
}

// On the first made-up arguments that leave next to nothing open, by bounds or, where none do, by the interpreter.
std::optional<Comparison> CompareWhereDecided(const Instruction& inst, gpu::Device& device, const RunOptions& options,
                                              LocalOptions local) {
  for (const bool interpret : {false, true}) {
    local.interpret = interpret;
    for (const ArgumentOptions& made : DecidingArguments(local.seed)) {
      auto comparison = CompareMadeUp(inst, device, options, local, made);
      if (comparison && comparison->verdict != Verdict::kInconclusive) return comparison;
    }
  }
  return std::nullopt;
}

using Counts = std::array<int64_t, kElementClasses>;

OpenShares SharesOf(const Counts& counts, int64_t elements) {
  const auto share = [&](ElementClass c) {
    return static_cast<double>(counts[static_cast<int>(c)]) / static_cast<double>(std::max<int64_t>(1, elements));
  };
  return {share(ElementClass::kUndetermined), share(ElementClass::kVacuous)};
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

OpenShares SharesOpen(const LocalSummary& local) {
  Counts counts = local.counts;
  for (int c = 0; c < kElementClasses; ++c) counts[c] -= local.decided_counts[c];
  return SharesOf(counts, local.elements_checked);
}

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
  std::map<size_t, Counts> counts;
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
    for (int c = 0; c < kElementClasses; ++c) {
      const int64_t count = comparison.Count(static_cast<ElementClass>(c));
      summary->counts[c] += count;
      counts[step_by_id.at(inst.id())][c] += count;
    }
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
  const auto is_wrong = [&](const gpu::StepInfo& step, Comparison comparison, std::string_view where) {
    summary->wrong.emplace(step.instruction->name());
    if (culprit->kind != Culprit::Kind::kNone) return;
    *culprit = CulpritOf(step, {}, std::move(comparison));
    culprit->text += where;
  };
  for (const size_t i : doubtful) {
    const gpu::StepInfo& step = executable.steps()[i];
    if (summary->wrong.contains(std::string(step.instruction->name()))) continue;
    progress.Stage("checking on integers");
    std::optional<Comparison> comparison = CompareOnIntegers(*step.instruction, device, options, local_options());
    if (comparison && comparison->verdict == Verdict::kMismatch)
      is_wrong(step, std::move(*comparison), ", on small integers");
  }
  const bool too_many = SharesOpen(*summary).TooMany();
  for (const auto& [i, of_step] : counts) {
    const Instruction& inst = *executable.steps()[i].instruction;
    const int64_t elements = std::accumulate(of_step.begin(), of_step.end(), int64_t{0});
    if (!too_many || !SharesOf(of_step, elements).TooMany() || summary->wrong.contains(std::string(inst.name())))
      continue;
    progress.Stage("checking on made-up arguments");
    std::optional<Comparison> comparison = CompareWhereDecided(inst, device, options, local_options());
    if (!comparison) continue;
    if (comparison->verdict == Verdict::kMismatch) {
      is_wrong(executable.steps()[i], std::move(*comparison), ", on made-up arguments");
      continue;
    }
    ++summary->decided;
    for (int c = 0; c < kElementClasses; ++c) summary->decided_counts[c] += of_step[c];
  }
  summary->checked = static_cast<int64_t>(seen.size());
  summary->sampled = static_cast<int64_t>(sampled.size());
  summary->unchecked.assign(unchecked.begin(), unchecked.end());
  return {};
}

}  // namespace hlo
