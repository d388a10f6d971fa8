#include "driver/run/partition_check.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "driver/command_line.h"
#include "driver/inspect/collectives.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "driver/optimize.h"
#include "driver/run/oracles.h"
#include "driver/run/partition_values.h"
#include "driver/run/verdict.h"
#include "driver/run/whole_results.h"
#include "interp/devices/parts.h"
#include "ir/frontend_attributes.h"
#include "ir/instruction.h"
#include "ir/mesh/parts.h"
#include "ir/mesh/unpartitioned.h"
#include "ir/module.h"
#include "judge/compare/compare.h"
#include "judge/compare/ensemble.h"
#include "judge/compare/widened_module.h"
#include "passes/sharding/partitioner.h"

namespace hlo {
namespace {

constexpr std::string_view kPasses = "spmd-partitioner";  // A stage of the default pipeline.

using ByDevice = std::vector<std::vector<Literal>>;

// Cuts the leaves of a parameter's whole value for each partition in turn.
class Cutter {
 public:
  Cutter(const Instruction& parameter, int64_t partitions) : shape_(parameter.shape()) {
    int64_t leaf = 0;
    ForEachLeaf(shape_, [&](const ShapeIndex&, const Shape& shape) {
      const Sharding* sharding = ShardingOfLeaf(parameter, leaf++);
      auto& table = tables_.emplace_back();
      if (sharding == nullptr || !shape.IsArray()) return;
      if (auto made = PartTable::Make(*sharding, shape.rank(), partitions)) table = std::move(*made);
    });
  }

  Literal PartOf(const Literal& whole, int64_t partition, std::byte padding) {
    leaf_ = 0;
    padding_ = padding;
    return PartAt(whole, shape_, partition);
  }

 private:
  Literal PartAt(const Literal& whole, const Shape& shape, int64_t partition) {
    if (shape.IsTuple()) {
      std::vector<Literal> elements;
      for (size_t i = 0; i < shape.elements().size(); ++i)
        elements.push_back(PartAt(whole.elements()[i], shape.element(i), partition));
      return Literal::Tuple(std::move(elements));
    }
    const std::optional<PartTable>& table = tables_[leaf_++];
    return table ? CutPart(whole, WithTypeOf(whole, shape), *table, partition, padding_) : whole;
  }

  // `shape` with the type of `whole`, which may be wider.
  static Shape WithTypeOf(const Literal& whole, const Shape& shape) { return shape.WithType(whole.shape().type()); }

