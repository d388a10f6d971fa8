#include <algorithm>
#include <optional>

#include "base/text.h"
#include "driver/run/local_check.h"
#include "driver/run/run_check.h"
#include "driver/run/step_alone.h"
#include "interp/arguments/arguments.h"
#include "ir/fusion.h"
#include "ir/instruction.h"
#include "judge/bounds/rules.h"

namespace hlo {
namespace {

bool HoldsLoop(const Instruction& inst) {
  const auto is_loop = [](const Instruction* inside) { return inside->Is(Opcode::kWhile); };
  return inst.Is(Opcode::kFusion) && std::ranges::any_of(FusedComputation(inst).Instructions(), is_loop);
}

// Whether the kernel calls a computation such as an argmax, whose result depends on the order of operations for NaN.
bool CallsOther(const Instruction& inst) {
  const auto is_other = [](const Instruction* inside) {
    return std::ranges::any_of(CalledComputations(*inside), [](const Computation* called) {
      return shadow::CombinerOf(*called) == shadow::Combiner::kOther;
    });
  };
  return inst.Is(Opcode::kFusion) && std::ranges::any_of(FusedComputation(inst).Instructions(), is_other);
}

// Nothing if the step cannot run on generated arguments.
Result<std::optional<Comparison>> CompareMadeUp(const StepAlone& alone, LocalOptions local,
                                                const ArgumentOptions& made) {
  if (alone.executable == nullptr) return std::nullopt;
  const auto arguments = MakeArguments(*alone.module, made);
  if (!arguments) return std::nullopt;
  const std::optional<Literal> output = TRY(UnlessOfDevice(RunAlone(*alone.executable, *arguments)));
  alone.executable->Unbind();  // The program is kept, but must not hold memory.
  if (!output) return std::nullopt;
  for (const gpu::StepInfo& step : alone.executable->steps()) {
    if (step.instruction->name() != alone.name) continue;
    std::vector<Literal> inputs;
    for (const Instruction* operand : step.instruction->operands()) {
      if (operand->Is(Opcode::kParameter)) inputs.push_back((*arguments)[operand->attrs<ParameterAttrs>().number]);
      else if (operand->Is(Opcode::kConstant)) inputs.push_back(operand->literal());
      else return std::nullopt;
    }
    const Instruction& inst = *step.instruction;
    const bool fusion = inst.Is(Opcode::kFusion);
    if (fusion) local.plan = &step.precision;
    const std::unique_ptr<Module> single = fusion ? nullptr : Alone(inst);
    const Computation& body = fusion ? *inst.attrs<FusionAttrs>().calls : *single->Computations().front();
    auto comparison = CompareLocal(body, inputs, *output, local);
    if (comparison && comparison->verdict != Verdict::kUnsupported) return std::move(*comparison);
  }
  return std::nullopt;
}

Result<const StepAlone*> AloneOf(LocalCheck& s, size_t i) {
  const Instruction& inst = *s.steps[i].instruction;
  std::unique_ptr<Module> module = ExtractStep(inst);
  const auto [at, is_new] = s.alone.try_emplace(Fingerprint(*module));
  if (!is_new) return &at->second;
  StepAlone& alone = at->second;
  alone = {.module = std::move(module), .executable = nullptr, .name = std::string(inst.name())};
  alone.executable = TRY(CompileAlone(*alone.module, s.device, s.options));
  return &alone;
}

bool IsKnownWrong(const LocalCheck& s, size_t i) {
  return s.summary.wrong.contains(std::string(s.steps[i].instruction->name()));
}

}  // namespace

Status DecideDoubtful(LocalCheck& s) {
  std::set<const StepAlone*> done;
  for (const size_t i : s.doubtful) {
    if (IsKnownWrong(s, i)) continue;
    s.progress.Stage("checking on integers");
    const StepAlone& alone = *TRY(AloneOf(s, i));
    if (!done.insert(&alone).second) continue;
    std::optional<Comparison> comparison =
        TRY(CompareMadeUp(alone, s.local, {.seed = s.local.seed, .profile = InputProfile::kExact}));
    if (comparison && comparison->verdict == Verdict::kMismatch)
      IsWrong(s, s.steps[i], {}, std::move(*comparison), ", on small integers");
  }
  return {};
}

Status DecideOpen(LocalCheck& s) {
  for (const auto& [i, outputs] : s.outputs) {
    std::string why;
    bool only_vacuous = true;
    std::set<ShapeIndex> open;
    for (const auto& [index, output] : outputs) {
      const std::string of_output = output.WhyOpen();
      if (!of_output.empty() || output.SaysNothing()) open.insert(index);
      if (why.empty()) why = of_output;
      only_vacuous &= !output.IsUndetermined();
    }
    const Instruction& inst = *s.steps[i].instruction;
    // Loops may run long on other arguments, so only open outputs are worth the time.
    if (open.empty() || IsKnownWrong(s, i) || (why.empty() && HoldsLoop(inst))) continue;
    s.progress.Stage("checking on made-up arguments");
    TripCheck* const trips = TRY(TripsOf(s, i));
    const auto alone = [&](const ArgumentOptions& made_up,
                           const LocalOptions& local) -> Result<std::optional<Comparison>> {
      return CompareMadeUp(*TRY(AloneOf(s, i)), local, made_up);
    };
    std::optional<Comparison> comparison =
        TRY(trips != nullptr ? trips->WithRandomArguments(s.local, open) : CompareWhereDecided(s.local, open, alone));
    if (!comparison) {
      if (why.empty()) continue;
      s.summary.undecided_loop |= trips == nullptr && HoldsLoop(inst);
      s.summary.open.push_back({std::string(inst.name()), std::move(why), only_vacuous});
    } else if (comparison->verdict == Verdict::kMismatch) {
      IsWrong(s, s.steps[i], {}, std::move(*comparison), ", on made-up arguments");
    } else if (!why.empty()) {
      ++s.summary.decided;
    }
  }
  return {};
}

Status CheckAtEdges(LocalCheck& s) {
  // Skips kernels whose full check takes more than kMostSteps.
  constexpr int64_t kSteps = 1'000'000, kMostSteps = 100'000'000;
  if (!s.device.IsHost()) return {};
  std::vector<ArgumentOptions> of_edges = {
      {.seed = s.local.seed + 5, .profile = InputProfile::kEdge, .range = std::pair(-100.0, 100.0)}};
  for (uint64_t i = 0; i < 3; ++i)  // Small arrays have few special numbers.
    of_edges.push_back({.seed = s.local.seed + 6 + i, .profile = InputProfile::kSpecial});
  LocalOptions local = s.local;
  local.work_limit = local.work_limit == 0 ? kSteps : std::min(local.work_limit, kSteps);
  std::set<const StepAlone*> done;
  for (const size_t i : s.seen) {
    const gpu::StepInfo& step = s.steps[i];
    const int64_t steps = JudgingSteps(*step.instruction);
    if (step.kind != gpu::StepKind::kKernel || steps > kMostSteps || CallsOther(*step.instruction)) continue;
    s.progress.Stage("checking on extreme numbers");
    const StepAlone& alone = *TRY(AloneOf(s, i));
    if (!done.insert(&alone).second) continue;
    const bool is_large = steps > kSteps;
    for (const ArgumentOptions& made_up : std::span(of_edges).first(is_large ? 2 : of_edges.size())) {
      s.meter.left = kMostSteps;
      std::optional<Comparison> comparison = TRY(CompareMadeUp(alone, local, made_up));
      if (!comparison || comparison->verdict != Verdict::kMismatch) continue;
      IsWrong(s, step, {}, std::move(*comparison),
              Str(", on made-up arguments of profile ", ToString(made_up.profile)));
      break;
    }
  }
  return {};
}

}  // namespace hlo
