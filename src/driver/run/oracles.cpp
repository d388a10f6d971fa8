#include "driver/run/oracles.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
#include "driver/run/exact_check.h"
#include "driver/run/partition_check.h"
#include "driver/run/pass_check.h"
#include "driver/run/run_check.h"
#include "ir/analysis/cost.h"
#include "judge/bounds/slice.h"
#include "judge/compare/compare.h"
#include "judge/compare/ensemble.h"

namespace hlo {
namespace {

Status JudgeOutputs(Experiment& experiment, RunReport* report) {
  const RunOptions& options = experiment.options();
  const Literal& expected = TRY(experiment.Reference())->outputs;
  const Literal& outputs = TRY(experiment.Results())->outputs;
  experiment.progress().Stage("comparing the results");
  report->outputs = options.compare_mode == CompareMode::kBitwise
                        ? CompareBitwise(expected, outputs, options.compare)
                        : CompareTolerance(expected, outputs, options.tolerance, options.compare);
  return {};
}

Status JudgeDataflow(Experiment& experiment, RunReport* report) {
  const FollowedRun& followed = *TRY(experiment.Followed());
  report->dataflow = followed.summary;
  // This fault takes precedence, because a step that reads a wrong value makes later steps wrong too.
  if (!followed.fault.empty())
    report->culprit = {
        .kind = Culprit::Kind::kRuntime, .name = followed.culprit, .text = Str("run time: ", followed.fault)};
  return {};
}

Status JudgeEnsemble(Experiment& experiment, RunReport* report) {
  const Module& module = *TRY(experiment.Input())->module;
  const Literal& outputs = TRY(experiment.Results())->outputs;
  experiment.progress().Stage("interpreting with other roundings");
  const EnsembleOptions ensemble = TRY(experiment.Ensemble());
  const std::vector<Literal>& arguments = TRY(experiment.Arguments())->values;
  report->ensemble = TRY(CompareEnsemble(module, arguments, outputs, ensemble));
  if (experiment.options().reference_file.empty() || !report->ensemble->unsupported.empty()) return {};
  // Roundings must explain both our results and the file's results.
  EnsembleResult of_file = TRY(CompareEnsemble(module, arguments, TRY(experiment.Reference())->outputs, ensemble));
  if (of_file.worst() > report->ensemble->worst()) report->ensemble = std::move(of_file);
  return {};
}

std::string EnsembleLine(const EnsembleResult& ensemble) {
  return Str(!ensemble.unsupported.empty() ? "" : ensemble.suspect ? "SUSPECT  " : "MATCH  ", ToString(ensemble));
}

constexpr Oracle kOracles[] = {
    {"reference", "compares the outputs with the interpreter's or a file's, by a tolerance or by the bits",
     Need::kReference, Beyond::kLeaveOut, JudgeOutputs, [](const RunReport&) { return std::string(); }},
    {"local", "judges each kernel and library call from the operands that it read, within bounds derived for it",
     Need::kCode, Beyond::kSample,
     [](Experiment& experiment, RunReport* report) -> Status {
       return JudgeKernels(experiment, *TRY(experiment.Followed()), report);
     },
     [](const RunReport& report) { return report.local ? ToString(*report.local) : ""; }},
    {"dataflow", "checks that the steps ran in the module's order, and that each read unchanged values", Need::kCode,
     Beyond::kAllTheSame, JudgeDataflow,
     [](const RunReport& report) { return report.dataflow ? ToString(*report.dataflow) : ""; }},
    {"passes", "judges exact passes by the bits of their values, other passes by bits, residues or in f64", Need::kCode,
     Beyond::kSample, JudgePasses, [](const RunReport& report) { return report.widened; }},
    {"partition",
     "interprets the program of one device on all devices, and compares the joined results with the results before "
     "partitioning",
     Need::kPartitions, Beyond::kLeaveOut, JudgePartition,
     [](const RunReport& report) { return report.partition ? ToString(*report.partition) : ""; }},
    {"exact", "compares the bits of the outputs, or of each kernel, on integers that no operation rounds",
     Need::kReference, Beyond::kAllTheSame, JudgeExact,
     [](const RunReport& report) { return report.exact ? ToString(*report.exact) : ""; }},
    {"ensemble", "decides whether other roundings explain the difference of the outputs", Need::kReference,
     Beyond::kAllTheSame, JudgeEnsemble,
     [](const RunReport& report) { return report.ensemble ? EnsembleLine(*report.ensemble) : ""; }},
};

const CompareModeRow kModes[] = {
    {.mode = CompareMode::kAuto,
     .what = "local, passes and partition",
     .oracles = {"reference", "local", "dataflow", "passes", "partition"},
     .parts_decide = true},
    {.mode = CompareMode::kLocal,
     .what = "each kernel, within derived bounds",
     .oracles = {"reference", "local", "dataflow"},
     .parts_decide = true},
    {.mode = CompareMode::kPasses, .what = "the passes", .oracles = {"reference", "passes"}, .parts_decide = true},
    {.mode = CompareMode::kWidened,
     .what = "the same as passes",
     .oracles = {"reference", "passes"},
     .parts_decide = true},
    {.mode = CompareMode::kPartition,
     .what = "the partitioned program",
     .oracles = {"reference", "partition"},
     .parts_decide = true},
    {.mode = CompareMode::kExact,
     .what = "the outputs on integers that no operation rounds",
     .oracles = {"reference", "exact"},
     .outputs_decide = true},
    {.mode = CompareMode::kEnsemble,
     .what = "whether roundings explain the difference; SUSPECT if they do not",
     .oracles = {"reference", "ensemble"}},
    {.mode = CompareMode::kAll,
     .what = "local, passes, partition, exact and ensemble",
     .oracles = {"reference", "local", "dataflow", "passes", "partition", "exact", "ensemble"}},
    {.mode = CompareMode::kTolerance,
     .what = "the outputs within a fixed tolerance",
     .oracles = {"reference"},
     .outputs_decide = true},
    {.mode = CompareMode::kBitwise, .what = "the outputs bit by bit", .oracles = {"reference"}, .outputs_decide = true},
};

}  // namespace

std::span<const Oracle> AllOracles() { return kOracles; }

std::string_view ToString(Need need) {
  switch (need) {
    case Need::kCode: return "kernels";
    case Need::kReference: return "a reference";
    case Need::kPartitions: return "partitions";
  }
  return "";
}

std::string_view ToString(Beyond beyond) {
  switch (beyond) {
    case Beyond::kSample: return "a sample";
    case Beyond::kLeaveOut: return "left out";
    case Beyond::kAllTheSame: return "in full";
  }
  return "";
}

bool CompareModeRow::Has(const Oracle& oracle) const {
  return std::ranges::find(oracles, oracle.name) != oracles.end();
}

std::span<const CompareModeRow> AllCompareModes() { return kModes; }

const CompareModeRow& ModeOf(const RunOptions& options) {
  return *std::ranges::find(kModes, options.compare_mode, &CompareModeRow::mode);
}

// Dots are fast, and the first access to memory is slow. An unknown trip count is one trip. A reduce-window takes fewer
// steps than CostAnalysis counts.
double StepsOfInterpreting(const Module& module) {
  constexpr double kDotFlopsAStep = 20, kStepsAByte = 0.5;
  const CostAnalysis costs(module);
  const Cost& cost = costs.CostOf(module.entry());
  const double dots = std::accumulate(cost.dot_flops.begin(), cost.dot_flops.end(), 0.0);
  double steps = cost.scalar_work + dots / kDotFlopsAStep + cost.bytes() * kStepsAByte;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (!inst->Is(Opcode::kReduceWindow) || !inst->shape().IsArray()) continue;
      const auto windows = static_cast<double>(shadow::StepsOf(*inst, inst->shape().NumElements()));
      steps -= std::max(0.0, costs.CostOf(*inst).scalar_work - windows);
    }
  }
  return steps;
}

double SecondsOfRunning(const Module& module) {
  constexpr double kDotFlops = 1e11, kOperations = 4e9, kBytes = 1e10;  // Per second.
  const CostAnalysis costs(module);
  const Cost& cost = costs.CostOf(module.entry());
  const double dots = std::accumulate(cost.dot_flops.begin(), cost.dot_flops.end(), 0.0);
  return dots / kDotFlops + cost.scalar_work / kOperations + cost.bytes() / kBytes;
}

}  // namespace hlo
