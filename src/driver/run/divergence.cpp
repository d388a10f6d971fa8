#include "driver/run/divergence.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "driver/profile/profile.h"
#include "driver/run/dataflow_check.h"
#include "driver/run/step_alone.h"
#include "interp/interpreter.h"
#include "ir/instruction.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

constexpr int64_t kMostTruthBytes = int64_t{4} << 30;
constexpr int64_t kMostInside = 256;  // Larger kernels are not examined.

// The largest norm_rel. Infinite if the numbers of NaN or infinities differ.
double ErrorOf(const Comparison& comparison) {
  double error = 0;
  for (const TensorComparison& tensor : comparison.outputs) {
    const bool differs = tensor.nan_actual != tensor.nan_expected || tensor.inf_actual != tensor.inf_expected;
    error = std::max(error, differs ? INFINITY : tensor.norm_rel);
  }
  return error;
}

std::string Scientific(double x) { return x == 0 ? "0" : std::isinf(x) ? "all" : Format("%.1e", x); }
std::string Scientific(const std::optional<double>& x) { return x ? Scientific(*x) : "?"; }

std::vector<std::string> CellsOf(const StepErrors& step, size_t number, bool is_first) {
  std::vector<std::string> cells = {is_first ? "->" : "", Str(number + 1),           step.name + step.loops, step.kind,
                                    step.shape,           Scientific(step.inherited)};
  if (step.unchecked.empty()) {
    const bool is_long = step.own_ratio >= 100;
    cells.insert(cells.end(), {Scientific(step.own_rel), step.own_ulps == INT64_MAX ? "-" : Str(step.own_ulps),
                               std::isinf(step.own_ratio) ? "inf" : Format(is_long ? "%.1e" : "%.2f", step.own_ratio)});
  } else {
    cells.insert(cells.end(), {"?", "?", "?"});
  }
  cells.push_back(Scientific(step.handed_on));
  cells.push_back(step.source);
  return cells;
}

// A table of more than kMostRows steps shows wrong steps, neighbours of the first one, the steps nearest to their
// bounds, and the last step.
std::set<size_t> ShownOf(const DivergenceReport& report) {
  constexpr size_t kMostRows = 40, kAround = 3, kNearest = 10;
  std::set<size_t> shown;
  const size_t count = report.steps.size();
  if (count <= kMostRows) {
    for (size_t i = 0; i < count; ++i) shown.insert(i);
    return shown;
  }
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = i;
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return report.steps[a].own_ratio > report.steps[b].own_ratio; });
  shown.insert(order.begin(), order.begin() + kNearest);
  for (size_t i = 0; i < count && shown.size() < kMostRows; ++i) {
    if (report.steps[i].is_wrong) shown.insert(i);
  }
  const size_t first = report.first.value_or(0);
  for (size_t i = first - std::min(first, kAround); i < std::min(count, first + kAround + 1); ++i) shown.insert(i);
  shown.insert(count - 1);
  return shown;
}

// The step with the largest factor between its operands' error and its own, or null.
const StepErrors* MostSensitive(const DivergenceReport& report) {
  const StepErrors* most = nullptr;
  double growth = 1;
  for (const StepErrors& step : report.steps) {
    if (!step.inherited || !step.handed_on || *step.inherited == 0) continue;
    if (*step.handed_on / *step.inherited <= growth) continue;
    growth = *step.handed_on / *step.inherited;
    most = &step;
  }
  return most;
}