  const Shape& shape_;
  std::vector<std::optional<PartTable>> tables_;  // By leaf. nullopt if each device gets the whole value.
  std::byte padding_{0};
  int64_t leaf_ = 0;
};

// A copy whose convolutions multiply the zeros of padding, as StableHLO defines it. XLA's interpreter skips padding.
// The results differ by NaN if the convolution's kernel is not finite.
std::unique_ptr<Module> WithZerosForPadding(const Module& module) {
  std::unique_ptr<Module> copy = module.Clone();
  for (Computation* computation : copy->Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      if (!inst->Is(Opcode::kConvolution) || inst->operand(0).shape().NumElements() == 0) continue;
      Instruction& image = inst->operand(0);
      Shape shape = image.shape();
      PadAttrs pad;
      pad.padding.dims.resize(shape.rank());
      Window& windows = inst->mutable_attrs<ConvolutionAttrs>().window;
      for (size_t i = 0; i < windows.dims.size(); ++i) {
        WindowDim& window = windows.dims[i];
        const int64_t dim = inst->attrs<ConvolutionAttrs>().dim_labels.lhs_spatial[i];
        PaddingDim& zeros = pad.padding.dims[dim];
        zeros = {.low = std::max<int64_t>(0, window.pad_low),
                 .high = std::max<int64_t>(0, window.pad_high),
                 .interior = window.base_dilation - 1};
        shape.SetDim(dim, zeros.low + zeros.high + (shape.dim(dim) - 1) * window.base_dilation + 1);
        window.pad_low -= zeros.low;
        window.pad_high -= zeros.high;
        window.base_dilation = 1;
      }
      if (shape == image.shape()) continue;
      Instruction& zero = computation->AddConstant(Literal::Scalar(shape.type(), int64_t{0}));
      Instruction& padded = computation->AddLike(*inst, Opcode::kPad, shape, {&image, &zero}, std::move(pad));
      inst->SetOperand(0, padded);
    }
  }
  return copy;
}

bool IsNanAt(const Literal& array, int64_t i) {
  const PrimitiveType type = array.shape().type();
  if (!IsFloat(type) && !IsComplex(type)) return false;
  const std::complex<double> value = array.GetComplex(i);
  return std::isnan(value.real()) || std::isnan(value.imag());
}

// Whether an element is a NaN and the expected one is not.
bool HasOwnNan(const Literal& expected, const Literal& actual) {
  for (size_t i = 0; i < actual.elements().size(); ++i) {
    if (HasOwnNan(expected.elements()[i], actual.elements()[i])) return true;
  }
  for (int64_t i = 0; actual.shape().IsArray() && i < actual.shape().NumElements(); ++i) {
    if (IsNanAt(actual, i) && !IsNanAt(expected, i)) return true;
  }
  return false;
}

// Where `actual` and `with_zeros` are NaN, gives `actual` the element of `expected`.
void ReplaceNans(const Literal& with_zeros, const Literal& expected, Literal& actual) {
  for (size_t i = 0; i < actual.elements().size(); ++i)
    ReplaceNans(with_zeros.elements()[i], expected.elements()[i], actual.mutable_elements()[i]);
  for (int64_t i = 0; actual.shape().IsArray() && i < actual.shape().NumElements(); ++i) {
    if (!IsNanAt(actual, i) || !IsNanAt(with_zeros, i)) continue;
    if (IsComplex(actual.shape().type())) actual.SetComplex(i, expected.GetComplex(i));
    else actual.SetDouble(i, expected.GetDouble(i));
  }
}

struct Judged {
  Verdict verdict = Verdict::kMatch;
  std::string text;
  std::optional<Comparison> comparison;  // Set for a mismatch of values.
  bool rests_on_roundings = false;  // Roundings explain a difference, or the verdict is open: a value may be wrong.
};

Status NotJudged(const Module& input, std::string why, RunReport* report) {
  report->partition = {.verdict = Verdict::kUnsupported, .devices = DevicesOf(input), .text = std::move(why)};
  return {};
}

std::string TextOf(const Error& error) {
  const std::string& code = error.code();
  return Str(code.empty() ? "" : Str("[", code, "] "), error.message());
}

// Whether roundings do not explain an output. Ignores outputs within the tolerance.
bool IsSuspect(const EnsembleResult& roundings, const Comparison& within) {
  for (size_t i = 0; i < roundings.outputs.size(); ++i) {
    if (within.outputs[i].verdict != Verdict::kMatch && roundings.outputs[i].IsSuspect()) return true;
  }
  return false;
}

bool IsPartitioning(const PassRun& run) { return run.pass->name == "spmd-partitioning"; }

class PartitionCheck {
 public:
  PartitionCheck(Experiment& experiment, const Module& input, const RunArguments& arguments, const Literal& expected)
      : experiment_(experiment), input_(input), arguments_(arguments), expected_(expected) {}

  Status Run(RunReport* report) {
    experiment_.progress().Stage("partitioning");
    PipelineReport passes;
    const auto module = Partitioned(/*last=*/-1, &passes);
    for (PlantedFault& planted : report->planted) {
      if (planted.fault == Str("pass:", Fault())) planted.times += passes.planted;
    }
    for (const std::string& note : passes.notes) report->notes.push_back(Str("partitioning: ", note));
    if (!module) return NotJudged(input_, Str("not partitioned: ", TextOf(module.error())), report);
    if (const std::string why = WhyTooLarge(**module); !why.empty()) return NotJudged(input_, why, report);
    const CollectiveReport collectives = CollectivesOf(**module);
    Judged judged = TRY(Judge(**module));
    std::optional<Culprit> culprit;
    if (judged.rests_on_roundings) culprit = TRY(ProvenFault(passes.runs, judged));
    report->partition = {.verdict = judged.verdict,
                         .devices = DevicesOf(input_),
                         .ran = true,
                         .collectives = collectives.all.runs,
                         .bytes = collectives.all.bytes,
                         .text = judged.text};
    if (judged.verdict != Verdict::kMismatch || report->culprit.kind != Culprit::Kind::kNone) return {};
    report->culprit = culprit ? std::move(*culprit) : TRY(Blame(passes.runs, std::move(judged)));
    return {};
  }

