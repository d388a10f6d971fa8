#include "tools/run_triage.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/files.h"
#include "base/processors.h"
#include "base/text.h"
#include "driver/command_line.h"
#include "driver/inspect/text.h"
#include "driver/run/recording.h"
#include "driver/search/triage.h"
#include "tools/bundle_flags.h"
#include "tools/command.h"
#include "tools/search_flags.h"

namespace hlo {

void AddTriageFlags(FlagSet& flags, TriageFlags* triage) {
  flags.Group("Triage: the wrong part, and a small module that shows the fault");
  flags.OptionalString("triage", &triage->directory, "DIR",
                       "examine a failing run: whether the failure repeats, the wrong part, the rewrite or instruction "
                       "in it, the conditions of the failure, and a small module that still fails; the findings and a "
                       "bundle of the small module are in DIR (default: hlo-out/triage-MODULE)");
  flags.Double("triage_budget", &triage->seconds, "seconds for the whole triage");
}

Result<ExitCode> TriageModule(const std::string& path, RunOptions run, const TriageFlags& flags, const FlagSet& given,
                              const std::optional<std::string>& json, bool quiet) {
  if (path == "-") FAIL(UsageError("F004", "--triage reads the module several times, but stdin can be read only once"));
  std::string directory = *flags.directory;
  if (directory.empty()) directory = "hlo-out/triage-" + FileNamePart(std::filesystem::path(path).stem().string());
  run.bundle.directory = directory + "/repro";
  TRY(ResolveBundle(given, "--triage", &run.bundle));
  TakeRecording(path, &run);
  const TriageOptions options{.run = run, .directory = directory, .seconds = flags.seconds, .jobs = UsableProcessors()};
  const bool prints_text = !json || !json->empty();
  SetInterruptionNote("nothing was found yet");
  const auto found = Triage(path, options, ProgressLine(path, quiet), [&](const TriageReport& report) {
    ClearProgressLine(quiet);
    if (prints_text) std::fputs(ToLine(report.steps.back(), report.steps.size()).c_str(), stdout);
    std::fflush(stdout);
    SetInterruptionNote(
        Str("found so far, in ", directory, "/REPORT.md: ", Counted(std::ssize(report.steps), "step"), ""));
  });
  ClearProgressLine(quiet);
  if (!found) FAIL(found.error());
  if (json) TRY(WriteFile(json->empty() ? "-" : *json, TriageJson(*found)));
  if (prints_text) std::printf("report: %s/REPORT.md\n", directory.c_str());
  return found->steady ? ExitCode::kNo : ExitCode::kInconclusive;
}

}  // namespace hlo
