#include "driver/pass_watch.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "driver/optimize.h"
#include "passes/pipelines/text.h"

namespace hlo {
namespace {

void Out(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

bool PassWatch::Names::Have(const PassRun& run) {
  bool has = all;
  const std::array<std::string_view, 1> stages = {run.pipeline};
  for (const Selector& selector : selectors) has |= selector.Matches(run, stages);
  met |= has;
  return has;
}

Result<std::optional<PassWatch::Names>> PassWatch::NamesOf(std::string_view flag,
                                                           const std::optional<std::string>& text,
                                                           const PipelineOptions& pipeline) {
  if (!text) return std::nullopt;
  Names names{.flag = flag, .text = *text, .all = text->empty() || *text == "all", .selectors = {}};
  if (names.all) return names;
  const Pipeline parsed = TRY(ParsePipeline(TextOf(pipeline)));
  for (const std::string_view name : Split(*text, ',')) names.selectors.push_back(TRY(ParseSelector(name, parsed)));
  return names;
}

Result<PassWatch> PassWatch::Make(const PassWatchOptions& options, const PipelineOptions& pipeline,
                                  std::function<Result<std::string>(const Module&)> print) {
  PassWatch watch;
  watch.options_ = options;
  watch.print_ = std::move(print);
  watch.before_ = TRY(NamesOf("--print_before", options.print_before, pipeline));
  watch.after_ = TRY(NamesOf("--print_after", options.print_after, pipeline));
  return watch;
}

void PassWatch::Begin(const Module& module) {
  if (options_.prints_diffs()) last_ = LinesOf(module);
}

Status PassWatch::Before(const PassRun& run, const Module& module) {
  if (before_ && before_->Have(run)) Out(Str("*** before ", Describe(run), " ***\n", TRY(print_(module)), "\n"));
  return {};
}

Status PassWatch::After(const PassRun& run, const Module& module) {
  if (options_.print_pass_instances)
    Out(Format("%4d %s %s#%d%s\n", run.number, run.skipped ? "SKIP" : "run ", std::string(run.pass->name).c_str(),
               run.instance, run.changed ? " changed" : ""));
  const bool full = options_.print_changed == PrintChanged::kFull && run.changed;
  if (after_ && !run.skipped && after_->Have(run) && !full) {
    if (run.changed) Out(Str("*** after ", Describe(run), " ***\n", TRY(print_(module)), "\n"));
    else Out(Str("*** after ", Describe(run), ": unchanged ***\n"));
  }
  if (full) Out(Str("*** after ", Describe(run), " ***\n", TRY(print_(module)), "\n"));
  if (!run.changed || !options_.prints_diffs()) return {};
  ModuleLines now = LinesOf(module);
  Out(ChangeText(run, last_, now, options_.color || options_.print_changed == PrintChanged::kColoredDiff));
  last_ = std::move(now);
  return {};
}

std::vector<std::string> PassWatch::Notes() const {
  std::vector<std::string> notes;
  for (const auto* names : {&before_, &after_}) {
    if (*names && !(*names)->met)
      notes.push_back(Str((*names)->flag, "=", (*names)->text, ": no pass of that name ran"));
  }
  return notes;
}

}  // namespace hlo