 private:
  // The planted fault if it is in a partitioning pass, otherwise "". The run plants other faults.
  std::string Fault() const {
    const std::string& inject = experiment_.options().pipeline.inject;
    const PassRow* const pass = FindPass(std::string_view(inject).substr(0, inject.find_first_of("#:")));
    const bool is_ours = pass != nullptr && (pass->name == "sharding-propagation" || pass->name == "spmd-partitioning");
    return is_ours ? inject : "";
  }

  // The module after the pass instance with the number `last`, or after all passes for -1.
  Result<std::unique_ptr<Module>> Partitioned(int last, PipelineReport* report) const {
    std::unique_ptr<Module> module = input_.Clone(/*as_input=*/true);
    PipelineOptions options = {
        .passes = std::string(kPasses), .partitions = true, .opt_bisect_limit = last, .inject = Fault()};
    options.device = experiment_.options().pipeline.device;
    PipelineReport passes = TRY(Optimize(*module, std::move(options), /*dumper=*/nullptr));
    if (report != nullptr) *report = std::move(passes);
    return module;
  }

  std::string WhyTooLarge(const Module& module) const {
    const int64_t limit = experiment_.options().work_limit;
    if (limit == 0) return "";
    const auto devices = static_cast<double>(module.header.replica_count * module.header.num_partitions);
    const double steps = devices * StepsOfInterpreting(module);
    if (steps <= static_cast<double>(limit < 0 ? kWorkLimit : limit)) return "";
    return Format("about %.2g steps on %.0f devices, beyond --work_limit", steps, devices);
  }

  const std::vector<Literal>& WholeArguments(int64_t device) const {
    return arguments_.by_device.empty() ? arguments_.values : arguments_.by_device[device];
  }

  ByDevice Parts(const Module& module, std::byte padding, bool is_widened) const {
    const int64_t partitions = module.header.num_partitions;
    ByDevice by_device(module.header.replica_count * partitions);
    for (const Instruction* parameter : module.entry().parameters()) {
      Cutter cutter(*parameter, partitions);
      for (int64_t device = 0; device < std::ssize(by_device); ++device) {
        const Literal& whole = WholeArguments(device)[parameter->parameter_number()];
        by_device[device].push_back(
            cutter.PartOf(is_widened ? WidenedLiteral(whole) : whole, device % partitions, padding));
      }
    }
    return by_device;
  }

  Result<JoinedResults> ResultsOf(const Module& module, const InterpretOptions& interpret, std::byte padding = {},
                                  bool is_widened = false) const {
    if (!FrontendAttribute(module.header.frontend_attributes, kPartitionedAttribute)) {
      ByDevice whole = arguments_.by_device.empty() ? ByDevice{arguments_.values} : arguments_.by_device;
      for (std::vector<Literal>& of_device : whole) {
        for (Literal& value : of_device) value = is_widened ? WidenedLiteral(value) : value;
      }
      if (arguments_.by_device.empty()) return JoinedResults{.whole = TRY(Interpret(module, whole[0], interpret))};
      return JoinedResults{.whole = std::move(TRY(InterpretDevices(module, whole, interpret))[0])};
    }
    const std::vector<Literal> outputs = TRY(InterpretDevices(module, Parts(module, padding, is_widened), interpret));
    return JoinResults(module, ShardingsOfResult(module), outputs,
                       [&](const ShapeIndex& index) -> std::optional<std::vector<int64_t>> {
                         const auto dims = expected_.At(index).shape().dims();
                         return std::vector<int64_t>(dims.begin(), dims.end());
                       });
  }

  std::byte Padding() const { return std::byte{experiment_.options().poison_padding ? uint8_t{0xff} : uint8_t{0}}; }

  Result<InterpretOptions> Interpreter() const {
    InterpretOptions interpret = TRY(experiment_.Interpreter());
    interpret.outfeed = nullptr;  // Keeps the values that the run sent.
    return interpret;
  }

