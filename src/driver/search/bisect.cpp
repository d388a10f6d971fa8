#include "driver/search/bisect.h"

#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/module_diff.h"
#include "driver/run/experiment.h"
#include "driver/search/bisect_search.h"
#include "ir/text/printer.h"

namespace hlo {
namespace bisect {
namespace {

std::string_view ToString(Answer answer) {
  return answer == Answer::kGood ? "good" : answer == Answer::kBad ? "bad" : "untried";
}

// The culprit may not be among the searched items.
std::string ElsewhereText(const Search& s) {
  const Symptom& symptom = s.result.symptom;
  const bool is_kernel = symptom.accused == Culprit::Kind::kKernel && s.options.over != BisectOver::kFusions;
  const bool is_library = symptom.accused == Culprit::Kind::kLibrary && s.options.over != BisectOver::kLibraries;
  if (is_kernel)
    return "--over=fusions finds the fusions that the failure needs; hlo-run --first_divergence finds the "
           "instruction in the kernel";
  if (is_library) return "--over=libraries compares with kernels of hlokit; hlo-run --nolibraries runs those";
  return "hlo-run names the culprit";
}

}  // namespace

Status ConfirmEnds(Search& s, const Variant& good, const Variant& bad) {
  s.announce("confirming both ends");
  s.result.symptom = TRY(s.judge.LookAtEnds(bad.text, bad.run, good.text, good.run));
  const int bad_times = s.judge.Count(bad.text, bad.run, Answer::kBad, /*known=*/1);
  if (bad_times < s.options.confirm)
    FAIL(NotHeld(Str("the failure (", s.result.symptom.detail, ") occurs only in ", bad_times, " of ",
                     s.options.confirm, " runs")));
  const int good_times = s.judge.Count(good.text, good.run, Answer::kGood);
  if (good_times == s.options.confirm) return {};
  if (good_times > 0)
    FAIL(NotHeld(Str("with ", s.result.good_end, " the module succeeds in only ", good_times, " of ", s.options.confirm,
                     " runs: ", s.judge.last().detail)));
  FAIL(NotHeld(
           Str("with ", s.result.good_end, " the module fails too, so the cause is elsewhere: ", s.judge.last().detail))
           .Hint(ElsewhereText(s)));
}

void AnnounceFinding(const Search& s, const std::string& known) {
  if (s.options.on_known) s.options.on_known(known);
}

void Note(Search& s, const std::string& what, Answer answer) {
  s.result.trials.push_back(Str(what, " ", ToString(answer)));
}

Symptom PassesOf(const Search& s, const RunOptions& run) {
  return Trial(s.text, run, {.depth = Depth::kPasses, .threads = 1}).symptom();
}

std::unique_ptr<Module> OptimizedAs(const Text& text, const RunOptions& run) {
  Progress progress(/*quiet=*/true);
  Experiment experiment(text, run, progress);
  const auto tuned = experiment.Tuned();
  return tuned ? (*tuned)->Clone() : nullptr;
}

Status Show(Search& s, const std::string& name, std::unique_ptr<Module> before, std::unique_ptr<Module> after) {
  constexpr size_t kMostLines = 24;
  if (before != nullptr && after != nullptr)
    s.result.change = DiffOf(LinesOf(*before), LinesOf(*after), {.most_lines = kMostLines});
  if (s.options.directory.empty()) return {};
  TRY(MakeDirectories(s.options.directory));
  for (const auto& [module, side] : {std::pair(before.get(), "before"), std::pair(after.get(), "after")}) {
    if (module == nullptr) continue;
    s.result.files.push_back(Str(s.options.directory, "/", name, ".", side, ".hlo"));
    TRY(WriteFile(s.result.files.back(), Print(*module)));
  }
  return {};
}

}  // namespace bisect

Result<Bisection> Bisect(const std::string& path, const BisectOptions& options,
                         const std::function<void(const std::string&)>& announce) {
  using namespace bisect;
  Text text = TRY(ReadSource(ModuleFile(path), options.run.load.max_input));
  Search search{std::move(text), options, announce, Judge(path, options)};
  switch (options.over) {
    case BisectOver::kPasses: TRY(OverPasses(search)); break;
    case BisectOver::kRules: TRY(OverRules(search)); break;
    case BisectOver::kFlags: TRY(OverFlags(search)); break;
    case BisectOver::kFusions: TRY(OverFusions(search)); break;
    case BisectOver::kLibraries: TRY(OverLibraries(search)); break;
    case BisectOver::kAutotune: TRY(OverDecisions(search)); break;
  }
  return std::move(search.result);
}

}  // namespace hlo
