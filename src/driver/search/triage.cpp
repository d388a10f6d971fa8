#include "driver/search/triage.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/files.h"
#include "base/json.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/command_line.h"
#include "driver/inspect/text.h"
#include "driver/run/bundle_writer.h"
#include "driver/run/divergence.h"
#include "driver/search/bisect.h"
#include "driver/search/child.h"
#include "driver/search/reduce.h"

namespace hlo {
namespace {

using Clock = std::chrono::steady_clock;
using Announce = std::function<void(const std::string&)>;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string ReportOf(const TriageReport& report) {
  std::string out =
      Str("# ", report.path, "\n\n", report.symptom.detail, "\n\n| | step | found | s |\n|---|---|---|---|\n");
  for (size_t i = 0; i < report.steps.size(); ++i) {
    std::string found = report.steps[i].found;
    for (size_t at = 0; (at = found.find('|', at)) != found.npos; at += 2) found.insert(at, "\\");
    std::ranges::replace(found, '\n', ' ');
    out += Str("| ", i + 1, " | ", report.steps[i].name, " | ", found, " | ", Format("%.1f", report.steps[i].seconds),
               " |\n");
  }
  if (!report.change.empty()) out += Str("\nWhat the rewrite changed:\n\n````\n", report.change, "````\n");
  if (!report.bundle.empty()) out += Str("\n`hlo-run ", ShellWord(report.bundle), "` shows it.\n");
  return out;
}

class Triager {
 public:
  Triager(std::string path, std::shared_ptr<const SourceText> text, const TriageOptions& options,
          const Announce& announce, const std::function<void(const TriageReport&)>& found)
      : text_(std::move(text)), options_(options), announce_(announce), found_(found) {
    report_.path = std::move(path);
  }

  Result<TriageReport> Run() {
    TRY(MakeDirectories(options_.directory));
    TRY(Step("each time", [&] { return Steadiness(); }));
    if (report_.symptom.way.empty())
      FAIL(Error(ExitCode::kInconclusive, "N003",
                 Str("'", Escaped(report_.path), "': ", report_.symptom.Text(), "; there is nothing to triage")));
    TRY(Step("accused", [&] { return Accusation(); }));
    TRY(Step("located", [&] { return Location(); }));
    TRY(Step("elsewhere", [&] { return Elsewhere(); }));
    TRY(Step("reduced", [&] { return Reduction(); }));
    TRY(Step("bundle", [&] { return MakeBundle(); }));
    return std::move(report_);
  }

 private:
  template <class Ask>
  Status Step(std::string name, Ask ask) {
    announce_(name);
    const Clock::time_point start = Clock::now();
    std::string found = ask();
    report_.steps.push_back({std::move(name), std::move(found), SecondsSince(start)});
    if (report_.symptom.way.empty()) return {};
    TRY(WriteFile(options_.directory + "/REPORT.md", ReportOf(report_)));
    TRY(WriteFile(options_.directory + "/triage.json", TriageJson(report_)));
    found_(report_);
    return {};
  }

  double SecondsLeft() const { return std::max(1.0, options_.seconds - SecondsSince(start_)); }

  Symptom Try(const RunOptions& run, Depth depth, int threads = 0) {
    Trial trial(text_, run, {.property = {}, .depth = depth, .seconds = SecondsLeft(), .threads = threads});
    return trial.symptom();
  }

  std::string Steadiness() {
    constexpr int kRuns = 3;
    report_.symptom = Try(options_.run, Depth::kRun);
    const Symptom& first = report_.symptom;
    if (first.way.empty()) return "";
    depth_ = DepthOf(first, {});
    int same = 1, other_bits = 0;
    for (int i = 1; i < kRuns; ++i) {
      const Symptom again = Try(options_.run, depth_);
      same += static_cast<int>(again.way == first.way);
      other_bits += static_cast<int>(!again.bits.empty() && again.bits != first.bits);
    }
    report_.steady = same == kRuns;
    const std::string bits = other_bits > 0 ? ", with different bits" : "";
    return Str(report_.steady ? "yes, " : "no, ", same, " of ", kRuns, " runs", bits, ": ", first.way);
  }