  // An error that only wrong values explain is a mismatch.
  Result<Judged> Judge(const Module& module) const {
    experiment_.progress().Stage("interpreting the partitioned program");
    const std::byte padding = Padding();
    const auto results = ResultsOf(module, TRY(Interpreter()), padding);
    if (!results) {
      const bool is_wrong = results.error().exit == ExitCode::kNo;
      return Judged{is_wrong ? Verdict::kMismatch : Verdict::kUnsupported, TextOf(results.error()), {}};
    }
    if (!results->whole) return Judged{Verdict::kUnsupported, results->why_not, {}};
    if (padding != std::byte{0}) {
      const auto other = ResultsOf(module, TRY(Interpreter()), std::byte{0x55});
      if (!other || !other->whole || !other->whole->BitEquals(*results->whole))
        return Judged{Verdict::kMismatch, "the results depend on the padding of uneven parts", {}};
    }
    experiment_.progress().Stage("comparing the results");
    Judged judged = TRY(Compare(module, expected_, *results->whole));
    if (judged.verdict == Verdict::kMismatch) TRY(CompareWithZeros(module, *results->whole, judged));
    if (judged.verdict == Verdict::kMatch && !results->notes.empty())
      return Judged{Verdict::kInconclusive, results->notes.front(), {}, /*rests_on_roundings=*/true};
    return judged;
  }

  // Compares by bits, then by the tolerance, then by the roundings of either program.
  Result<Judged> Compare(const Module& module, const Literal& expected, const Literal& actual) const {
    const RunOptions& options = experiment_.options();
    const Comparison bits = CompareBitwise(expected, actual, options.compare);
    if (bits.verdict == Verdict::kMatch) return Judged{Verdict::kMatch, "all results are equal bit for bit", {}};
    const std::string differing = Str(bits.bad(), " of ", Counted(bits.elements(), "element"));
    Comparison within = CompareTolerance(expected, actual, options.tolerance, options.compare);
    if (within.verdict == Verdict::kMatch)
      return Judged{Verdict::kMatch, Str(differing, " with other bits, within the tolerance"), {}};
    if (NothingRounds(input_)) return Judged{Verdict::kMismatch, Str(differing, " differ"), std::move(within)};
    experiment_.progress().Stage("interpreting with other roundings");
    const std::string beyond =
        Str(within.bad(), " of ", Counted(within.elements(), "element"), " beyond the tolerance");
    const auto of_input = CompareEnsemble(*TRY(Unmarked()), arguments_.values, actual, TRY(Ensemble(nullptr)));
    const auto of_parts = CompareEnsemble(module, {}, expected, TRY(Ensemble(&module)));
    std::string why_not;
    for (const auto* roundings : {&of_input, &of_parts}) {
      if (!*roundings) why_not = (*roundings).error().message();
      else if (!(*roundings)->unsupported.empty()) why_not = (*roundings)->unsupported;
      else if (!IsSuspect(**roundings, within))
        return Judged{Verdict::kMatch, Str(beyond, ", which roundings explain"), {}, /*rests_on_roundings=*/true};
    }
    if (why_not.empty() && AgreeInF64(module)) why_not = "both programs agree in f64";
    if (!why_not.empty())
      return Judged{Verdict::kInconclusive,
                    Str(beyond, ", and whether roundings explain the difference is not known: ", why_not),
                    {},
                    /*rests_on_roundings=*/true};
    const std::string why = Str(beyond, ", which roundings do not explain");
    if (within.verdict == Verdict::kMismatch) return Judged{Verdict::kMismatch, why, std::move(within)};
    return Judged{Verdict::kInconclusive, why, {}};
  }

  // Whether the input and `module` have the same results in f64, within the tolerance of f64. If so, roundings may
  // explain the difference although the ensemble does not: the ensemble rounds each term independently, but many equal
  // terms are rounded equally.
  bool AgreeInF64(const Module& module) const {
    const auto unmarked = Unmarked();
    if (!unmarked) return false;
    const auto wide_input = WidenedModule(**unmarked), wide_module = WidenedModule(module);
    const auto interpret = Interpreter();
    if (!wide_input || !wide_module || !interpret) return false;
    const auto a = ResultsOf(**wide_input, *interpret, std::byte{0}, /*is_widened=*/true);
    const auto b = ResultsOf(**wide_module, *interpret, std::byte{0}, /*is_widened=*/true);
    if (!a || !b || !a->whole || !b->whole) return false;
    return CompareTolerance(*a->whole, *b->whole, /*tolerance=*/{}, {}).verdict == Verdict::kMatch;
  }

