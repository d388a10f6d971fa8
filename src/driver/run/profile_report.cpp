#include "driver/run/profile_report.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "driver/profile/summary.h"
#include "driver/profile/trace.h"

namespace hlo {
namespace {

// Consecutive instances of a stage share its span.
void AddPasses(const PipelineReport& passes, std::vector<HostSpan>* spans) {
  std::vector<size_t> open;  // The outermost first.
  std::vector<std::string> names;
  for (const PassRun& run : passes.runs) {
    if (run.skipped) continue;
    size_t same = 0;
    while (same < names.size() && same < run.stages.size() && names[same] == run.stages[same]) ++same;
    names.resize(same);
    open.resize(same);
    for (size_t i = same; i < run.stages.size(); ++i) {
      names.push_back(run.stages[i]);
      open.push_back(spans->size());
      spans->push_back({run.stages[i], 0, static_cast<int>(i) + 1});
    }
    const double ms = run.milliseconds + run.after_milliseconds;
    spans->push_back({NameOf(run), ms, static_cast<int>(open.size()) + 1});
    for (const size_t span : open) (*spans)[span].ms += ms;
  }
}

void AddHostSpans(const RunReport& report, const Profile& profile, TraceOptions* trace) {
  const RunTimes& times = report.times;
  trace->before = {{"read and verify", times.parse}, {"passes", times.passes}};
  AddPasses(report.passes, &trace->before);
  trace->before.push_back({"compile", times.compile});
  if (report.compile) {
    const gpu::CompileReport& compile = *report.compile;
    for (const auto& [name, ms] : {std::pair("libraries", compile.libraries_ms), std::pair("emit", compile.emit_ms),
                                   std::pair("buffers", compile.buffers_ms), std::pair("kernels", compile.kernels_ms)})
      trace->before.push_back({name, ms, 1});
  }
  trace->before.push_back({"arguments", times.arguments});
  trace->before.push_back({"interpret", times.reference});
  trace->before.push_back({"place the arguments", times.placing});
  double profiled = 0;
  for (const auto* runs : {&profile.profiled_ns, &profile.plain_ns}) {
    for (const int64_t ns : *runs) profiled += static_cast<double>(ns) * 1e-6;
  }
  trace->before.push_back({"runs without profile", std::max(0.0, times.all_runs - profiled)});
  trace->after = {{"results", times.results}, {"compare", times.check}};
  std::erase_if(trace->before, [](const HostSpan& span) { return span.ms <= 0; });
  std::erase_if(trace->after, [](const HostSpan& span) { return span.ms <= 0; });
}

}  // namespace

Status ReportProfile(Experiment& experiment, const Profile& profile, RunReport* report) {
  const ProfileOptions& options = experiment.options().profile;
  const ProfileSummary summary = SummaryOf(profile);
  for (const std::string& note : profile.notes) {
    if (std::ranges::find(report->notes, note) == report->notes.end()) report->notes.push_back(note);
  }
  if (options.detail != ProfileDetail::kNone)
    report->profile += ProfileText(summary, options.detail == ProfileDetail::kFull);
  if (!options.json.empty()) TRY(WriteFile(options.json, ProfileJson(summary)));
  if (options.trace.empty()) return {};
  experiment.progress().Stage("writing the trace");
  TraceOptions trace{.most_events = options.most_events, .flags = experiment.options().flags};
  AddHostSpans(*report, profile, &trace);
  const TraceReport written = TRY(WriteTraceFile(profile, trace, options.trace));
  if (written.kept < written.all)
    report->notes.push_back(
        Str("the trace is truncated: ", written.kept, " of ", written.all, " steps and copies (--trace_max_events)"));
  return {};
}

}  // namespace hlo
