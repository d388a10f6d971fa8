#include <algorithm>
#include <cstdio>
#include <iterator>
#include <tuple>

#include "base/files.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/run/arguments.h"
#include "driver/run/error_report.h"
#include "driver/run/report_page.h"
#include "driver/run/run.h"
#include "tools/bundle_flags.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/module_flags.h"
#include "tools/run_ablate.h"
#include "tools/run_flags.h"
#include "tools/run_many.h"

namespace hlo {
namespace {

FlagSet MakeFlags(RunFlags* f) {
  FlagSet flags(
      "hlo-run", "[flags] MODULE...",
      "Runs a module on given or generated arguments, compares every kernel and the passes with the interpreter, "
      "and names the culprit if a result is wrong.",
      {"hlo-run model.hlo", "hlo-run --args=args.npz --save_outputs=out.npz model.hlo",
       "hlo-run --platform=cpu --reference_platform=none --bench model.hlo",
       "hlo-run --platform=interpreter --num_replicas=4 --arg=r1.x=ones step.hlo      all devices",
       "hlo-run --ablate --pipeline=2022 --target=a100 --svg=worth.svg model.hlo",
       "hlo-run dumps      a folder that XLA's dump flags filled: one line a module or recorded run"});
  AddRunFlags(flags, f, /*with_searches=*/true);
  flags.Common({"platform", "args", "arg", "random_seed", "reference", "tolerance", "print_literals", "save_outputs",
                "bench", "profile", "detect_nan", "triage", "bundle", "xla_dump_to", "json"});
  return flags;
}

Result<ExitCode> RunOne(const std::string& path, const RunFlags& f) {
  Progress progress(f.quiet);
  auto report = RunModuleWithPage(path, f.run, f.html, progress);
  progress.Clear();
  if (!report) {
    const bool verdict = report.error().exit == ExitCode::kUnsupported || report.error().exit == ExitCode::kLimit;
    if (verdict && !f.silent && !(f.json && f.json->empty())) {
      const std::string next = NextOf(report.error(), f.run, path);
      std::printf("%s: %s\n%s", path.c_str(), VerdictOf(report.error()).c_str(),
                  next.empty() ? "" : Str("  next: ", next, "\n").c_str());
    }
    FAIL(std::move(report).error());
  }
  if (f.quiet) report->notes.clear();
  if (!f.quiet && !report->warnings.empty()) std::fprintf(stderr, "note: %s\n", report->warnings.c_str());
  if (f.json) {
    TRY(WriteFile(f.json->empty() ? "-" : *f.json, ReportJson(*report)));
    if (f.json->empty()) return report->exit;
  }
  if (!f.silent) std::fputs(ReportText(*report).c_str(), stdout);
  return report->exit;
}

// The given flags that affect only kernels. Without --reference, they include flags of the comparison.
std::vector<std::string> FlagsOfKernels(const FlagSet& flags, const RunOptions& run) {
  constexpr std::string_view kGroups[] = {"Passes", "Code generation"};
  std::vector<std::string_view> names = {"bench",     "bench_seconds", "work_limit",          "xla_dump_hlo_pass_re",
                                         "dump_diff", "reproducer",    "xla_dump_emitter_re", "host_isa",
                                         "inject"};
  if (run.reference_file.empty()) {
    for (const std::string_view name :
         {"compare_mode", "abs_error_bound", "rel_error_bound", "max_ulp", "tolerance", "nan"})
      names.push_back(name);
  }
  return flags.GivenOf(kGroups, names);
}

// Refuses flags that change nothing without --ablate.
Status CheckAblate(const FlagSet& flags, const AblateFlags& ablate) {
  constexpr std::string_view kFlags[] = {"ablate_metric",    "ablate_pairs", "ablate_repeats",
                                         "ablate_threshold", "csv",          "svg"};
  const std::vector<std::string> given = flags.GivenOf({}, kFlags);
  if (ablate.asked() || given.empty()) return {};
  FAIL(UsageError("F004", Str(given[0].substr(0, given[0].find('=')), " does nothing without --ablate"))
           .Hint("give --ablate, too"));
}

Result<ExitCode> RunParsed(Args args, RunFlags& f) {
  FlagSet flags = MakeFlags(&f);
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (positionals.empty())
    FAIL(flags.WrongFiles("no module given", positionals).Hint("hlo-run model.hlo; '-' is stdin"));
  f.path = positionals.front();
  std::ranges::remove_copy_if(args, std::back_inserter(f.run.flags), [&](const std::string& arg) {
    return std::ranges::find(positionals, arg) != positionals.end() || arg.starts_with("--html=");
  });
  TRY(OneStdin(f.passes, positionals));
  TRY(CheckAblate(flags, f.ablate));
  TRY(ResolveRunFlags(&f));
  ResolveRecording(flags, &f.run);
  TRY(ResolveBundle(flags, "--bundle", &f.run.bundle));
  if (!f.html.empty() && (f.triage.asked() || f.isolate.asked() || f.ablate.asked()))
    FAIL(UsageError("F004", "--html is the page of a run, not of --triage, --isolate or --ablate"));
  f.run.of_kernels = FlagsOfKernels(flags, f.run);
  if (f.triage.asked() || f.isolate.asked() || f.ablate.metric == "time")
    TRY(ParseProfile(Join(f.input_profiles, ",")));
  if (f.triage.asked() && positionals.size() == 1) return TriageModule(f.path, f.run, f.triage, flags, f.json, f.quiet);
  if (f.triage.asked()) FAIL(UsageError("F002", "--triage wants one module"));
  f.run.load.one_state = true;
  std::vector<std::string> notes;
  const std::vector<std::string> paths = TRY(ExpandPaths(positionals, f.run.load, &notes));
  for (const std::string& note : notes) {
    if (!f.quiet) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  if (f.isolate.asked()) return IsolateModules(paths, f.run, f.isolate, f.json, f.quiet, f.silent);
  if (f.ablate.asked()) return AblateModules(paths, f.run, f.ablate, f.json, f.quiet);
  const std::vector<Job> jobs = TRY(JobsOf(paths, f));
  if (jobs.size() != 1) return RunMany(jobs, f);
  const ExitCode exit = TRY(RunOne(jobs[0].path, f));
  WarnOfUnmetPatterns(f.log, f.quiet);
  return exit;
}

}  // namespace

// Writes requested JSON even if the command fails.
Result<ExitCode> RunCommand(Args args) {
  RunFlags f;
  auto exit = RunParsed(args, f);
  if (exit) return exit;
  // The flag may also come from XLA_FLAGS or HLO_FLAGS.
  const std::optional<std::string> json = f.json ? f.json : JsonDestination(args);
  if (json) {
    const std::string report = ErrorJson("hlo.run/1", f.path, exit.error(), NextOf(exit.error(), f.run, f.path));
    std::ignore = WriteFile(json->empty() ? "-" : *json, report);
  }
  return exit;
}

}  // namespace hlo