  // The input without markers of shardings, which have no meaning in other types.
  Result<std::unique_ptr<Module>> Unmarked() const {
    std::unique_ptr<Module> unmarked = input_.Clone();
    TRY(RunOnePass(*unmarked, {.pass = FindPass("sharding-remover"), .instance = 1}, {}));
    return unmarked;
  }

  // Options to run the input or, unless null, `partitioned` on all devices.
  Result<EnsembleOptions> Ensemble(const Module* partitioned) const {
    EnsembleOptions ensemble = TRY(experiment_.Ensemble());
    ensemble.most_seconds = kUnaskedSeconds;
    if (partitioned == nullptr) return ensemble;
    ensemble.evaluate = [this](const Module& module, const InterpretOptions& interpret,
                               bool is_widened) -> Result<Literal> {
      JoinedResults joined = TRY(ResultsOf(module, interpret, std::byte{0}, is_widened));
      if (!joined.whole) FAIL(InternalError(joined.why_not));
      return std::move(*joined.whole);
    };
    return ensemble;
  }

  // Also accepts results that match WithZerosForPadding's, or that match `expected_` except where both have NaN: a
  // program may multiply zeros in some convolutions only.
  Status CompareWithZeros(const Module& module, const Literal& actual, Judged& judged) const {
    const auto with_zeros = ResultsOf(*WithZerosForPadding(input_), TRY(Interpreter()));
    if (!with_zeros || !HasOwnNan(expected_, *with_zeros->whole)) return {};
    Literal mixed = actual;
    ReplaceNans(*with_zeros->whole, expected_, mixed);
    Judged again = TRY(Compare(module, *with_zeros->whole, actual));
    if (again.verdict != Verdict::kMatch) again = TRY(Compare(module, expected_, mixed));
    if (again.verdict != Verdict::kMatch) return {};
    judged = std::move(again);
    judged.text += ", with zeros for the padding of convolutions";
    return {};
  }

  Result<std::optional<WrongPart>> FirstWrongPart(const PassRun& run, const Module& before) const {
    experiment_.progress().Stage("comparing the parts of all values");
    const std::unique_ptr<Module> after = TRY(Partitioned(run.number, nullptr));
    const std::unique_ptr<Module> sound = before.Clone();
    Partitioner partitioner(*sound);
    TRY(partitioner.Run());
    const PartitionedPair pair = {.whole = before,
                                  .local = *after,
                                  .parts = partitioner.parts(),
                                  .run = [&](const Module& module, const InterpretOptions& interpret) -> Status {
                                    TRY(ResultsOf(module, interpret, Padding()));
                                    return {};
                                  }};
    return FindWrongPart(pair, TRY(Interpreter()), experiment_.options().compare);
  }

  Culprit CulpritOf(const PassRun& run, std::string_view what, std::optional<Comparison> comparison) const {
    return {.kind = Culprit::Kind::kPass,
            .name = NameOf(run),
            .text = Str(Describe(run), what, "\n                look:  hlo-opt --passes=", ShellWord(kPasses), " ",
                        ShellWord(experiment_.path())),
            .comparison = std::move(comparison)};
  }

  Culprit CulpritOf(const PassRun& run, WrongPart part) const {
    const Instruction& value = InInput(*part.value);
    Culprit culprit = CulpritOf(
        run,
        Str("\n                changed the value of '", value.name(), "' on device ", part.device, SourceAtEnd(value)),
        std::move(part.comparison));
    culprit.input = value.name();
    return culprit;
  }

  // The instruction of the input with this value, or `value` itself if passes made it.
  const Instruction& InInput(const Instruction& value) const {
    for (const Computation* computation : input_.Computations()) {
      for (const Instruction* inst : computation->instructions()) {
        if (inst->id() == value.origin()) return *inst;
      }
    }
    return value;
  }

