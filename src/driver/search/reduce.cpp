#include "driver/search/reduce.h"

#include <utility>

#include "base/text.h"
#include "driver/bundle.h"
#include "driver/search/reduce_search.h"

namespace hlo {
namespace {

TrialOptions Trying(TrialOptions trial, bool whole) {
  const bool figures = trial.property.IsFigure();
  if (whole) trial.depth = figures ? Depth::kPasses : Depth::kRun;
  return trial;
}

Status LookAtWhatFails(ReduceSearch& s) {
  constexpr double kFirst = 120, kTimes = 10, kMore = 10;
  s.trial.seconds = s.options.trial_seconds > 0 ? s.options.trial_seconds : kFirst;
  s.announce("running the failing module");
  s.result.text = s.text->text();
  for (int i = 0; i < s.options.confirm; ++i) {
    Trial trial(s.text, s.options.run, Trying(s.trial, i == 0));
    const Symptom& symptom = trial.symptom();
    if (i == 0) {
      s.result.symptom = symptom;
      JudgeFigure(s, &s.result.symptom);
      if (!s.result.symptom.Shows(s.options.property)) break;
      s.trial.depth = DepthOf(symptom, s.options.property);
      s.trial.asks_for_roundings = symptom.way.starts_with("INCONCLUSIVE");
      if (s.options.trial_seconds <= 0) s.trial.seconds = kMore + kTimes * symptom.seconds;
    }
    bool same = IsTheSame(s, symptom);
    if (i == 1 && !same && s.trial.depth != Depth::kRun && !s.options.property.IsFigure()) {
      s.trial.depth = Depth::kRun;  // Only a whole run shows the symptom.
      same = IsTheSame(s, Trial(s.text, s.options.run, s.trial).symptom());
    }
    s.result.confirmed += same;
  }
  if (s.result.confirmed == s.options.confirm) return {};
  const std::string found = s.result.symptom.Text();
  const std::string what =
      s.result.confirmed == 0
          ? Str("--property=", s.options.property.text, " does not hold for the module: ", found)
          : Str("the failure occurs only in ", s.result.confirmed, " of ", s.options.confirm, " runs: ", found);
  FAIL(Error(ExitCode::kInconclusive, "N003", what));
}

Result<ReducedModule> Finish(ReduceSearch& s) {
  TRY(std::move(s.wrote));
  Keep(s);
  TRY(std::move(s.wrote));
  const auto text = std::make_shared<const SourceText>(NameOfCandidates(s), s.result.text);
  for (int i = 0; i < s.options.confirm; ++i) {
    s.announce("once more");
    // The whole run, with the parts that were left out for speed.
    Trial trial(text, s.base.run, Trying(s.trial, true));
    s.result.reproduced += IsTheSame(s, trial.symptom());
  }
  s.result.lines = LineCount(s.result.text);
  if (s.base.module != nullptr) {
    s.result.instructions = s.base.module->InstructionCount();
    s.result.elements = ElementCount(*s.base.module);
  }
  return std::move(s.result);
}

}  // namespace

Result<ReducedModule> Reduce(const std::shared_ptr<const SourceText>& text, const ReduceOptions& options,
                             const Announce& announce, const Announce& line) {
  ReduceSearch reduction(text, options, announce, line);
  TRY(LookAtWhatFails(reduction));
  const bool is_text = reduction.result.symptom.stage == "reading" && TRY(ReadTextOnly(reduction)) == nullptr;
  TRY(is_text ? ReduceText(reduction) : ReduceModule(reduction));
  return Finish(reduction);
}

Result<ReducedModule> Reduce(const std::string& path, const ReduceOptions& options, const Announce& announce,
                             const Announce& line) {
  return Reduce(TRY(ReadSource(ModuleFile(path), options.run.load.max_input)), options, announce, line);
}

}  // namespace hlo
