#include "driver/run/step_alone.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "driver/inspect/extract.h"

namespace hlo {
namespace {

// False if all expected values are zero, infinite or NaN, because most wrong kernels return the same.
bool Decides(const TensorComparison& output) {
  constexpr double kMostVacuous = 0.1;
  const int64_t silent = output.zero_expected + output.inf_expected + output.nan_expected;
  const auto vacuous = static_cast<double>(output.Count(ElementClass::kVacuous));
  return output.verdict == Verdict::kMatch && (output.checked <= 1 || silent < output.checked) &&
         vacuous <= kMostVacuous * static_cast<double>(output.checked);
}

}  // namespace

std::unique_ptr<Module> ExtractStep(const Instruction& step) { return Extract(step, 0, false); }

void OwnBytes(Literal& literal) {
  if (literal.shape().IsArray()) literal.mutable_raw();
  for (Literal& element : literal.mutable_elements()) OwnBytes(element);
}

std::vector<Literal> KeptInputs(std::span<const Literal> inputs) {
  std::vector<Literal> kept;
  for (const Literal& input : inputs) OwnBytes(kept.emplace_back(input.WithBools()));
  return kept;
}

std::vector<Literal> ArgumentsOf(const Module& alone, const Instruction& step, std::span<const Literal> inputs) {
  std::vector<Literal> arguments;
  for (const Instruction* parameter : alone.entry().parameters()) {
    const auto operand = std::ranges::find(step.operands(), parameter->name(), &Instruction::name);
    CHECK(operand != step.operands().end(), "'", step.name(), "' does not read '", parameter->name(), "'");
    arguments.push_back(inputs[operand - step.operands().begin()]);
  }
  return arguments;
}

Result<std::unique_ptr<gpu::Executable>> CompileAlone(const Module& step, gpu::Device& device,
                                                      const RunOptions& options) {
  gpu::CompileOptions compile = CompilerOptions(options);
  compile.quick_code = true;
  auto executable = gpu::Compile(step, device, compile);
  const bool was_planted = !std::exchange(compile.inject, "").empty();  // The fault may be meant for another step.
  if (!executable && was_planted) executable = gpu::Compile(step, device, compile);
  auto alone = TRY(UnlessOfDevice(std::move(executable)));
  return alone ? std::move(*alone) : nullptr;
}

Result<Literal> RunAlone(gpu::Executable& alone, std::span<const Literal> arguments) {
  const gpu::Observer nothing = {.wants = [](const Instruction&, std::span<const gpu::LoopStep>) { return false; }};
  return alone.Run(arguments, {.observer = &nothing});  // An observed run first overwrites results, which may have the
                                                        // right bytes of an earlier run.
}

std::array<ArgumentOptions, 4> DecidingArguments(uint64_t seed) {
  return {{{.seed = seed + 1, .profile = InputProfile::kExact},
           {.seed = seed + 2, .profile = InputProfile::kExact},
           {.seed = seed + 3, .profile = InputProfile::kNormal},
           {.seed = seed + 4, .profile = InputProfile::kExact, .exact_bound = 1}}};
}

Result<std::optional<Comparison>> CompareWhereDecided(const LocalOptions& local, std::set<ShapeIndex> open,
                                                      const MadeUpComparison& compare) {
  for (const ArgumentOptions& made_up : DecidingArguments(local.seed)) {
    std::optional<Comparison> comparison = TRY(compare(made_up, local));
    if (!comparison) continue;
    if (comparison->verdict == Verdict::kMismatch) return comparison;
    for (const TensorComparison& output : comparison->outputs) {
      if (Decides(output)) open.erase(output.output);
    }
    if (open.empty()) return comparison;
  }
  return std::nullopt;
}

}  // namespace hlo
