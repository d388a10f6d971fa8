#include "tools/run_ablate.h"

#include <unistd.h>

#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "driver/run/recording.h"
#include "driver/search/ablate.h"

namespace hlo {

void AddAblateFlags(FlagSet& flags, AblateFlags* f) {
  flags.Group("Ablation: the effect of each pass");
  flags.OptionalString("ablate", &f->ablate, "RE",
                       "run the module once without each matching pass that changes it, and print the effect of the "
                       "pass on time, kernels, bytes and results; instead of RE, the value may be pass, instance, "
                       "pipeline or rule, as in --ablate_by");
  flags.String("ablate_by", &f->by, "WHAT",
               "parts that are disabled one at a time: pass, instance, pipeline or rule; all: all passes at once, for "
               "several modules in one table");
  flags.Choice("ablate_metric", &f->metric, {"model", "time"},
               "model: time by the description of --target's device; time: measured on the platform, with verdicts and "
               "95 % intervals");
  flags.Int("ablate_repeats", &f->repeats, "rounds of measurements; each runs every variant once, in random order", 3);
  flags.Double("ablate_threshold", &f->threshold, "smallest effect that is listed; smaller ones are only counted");
  constexpr int64_t kMostOfPairs = 20;  // At most 190 variants.
  flags.Int("ablate_pairs", &f->pairs,
            "also disable the N most effective passes in pairs, and print the effect of each pair minus the sum of "
            "both effects; 0: no pairs",
            0, kMostOfPairs);
  flags.String("csv", &f->csv, "FILE",
               "write all rows as comma-separated values, also those of pairs; -: to stdout instead of the table");
  flags.String("svg", &f->svg, "FILE", "write a chart of the effects");
}

namespace {

Result<AblateOptions> OptionsOf(const RunOptions& run, const AblateFlags& f) {
  AblateOptions options{.run = run, .only = {}, .pattern = {}};
  std::string by = f.by;
  if (f.ablate && !f.ablate->empty()) {
    const bool is_kind = AblateByFromText(*f.ablate).has_value() && *f.ablate != "all";
    if (is_kind && by.empty()) by = *f.ablate;
    else options.only = TRY(Pattern::Compile(*f.ablate, "ablate")), options.pattern = *f.ablate;
  }
  const auto kind = AblateByFromText(by.empty() ? "pass" : by);
  if (!kind)
    FAIL(UsageError("F004", Str("--ablate_by wants pass, instance, pipeline, rule or all, not '", Escaped(by), "'")));
  options.by = *kind;
  options.measured = f.metric == "time";
  options.rounds = f.repeats;
  options.threshold = f.threshold;
  options.examples_per_run = run.profile.examples_per_run;
  options.pairs = f.pairs;
  if (f.pairs > 0 && *kind == AblateBy::kAll)
    FAIL(UsageError("F004",
                    "--ablate_pairs switches passes off two at a time, but --ablate_by=all has only one variant"));
  options.run.reoptimize = true;
  // The passes are those for the platform of the measurement.
  if (options.measured && KindOfPlatform(run.platform) == PlatformKind::kAuto) options.run.platform = "cpu";
  return options;
}

}  // namespace

Result<ExitCode> AblateModules(const std::vector<std::string>& paths, const RunOptions& run, const AblateFlags& f,
                               const std::optional<std::string>& json, bool quiet) {
  const AblateOptions options = TRY(OptionsOf(run, f));
  const bool shows = !quiet && isatty(STDERR_FILENO) != 0;
  std::vector<Ablation> ablations;
  ExitCode exit = ExitCode::kOk;
  for (const std::string& path : paths) {
    AblateOptions own = options;
    TakeRecordedArguments(path, &own.run);
    ablations.push_back(TRY(Ablate(path, own, [&](const std::string& what) {
      if (shows) std::fprintf(stderr, "\r\033[K%s: %s", path.c_str(), what.c_str());
    })));
    for (const AblationRow& row : ablations.back().rows) {
      if (row.outcome.verdict.starts_with("MISMATCH")) exit = ExitCode::kNo;
    }
  }
  if (shows) std::fputs("\r\033[K", stderr);
  if (!f.svg.empty()) TRY(WriteFile(f.svg, AblationSvg(ablations, options)));
  if (json) TRY(WriteFile(json->empty() ? "-" : *json, AblationJson(ablations, options)));
  if (!f.csv.empty()) TRY(WriteFile(f.csv, AblationCsv(ablations)));
  const bool is_silent = (json && json->empty()) || f.csv == "-";
  if (!is_silent) std::fputs(AblationText(ablations, options).c_str(), stdout);
  return exit;
}

}  // namespace hlo