  std::string Accusation() const {
    const Symptom& symptom = report_.symptom;
    const std::string made_by = symptom.made_by.empty() ? "" : Str(", which ", symptom.made_by, " made");
    switch (symptom.accused) {
      case Culprit::Kind::kPass:
        return Str("pass '", symptom.name, "': the optimized module computes something else",
                   symptom.input.empty() ? "" : Str(", first at '", symptom.input, "'"));
      case Culprit::Kind::kKernel:
        return Str("kernel '", symptom.name, "'", made_by,
                   ": its results exceed their error bounds on the inputs that it received");
      case Culprit::Kind::kLibrary:
        return Str("library call '", symptom.name, "'", made_by,
                   ": its results exceed their error bounds on the inputs that it received");
      case Culprit::Kind::kRuntime: return Str("the run time: ", symptom.detail);
      case Culprit::Kind::kNone:
        if (IsOfAPass()) return Str("pass '", symptom.stage.substr(5), "', which was running: ", symptom.detail);
        return Str("not known; the run reached ", symptom.stage, ": ", symptom.detail);
      default: return symptom.detail;
    }
  }

  bool IsOfAPass() const {
    const Symptom& symptom = report_.symptom;
    return symptom.accused == Culprit::Kind::kPass || symptom.stage.starts_with("pass ");
  }

  Property PropertyOfSymptom() const {
    Property property;
    const std::string& way = report_.symptom.way;
    property.kind = way.starts_with("MISMATCH")                           ? PropertyKind::kMismatch
                    : way.starts_with("error")                            ? PropertyKind::kError
                    : way.starts_with("crash") || way.starts_with("hang") ? PropertyKind::kCrash
                                                                          : PropertyKind::kFails;
    return property;
  }

  std::string Location() {
    if (IsOfAPass()) return CulpritRewrite();
    if (report_.symptom.accused == Culprit::Kind::kKernel) return CulpritInstruction();
    if (report_.symptom.accused == Culprit::Kind::kLibrary) return "hlokit cannot look into a library call";
    return "the culprit has no smaller part to search";
  }

  std::string CulpritRewrite() {
    const BisectOptions bisect{.run = options_.run,
                               .property = PropertyOfSymptom(),
                               .over = BisectOver::kPasses,
                               .confirm = 1,
                               .trial_seconds = SecondsLeft(),
                               .measured = false,
                               .directory = options_.directory + "/pass",
                               .flags = {},
                               .with_flags = {}};
    const auto found = Bisect(report_.path, bisect, announce_);
    if (!found) return Str("not found: ", found.error().message());
    report_.change = found->change;
    return Str(found->culprit, found->rewrite.empty() ? "" : Str("; ", found->rewrite),
               found->files.empty() ? "" : Str("   (", Join(found->files, " "), ")"));
  }

  // A wrong kernel may do anything, so a child process answers the question.
  std::optional<std::string> AskChild(const std::function<std::string()>& question) const {
    ChildProcess child(
        [&question](int, std::FILE* answers) {
          std::string answer = question();
          std::ranges::replace(answer, '\n', ' ');
          std::fprintf(answers, "%s\n", answer.c_str());
          std::fflush(answers);
          std::_Exit(0);
        },
        {.seconds = SecondsLeft(), .keeps_words = true});
    return child.ReadLine();
  }

  std::string CulpritInstruction() const {
    RunOptions run = options_.run;
    run.bundle = {};
    run.first_divergence = true;
    run.compare_mode = CompareMode::kLocal;
    const auto answer = AskChild([&]() -> std::string {
      Progress progress(/*quiet=*/true);
      Experiment experiment(text_, run, progress);
      const auto report = hlo::Run(experiment);
      if (!report) return report.error().message();
      if (report->divergence == nullptr || !report->divergence->first) return "no step is wrong this time";
      const StepErrors& step = report->divergence->steps[*report->divergence->first];
      return Str("'", step.name, "' (", step.kind, ")", step.source.empty() ? "" : Str(" from ", step.source),
                 step.loops.empty() ? "" : Str(", ", step.loops), Format("; error over bound %.3g; ", step.own_ratio),
                 report->divergence->inside);
    });
    return answer.value_or("the run timed out or crashed");
  }

