#include "judge/compare/ensemble.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "ir/batch_norm_expansion.h"
#include "ir/module.h"
#include "judge/compare/ensemble_output.h"
#include "judge/compare/in_parts.h"
#include "judge/compare/random_roundings.h"
#include "judge/compare/widened_module.h"

namespace hlo {
namespace {

std::unique_ptr<Module> WithoutBatchNorms(const Module& module) {
  std::unique_ptr<Module> expanded = module.Clone();
  for (Computation* computation : expanded->Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      const bool is_batch_norm = inst->Is(Opcode::kBatchNormTraining) || inst->Is(Opcode::kBatchNormInference) ||
                                 inst->Is(Opcode::kBatchNormGrad);
      Instruction* const steps = is_batch_norm ? ExpandBatchNorm(*inst) : nullptr;
      if (steps == nullptr) continue;
      inst->ReplaceAllUses(*steps);
      if (&computation->root() == inst) computation->SetRoot(*steps);
      computation->Remove(*inst);
    }
  }
  return expanded;
}

std::string Reach(double digits) {
  if (std::isnan(digits) || digits == -std::numeric_limits<double>::infinity()) return "nothing is rounded";
  return Format("roundings reach 2^%.0f of the results", digits);
}

}  // namespace

double EnsembleResult::worst() const {
  double worst = 0;
  for (const EnsembleOutput& output : outputs) worst = std::max(worst, output.worst);
  return worst;
}

Result<EnsembleResult> CompareEnsemble(const Module& module, std::span<const Literal> args, const Literal& actual,
                                       const EnsembleOptions& options) {
  EnsembleResult result;
  auto widened = WidenedModule(module);
  if (!widened) {
    if (widened.error().exit != ExitCode::kUnsupported) FAIL(widened.error());
    result.unsupported = widened.error().message();
    return result;
  }
  std::vector<Literal> wide_args;
  for (const Literal& arg : args) wide_args.push_back(WidenedLiteral(arg));
  // Terms of batch norms cancel, so the runs round each of their steps.
  const std::unique_ptr<Module> expanded = WithoutBatchNorms(module);
  const std::unique_ptr<Module> rounded = TRY(WidenedModule(*expanded));
  std::unordered_map<int, PrimitiveType> declared;
  for (const Computation* computation : expanded->Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (IsRounded(inst->shape()) && !DependsOnType(*inst)) declared.emplace(inst->id(), inst->shape().type());
    }
  }
  InterpretOptions interpret = options.interpret;
  interpret.on_value = nullptr;
  const InterpretOptions interpret_plain = interpret;
  const auto evaluate = [&](const Module& of, const InterpretOptions& how, bool is_widened) -> Result<Literal> {
    if (options.evaluate) return options.evaluate(of, how, is_widened);
    return is_widened ? Interpret(of, wide_args, how) : Interpret(of, args, how);
  };
  std::clock_t start = std::clock();
  int wanted = options.runs;
  // Whether enough runs fit into the limit if each takes as long as the work since `start`.
  const auto fits = [&] {
    if (options.most_seconds == 0) return true;
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    wanted = static_cast<int>(std::min<double>(wanted, options.most_seconds / taken));
    if (wanted >= std::min(kLeastRuns, options.runs)) return true;
    result.unsupported = Format("%d runs would take about %.0f s of processor time, more than the limit", kLeastRuns,
                                taken * kLeastRuns);
    return false;
  };
  const Literal middle = TRY(evaluate(**widened, interpret, true));
  if (!fits()) return result;
  std::vector<Literal> runs;
  const double devices = DevicesOfSums(module);
  start = std::clock();
  for (int run = 0; run < wanted; ++run) {
    // HLO does not define the sign of a NaN, which a total order or a bitcast reads.
    interpret.nan_bits = run % 2 == 0 ? NanBits::kPositive : NanBits::kNegative;
    RandomRoundings rounder(declared, options, devices, run);
    interpret.perturb = [&](const Instruction& inst, std::span<const Literal> operands, Literal& value) {
      return rounder.Round(inst, operands, value);
    };
    runs.push_back(TRY(evaluate(*rounded, interpret, true)));
    rounder.Store(actual.shape(), runs.back());
    if (run == 0 && !fits()) return result;
  }
  result.runs = wanted;
  const auto own = evaluate(module, interpret_plain, false);
  ForEachLeaf(actual.shape(), [&](const ShapeIndex& index, const Shape& shape) {
    if (!shape.IsArray()) return;
    std::optional<Literal> own_leaf;
    if (own) own_leaf = InParts(own->At(index));
    if (own_leaf && own_leaf->shape().dims() != InParts(middle.At(index)).shape().dims()) own_leaf.reset();
    std::vector<Literal> leaves;
    for (const Literal& run : runs) leaves.push_back(InParts(run.At(index)));
    result.outputs.push_back(JudgeEnsemble(index, InParts(shape), InParts(middle.At(index)), leaves,
                                           InParts(actual.At(index)), own_leaf ? &*own_leaf : nullptr));
    result.suspect = result.suspect || result.outputs.back().IsSuspect();
  });
  return result;
}

std::string ToString(const EnsembleResult& result) {
  if (!result.unsupported.empty()) return Str("no runs: ", result.unsupported);
  const EnsembleOutput* worst = nullptr;
  double rms = 0, digits = -std::numeric_limits<double>::infinity();
  for (const EnsembleOutput& output : result.outputs) {
    if (worst == nullptr || output.worst > worst->worst) worst = &output;
    rms = std::max(rms, output.rms);
    if (output.digits > digits) digits = output.digits;
  }
  std::string text = Format("%d runs, worst r %.2g, rms r %.2g; ", result.runs, result.worst(), rms) + Reach(digits);
  if (!result.suspect || worst == nullptr) return text;
  std::vector<int64_t> at;
  int64_t rest = worst->worst_element;
  for (const int64_t stride : RowMajorStrides(worst->shape.dims())) {
    at.push_back(rest / stride);
    rest %= stride;
  }
  return text +
         Format("\n           {%s}[%s] is %.9g, without roundings it is %.9g, and the spread of the runs is %.2g",
                Join(worst->output, ",").c_str(), Join(at, ",").c_str(), worst->actual, worst->expected, worst->spread);
}

void WriteJson(JsonWriter& json, const EnsembleResult& result) {
  json.Open('{').Key("runs").Value(result.runs).Key("suspect").Value(result.suspect);
  if (!result.unsupported.empty()) json.Key("unsupported").Value(result.unsupported);
  json.Key("outputs").Open('[');
  for (const EnsembleOutput& output : result.outputs) {
    json.Open('{').Key("output").Value(Join(output.output, ",")).Key("shape").Value(output.shape.ToString());
    json.Key("worst_r").Value(output.worst).Key("rms_r").Value(output.rms).Key("digits").Value(output.digits);
    json.Key("worst_element").Value(output.worst_element).Key("expected").Value(output.expected);
    json.Key("actual").Value(output.actual).Key("spread").Value(output.spread).Close('}');
  }
  json.Close(']').Close('}');
}

}  // namespace hlo