// The fusion with the instruction `name` as its result, or null.
std::unique_ptr<Module> WithResult(const Instruction& step, std::string_view name) {
  std::unique_ptr<Module> module = ExtractStep(step);
  Instruction& fusion = module->entry().root();
  Computation& body = *fusion.attrs<FusionAttrs>().calls;
  for (Instruction* inst : body.Instructions()) {
    if (inst->name() != name) continue;
    Instruction& old = body.root();
    body.SetRoot(*inst);
    if (old.users().empty()) body.RemoveDeadTree(old);
    fusion.SetShape(inst->shape());
    fusion.mutable_common().backend_config = {};  // The new fusion needs a new plan.
    module->Sweep();
    return module;
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Divergence>> Divergence::Of(Experiment& experiment) {
  std::unique_ptr<Divergence> divergence(new Divergence());
  const gpu::Executable& executable = *TRY(experiment.Placed());
  divergence->places_ = std::make_unique<SourcePlaces>(executable.module());
  std::set<int> wanted;
  for (const gpu::StepInfo& step : executable.steps()) {
    wanted.insert(step.instruction->id());
    for (const Instruction* operand : step.instruction->operands()) wanted.insert(operand->id());
  }
  InterpretOptions interpret = TRY(experiment.Interpreter());
  int64_t bytes = 0;
  interpret.on_value = [&](const Instruction& inst, const Literal& value) {
    if (!wanted.erase(inst.id())) return;
    bytes += inst.shape().ByteSize();
    if (bytes <= kMostTruthBytes) divergence->truth_.emplace(inst.id(), value);
    else ++divergence->report_.unknown;
  };
  experiment.progress().Stage("interpreting the compiled module");
  TRY(Interpret(executable.module(), TRY(experiment.Arguments())->values, interpret));
  return divergence;
}

void Divergence::Look(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
                      const Literal& output, const Comparison& own) {
  const Instruction& inst = *step.instruction;
  const bool is_first_run = runs_[inst.id()]++ == 0;
  const auto [at, is_new] = row_.try_emplace(inst.id(), report_.steps.size());
  const bool is_wrong = own.verdict == Verdict::kMismatch;
  if (!is_new && (!is_wrong || report_.steps[at->second].is_wrong)) return;
  StepErrors errors{.name = Str(inst.name()),
                    .kind = KindOf(step),
                    .shape = inst.shape().ToString(),
                    .loops = is_first_run ? "" : LoopText(loops),
                    .source = SourceOf(inst, *places_),
                    .own_rel = ErrorOf(own),
                    .own_ratio = own.worst_ratio(),
                    .is_wrong = is_wrong};
  if (own.verdict == Verdict::kUnsupported) errors.unchecked = own.reason;
  for (const TensorComparison& tensor : own.outputs) errors.own_ulps = std::max(errors.own_ulps, tensor.max_ulps);
  const auto error_of = [&](const Instruction& value, const Literal& actual) -> std::optional<double> {
    const auto truth = truth_.find(value.id());
    if (!is_first_run || truth == truth_.end()) return std::nullopt;
    return ErrorOf(CompareBitwise(truth->second, actual.WithBools()));
  };
  errors.handed_on = error_of(inst, output);
  errors.inherited = is_first_run ? std::optional<double>(0) : std::nullopt;
  for (int64_t i = 0; i < std::ssize(inputs); ++i) {
    const std::optional<double> error = error_of(inst.operand(i), inputs[i]);
    if (!error || !errors.inherited) errors.inherited.reset();
    else errors.inherited = std::max(*errors.inherited, *error);
  }
  if (is_wrong && wrong_ == nullptr) {
    wrong_ = &step;
    report_.first = at->second;
    read_ = KeptInputs(inputs);
  }
  if (is_new) report_.steps.push_back(std::move(errors));
  else report_.steps[at->second] = std::move(errors);
}

// Makes each instruction in turn the result of the first wrong kernel, until a result is wrong.
std::string Divergence::FindInside(gpu::Device& device, const RunOptions& options) const {
  const Instruction& step = *wrong_->instruction;
  if (!step.Is(Opcode::kFusion) || wrong_->kind != gpu::StepKind::kKernel) return "";
  const Computation& body = *step.attrs<FusionAttrs>().calls;
  const std::vector<Instruction*> order = body.PostOrder();
  if (std::ssize(order) > kMostInside)
    return Str("the kernel has more than ", kMostInside, " instructions, so no instruction was tried alone");
  int64_t right = 0;
  for (const Instruction* inst : order) {
    const bool computes = !inst->Is(Opcode::kParameter) && !inst->Is(Opcode::kConstant) && inst->shape().IsArray();
    if (!computes || inst == &body.root()) continue;
    const std::unique_ptr<Module> module = WithResult(step, inst->name());
    const auto compiled = CompileAlone(*module, device, options);
    if (!compiled || *compiled == nullptr || (*compiled)->steps().size() != 1) continue;
    const std::unique_ptr<gpu::Executable>& alone = *compiled;
    const auto output = alone->Run(ArgumentsOf(*module, step, read_));
    if (!output) continue;
    LocalOptions local;
    static_cast<CompareOptions&>(local) = options.compare;
    local.plan = &alone->steps().front().precision;
    local.work_limit = kWorkLimit;
    const Instruction& fusion = *alone->steps().front().instruction;
    if (!fusion.Is(Opcode::kFusion)) continue;
    const auto own = CompareLocal(*fusion.attrs<FusionAttrs>().calls, read_, *output, local);
    if (!own || own->verdict != Verdict::kMismatch) {
      right += own && own->verdict == Verdict::kMatch;
      continue;
    }
    return Str("inside, '", inst->name(), "' is already wrong in a kernel that ends with it: ", ToString(*inst));
  }
  const std::string_view root = body.root().name();
  if (right == 0) return Str("inside, the wrong instruction is the result, '", root, "'");
  return Str("inside, ", Counted(right, "shorter kernel"),
             right == 1 ? ", which ends before the result, is" : ", which end before the result, are",
             " right: the result '", root, "' is wrong, or only the kernel as a whole is wrong");
}

DivergenceReport Divergence::Finish(gpu::Device& device, const RunOptions& options) {
  if (wrong_ != nullptr) report_.inside = FindInside(device, options);
  return std::move(report_);
}

std::string ToString(const DivergenceReport& report) {
  if (report.steps.empty()) return "  no step was judged, so no divergence can be found\n";
  const std::set<size_t> shown = ShownOf(report);
  TextTable table(
      {"", ">step", "kernel", "kind", "output", ">inherited", ">own", ">ulp", ">err/bound", ">passed on", "source"});
  for (const size_t i : shown) table.Row(CellsOf(report.steps[i], i, report.first == i));
  std::string out = table.Text();
  if (shown.size() < report.steps.size())
    out += Str("  ... and ", report.steps.size() - shown.size(), " more, with smaller err/bound\n");
  if (report.unknown > 0) out += Str("  ?: ", report.unknown, " values were too large to keep\n");
  if (report.first) {
    const StepErrors& step = report.steps[*report.first];
    out += Str("  first divergence: '", step.name, "'", step.loops,
               ": its result is beyond its bounds for the operands that it read\n");
    if (!report.inside.empty()) out += Str("    ", report.inside, "\n");
  } else if (const StepErrors* most = MostSensitive(report); most != nullptr) {
    out += Str("  no divergence. Most sensitive, not wrong: '", most->name, "' received the error ",
               Scientific(most->inherited), " and passes on ", Scientific(most->handed_on), "\n");
  } else {
    out += "  no divergence: no step is beyond its bounds, and none makes an error larger\n";
  }
  return out;
}

void WriteJson(JsonWriter& json, const DivergenceReport& report) {
  json.Open('{').Key("steps").Open('[');
  for (const StepErrors& step : report.steps) {
    json.Open('{').Key("name").Value(step.name).Key("kind").Value(step.kind).Key("shape").Value(step.shape);
    if (!step.loops.empty()) json.Key("loops").Value(step.loops);
    if (step.inherited) json.Key("inherited").Value(*step.inherited);
    if (step.handed_on) json.Key("handed_on").Value(*step.handed_on);
    if (step.unchecked.empty()) {
      json.Key("own_rel")
          .Value(step.own_rel)
          .Key("own_ulps")
          .Value(step.own_ulps)
          .Key("own_ratio")
          .Value(step.own_ratio);
      json.Key("wrong").Value(step.is_wrong);
    } else {
      json.Key("unchecked").Value(step.unchecked);
    }
    if (!step.source.empty()) json.Key("source").Value(step.source);
    json.Close('}');
  }
  json.Close(']');
  if (report.first) json.Key("first").Value(report.steps[*report.first].name);
  if (!report.inside.empty()) json.Key("inside").Value(report.inside);
  json.Close('}');
}

}  // namespace hlo
