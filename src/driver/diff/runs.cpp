#include <algorithm>
#include <random>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "driver/diff/columns.h"
#include "driver/diff/diff.h"
#include "driver/diff/rank_test.h"
#include "driver/run/experiment.h"
#include "driver/run/timing.h"
#include "driver/xml.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/memory_curve.h"
#include "judge/compare/ensemble.h"

namespace hlo {
namespace {

struct Runs {
  Experiment left, right;
};

Experiment ExperimentOf(const DiffSide& side, const RunOptions& run, Progress& progress) {
  return side.text == nullptr ? Experiment(side.path, run, progress) : Experiment(side.text, run, progress);
}

Result<Runs> RunsOf(const DiffSide& left, const DiffSide& right, const DiffFilesOptions& options, Progress& progress) {
  RunOptions run = options.run;
  if (!run.is_interpreter()) run.reference_platform = ReferencePlatform::kNone;
  Runs runs{ExperimentOf(left, run, progress), ExperimentOf(right, run, progress)};
  const Computation& was = TRY(runs.left.Input())->module->entry();
  const Computation& is = TRY(runs.right.Input())->module->entry();
  const auto differ = [&](const std::string& what) {
    Error error(ExitCode::kInconclusive, "A022", Str("the two modules cannot run on the same arguments: ", what));
    return error;
  };
  if (was.parameters().size() != is.parameters().size())
    FAIL(
        differ(Str(was.parameters().size(), " parameters on the left, but ", is.parameters().size(), " on the right")));
  for (size_t i = 0; i < was.parameters().size(); ++i) {
    const Shape &shape = was.parameter(i).shape(), &other = is.parameter(i).shape();
    if (shape.WithDefaultLayout() != other.WithDefaultLayout())
      FAIL(differ(Str("parameter ", i, " is ", shape, " on the left, but ", other, " on the right")));
  }
  const Shape &result = was.root().shape(), &other = is.root().shape();
  if (result.WithDefaultLayout() != other.WithDefaultLayout())
    FAIL(differ(Str("the result is ", result, " on the left, but ", other, " on the right")));
  runs.right.Take(*TRY(runs.left.Arguments()));
  return runs;
}

double Median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

// Mean milliseconds of executions that together take at least kLeastMs.
Result<double> TimeOnce(gpu::Executable& executable) {
  constexpr double kLeastMs = 10;
  int64_t runs = 0;
  double ms = 0;
  while (ms < kLeastMs) {
    TRY(executable.MakeReady());
    const Stopwatch watch;
    TRY(executable.Execute());
    ms += watch.ms();
    ++runs;
  }
  return ms / static_cast<double>(runs);
}

struct Memory {
  double planned, peak;  // `peak` counts temporaries and results that are live together.
};
Memory MemoryOf(const gpu::Executable& executable) {
  const gpu::MemoryCurve curve = gpu::CurveOf(*executable.program());
  return {static_cast<double>(executable.memory().peak_bytes()), static_cast<double>(curve.at[curve.peak].bytes())};
}

std::string MemoryText(const Memory& left, const Memory& right) {
  const auto change = [](double was, double is) {
    return Str(HumanBytes(was), was == is ? " = " : " -> ", HumanBytes(is), ChangeInPercent(was, is));
  };
  return Str("memory     planned ", change(left.planned, right.planned), "   live at once ",
             change(left.peak, right.peak), "\n");
}

// The default tolerance is a rule of thumb, so results match if other roundings explain them.
Status AllowForRoundings(Runs& runs, DiffReport* report) {
  const RunArguments& arguments = *TRY(runs.left.Arguments());
  if (!arguments.by_device.empty()) return {};
  std::vector<std::string> found;
  const auto explains = [&](Experiment& program, Experiment& results, std::string_view side) -> Result<bool> {
    program.progress().Stage("interpreting with different roundings");
    const EnsembleOptions options = {.seed = static_cast<uint64_t>(program.options().seed),
                                     .interpret = TRY(program.Interpreter()),
                                     .most_seconds = kUnaskedSeconds};
    const EnsembleResult roundings =
        TRY(CompareEnsemble(*TRY(program.Input())->module, arguments.values, TRY(results.Results())->outputs, options));
    const std::string text = ToString(roundings);
    found.push_back(Str("for the ", side, " module: ", text.substr(0, text.find('\n'))));
    return roundings.unsupported.empty() && !roundings.suspect;
  };
  const bool is_explained =
      TRY(explains(runs.left, runs.right, "left")) || TRY(explains(runs.right, runs.left, "right"));
  if (is_explained) found = {found.back()};
  report->text +=
      Str("ensemble   roundings ", is_explained ? "explain the difference; " : "do not explain the difference; ",
          Join(found, "; "), "\n");
  if (!is_explained) return {};
  report->exit = ExitCode::kOk;
  report->verdict = "MATCH";
  report->detail += " by the tolerance of the element type, and roundings explain the difference";
  return {};
}

}  // namespace

Result<DiffReport> DiffValues(const DiffSide& left, const DiffSide& right, const DiffFilesOptions& options,
                              Progress& progress) {
  Runs runs = TRY(RunsOf(left, right, options, progress));
  const Literal& was = TRY(runs.left.Results())->outputs;
  const Literal& is = TRY(runs.right.Results())->outputs;
  const RunOptions& run = options.run;
  DiffReport report =
      ReportOf(run.compare_mode == CompareMode::kBitwise ? CompareBitwise(was, is, run.compare)
                                                         : CompareTolerance(was, is, run.tolerance, run.compare),
               "output");
  if (report.exit == ExitCode::kNo && !run.tolerance_given) TRY(AllowForRoundings(runs, &report));
  report.text = Str("values     both on ",
                    TRY(runs.left.ResolvedPlatform())->device == nullptr ? "the interpreter" : run.platform,
                    ", on the same arguments (", TRY(runs.left.Arguments())->description,
                    "); the left module gives the expected values\n", report.text);
  if (options.format == DiffFormat::kText) report.text.clear();
  return report;
}

Result<DiffReport> DiffTimes(const DiffSide& left, const DiffSide& right, const DiffFilesOptions& options,
                             Progress& progress) {
  Runs runs = TRY(RunsOf(left, right, options, progress));
  if (TRY(runs.left.ResolvedPlatform())->device == nullptr)
    FAIL(UsageError("F004", "--mode=perf needs a platform that compiles, and the interpreter does not compile")
             .Hint("--platform=cpu compiles for this machine"));
  gpu::Executable* const executables[] = {TRY(runs.left.Placed()), TRY(runs.right.Placed())};
  std::vector<double> ms[2];
  progress.Stage("running both alternately");
  for (gpu::Executable* executable : executables) TRY(TimeOnce(*executable));
  std::mt19937_64 order(static_cast<uint64_t>(options.run.seed));
  for (int64_t round = 0; round < options.rounds; ++round) {
    const size_t first = order() & 1;
    for (const size_t side : {first, 1 - first}) ms[side].push_back(TRY(TimeOnce(*executables[side])));
    progress.Step(round + 1, options.rounds, "round");
  }
  const double was = Median(ms[0]), is = Median(ms[1]), p = RankTest(ms[0], ms[1]);
  const bool differs = p < options.significance;
  const auto times = [&](const std::vector<double>& all) {
    return Str(HumanMilliseconds(Median(all)), " (", HumanMilliseconds(std::ranges::min(all)), " to ",
               HumanMilliseconds(std::ranges::max(all)), ")");
  };
  DiffReport report;
  report.exit = differs ? ExitCode::kNo : ExitCode::kOk;
  report.verdict = differs ? "DIFFERENT" : "EQUAL";
  report.detail = Str("time ", Format("%+.1f %%", 100 * (is / was - 1)), differs ? "" : ", which is not significant");
  report.text = Str("time       ", times(ms[0]), " -> ", times(ms[1]), Format("   %+.1f %%   p ", 100 * (is / was - 1)),
                    ProbabilityText(p), "   (Mann-Whitney, ", options.rounds, " alternating rounds, ",
                    options.run.platform, ")\n");
  const Memory memory[] = {MemoryOf(*executables[0]), MemoryOf(*executables[1])};
  report.text += MemoryText(memory[0], memory[1]);
  report.html = Str("<pre>", XmlText(report.text), "</pre>\n");
  if (options.format == DiffFormat::kText) report.text.clear();
  JsonWriter json;
  json.Open('{')
      .Key("left_ms")
      .Value(was)
      .Key("right_ms")
      .Value(is)
      .Key("p")
      .Value(p)
      .Key("test")
      .Value("mann-whitney");
  for (const size_t side : {0, 1}) {
    json.Key(side == 0 ? "left_runs" : "right_runs").Open('[');
    for (const double one : ms[side]) json.Value(one);
    json.Close(']').Key(side == 0 ? "left_memory" : "right_memory").Open('{');
    json.Key("planned_bytes").Value(memory[side].planned).Key("peak_bytes").Value(memory[side].peak).Close('}');
  }
  report.json = Str("\"perf\":", json.Close('}').text(), ",");
  return report;
}

}  // namespace hlo