  // The first pass instance after which the results differ.
  Result<Culprit> Blame(std::span<const PassRun> runs, Judged judged) const {
    experiment_.progress().Stage("looking for the wrong pass");
    const PassRun* wrong = &runs.back();
    for (const PassRun& run : runs) {
      if (!run.changed) continue;
      Judged after = TRY(Judge(*TRY(Partitioned(run.number, nullptr))));
      if (after.verdict != Verdict::kMismatch) continue;
      wrong = &run;
      judged = std::move(after);
      break;
    }
    if (IsPartitioning(*wrong)) {
      const std::unique_ptr<Module> before = TRY(Partitioned(wrong->number - 1, nullptr));
      if (auto part = TRY(FirstWrongPart(*wrong, *before))) return CulpritOf(*wrong, std::move(*part));
    }
    const std::string first = judged.comparison ? FirstBadOutput(input_, *judged.comparison) : "";
    return CulpritOf(*wrong, first, std::move(judged.comparison));
  }

  // Searches for a value that no rounding explains. In the results, roundings of other values may hide it.
  Result<std::optional<Culprit>> ProvenFault(std::span<const PassRun> runs, Judged& judged) const {
    const auto run = std::ranges::find_if(runs, [](const PassRun& one) { return one.changed && IsPartitioning(one); });
    if (run == runs.end()) return std::nullopt;
    const std::unique_ptr<Module> before = TRY(Partitioned(run->number - 1, nullptr));
    auto part = TRY(FirstWrongPart(*run, *before));
    if ((!part || !part->is_proven) && experiment_.options().args.empty()) {
      // More sums are exact on integers.
      Experiment integers = experiment_.With([](RunOptions& options) { options.input_profile = InputProfile::kExact; });
      if (const auto arguments = integers.Arguments())
        part = TRY(PartitionCheck(integers, input_, **arguments, expected_).FirstWrongPart(*run, *before));
    }
    if (!part || !part->is_proven) return std::nullopt;
    judged.verdict = Verdict::kMismatch;
    judged.text = Str("'", InInput(*part->value).name(), "' has wrong parts, which no rounding explains");
    return CulpritOf(*run, std::move(*part));
  }

  Experiment& experiment_;
  const Module& input_;
  const RunArguments& arguments_;
  const Literal& expected_;
};

// Whether partitions of one replica have different arguments. They must be equal, because all parts are cut from the
// same whole arguments.
bool PartitionsDiffer(const ByDevice& by_device, int64_t partitions) {
  for (size_t device = 0; device < by_device.size(); ++device) {
    const std::vector<Literal>& first = by_device[device - device % partitions];
    for (size_t i = 0; i < first.size(); ++i) {
      if (!first[i].BitEquals(by_device[device][i])) return true;
    }
  }
  return false;
}

Result<const Literal*> ExpectedOf(Experiment& experiment) {
  if (!experiment.IsInterpreted()) return &TRY(experiment.Interpreted())->outputs;
  const RunResults& results = *TRY(experiment.Results());
  return results.by_device.empty() ? &results.outputs : &results.by_device[0];
}

}  // namespace

Status JudgePartition(Experiment& experiment, RunReport* report) {
  const Module& input = *TRY(experiment.Input())->module;
  if (input.header.num_partitions <= 1 || !SplitsArrays(input)) return {};
  const RunArguments& arguments = *TRY(experiment.Arguments());
  std::string why_not = report->reference_skipped;
  if (why_not.empty() && PartitionsDiffer(arguments.by_device, input.header.num_partitions))
    why_not = "partitions of one replica have different arguments";
  if (!why_not.empty()) {
    report->notes.push_back(Str("the partitioned program was not judged: ", why_not));
    return {};
  }
  return PartitionCheck(experiment, input, arguments, *TRY(ExpectedOf(experiment))).Run(report);
}

std::string ToString(const PartitionSummary& partition) {
  if (!partition.ran)
    return Str(VerdictText(partition.verdict, partition.text), "  ", Counted(partition.devices, "device"));
  const std::string devices =
      Str(Counted(partition.devices, "device"), ": ", HumanCount(partition.collectives),
          partition.collectives == 1 ? " collective, " : " collectives, ", HumanBytes(partition.bytes), " a device");
  if (partition.verdict == Verdict::kInconclusive || partition.verdict == Verdict::kUnsupported)
    return Str(VerdictText(partition.verdict, partition.text), "  ", devices);
  return Str(VerdictText(partition.verdict, ""), "  ", devices, "; ", partition.text);
}

}  // namespace hlo