  // Changes one condition of the failure at a time.
  std::string Elsewhere() {
    struct Change {
      const char* name;
      bool applies;
      std::function<void(RunOptions&)> make;
      int threads = 0;
    };
    const RunOptions& run = options_.run;
    const bool in_code = !IsOfAPass() && report_.symptom.stage != "reading";
    const Change changes[] = {
        {"on one thread", in_code, [](RunOptions&) {}, 1},
        {"without libraries", report_.symptom.accused == Culprit::Kind::kLibrary,
         [](RunOptions& o) { o.libraries = false; }},
        {"on the host", run.platform.starts_with("cuda") || run.platform.starts_with("gpu"),
         [](RunOptions& o) { o.platform = "cpu"; }},
        {"without passes", in_code, [](RunOptions& o) { o.pipeline.passes = ""; }},
        {"with another seed", run.args.empty(), [](RunOptions& o) { ++o.seed; }},
    };
    std::string found;
    for (const Change& change : changes) {
      if (!change.applies) continue;
      announce_(change.name);
      RunOptions other = run;
      change.make(other);
      const Symptom symptom = Try(other, in_code ? Depth::kRun : depth_, change.threads);
      found += Str(found.empty() ? "" : "; ", change.name, " ",
                   symptom.way.empty()                  ? "it succeeds"
                   : symptom.way == report_.symptom.way ? "it fails in the same way"
                                                        : symptom.way);
    }
    return found.empty() ? "there is no condition to vary" : found;
  }

  std::string Reduction() {
    const std::string output = options_.directory + "/reduced.hlo";
    const ReduceOptions reduce{.run = options_.run,
                               .property = PropertyOfSymptom(),
                               .output = output,
                               .jobs = options_.jobs,
                               .seconds = SecondsLeft(),
                               .trial_seconds = 0,
                               .confirm = 1};
    const auto reduced = Reduce(text_, reduce, announce_, [](const std::string&) {});
    if (!reduced) return Str("not reduced: ", reduced.error().message());
    report_.module = output;
    args_ = reduced->args;
    if (reduced->is_text)
      return Str(reduced->lines_before, " -> ", Counted(reduced->lines, "line"), "   (", output, ")");
    return Str(reduced->instructions_before, " -> ", Counted(reduced->instructions, "instruction"), ", ",
               reduced->elements_before, " -> ", Counted(reduced->elements, "element"),
               reduced->timed_out ? " when the time limit was reached" : "",
               reduced->reproduced > 0 ? "" : ", which no longer fails", "   (", output, ")");
  }

  std::string MakeBundle() {
    RunOptions run = options_.run;
    run.bundle.directory = options_.directory + "/repro";
    if (!args_.empty()) run.args = args_, run.arg.clear();
    const std::string& path = report_.module.empty() ? report_.path : report_.module;
    const bool ends = report_.symptom.way.starts_with("crash") || report_.symptom.way.starts_with("hang");
    const auto answer = AskChild([&]() -> std::string {
      Progress progress(/*quiet=*/true);
      Experiment experiment(path, run, progress);
      if (ends) {  // The run does not return.
        const auto folder = WriteBundle(experiment, std::unexpected(InternalError(report_.symptom.detail)));
        return folder ? *folder : Str("none: ", folder.error().message());
      }
      const auto report = RunModule(path, run, progress);
      return report || IsBundle(run.bundle.directory) ? run.bundle.directory : Str("none: ", report.error().message());
    });
    if (!answer || !IsBundle(*answer)) return answer.value_or("none: the run timed out or crashed");
    report_.bundle = *answer;
    return Str(*answer, "   (hlo-run ", ShellWord(*answer), ")");
  }

  const std::shared_ptr<const SourceText> text_;
  const TriageOptions& options_;
  const Announce& announce_;
  const std::function<void(const TriageReport&)>& found_;
  const Clock::time_point start_ = Clock::now();
  TriageReport report_;
  Depth depth_ = Depth::kRun;
  std::string args_;
};

}  // namespace

Result<TriageReport> Triage(const std::string& path, const TriageOptions& options, const Announce& announce,
                            const std::function<void(const TriageReport&)>& found) {
  auto text = TRY(ReadSource(ModuleFile(path), options.run.load.max_input));
  return Triager(path, std::move(text), options, announce, found).Run();
}

std::string ToLine(const TriageStep& step, size_t number) {
  return Format("  %zu %-10s %s\n", number, step.name.c_str(), step.found.c_str());
}

std::string TriageJson(const TriageReport& report) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.triage/1").Key("path").Value(report.path);
  json.Key("way").Value(report.symptom.way).Key("detail").Value(report.symptom.detail);
  json.Key("steady").Value(report.steady).Key("steps").Open('[');
  for (const TriageStep& step : report.steps) {
    json.Open('{').Key("name").Value(step.name).Key("found").Value(step.found);
    json.Key("seconds").Value(step.seconds).Close('}');
  }
  json.Close(']').Key("change").Value(report.change).Key("module").Value(report.module);
  json.Key("bundle").Value(report.bundle).Close('}');
  return json.text() + "\n";
}

}  // namespace hlo
