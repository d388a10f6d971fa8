#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "driver/search/bisect_search.h"
#include "passes/rewrite.h"

namespace hlo::bisect {
namespace {

std::string_view PassOf(std::string_view instance) { return instance.substr(0, instance.find('#')); }

RunOptions Limited(const Search& s, int64_t limit) {
  RunOptions run = s.options.run;
  run.pipeline.opt_bisect_limit = static_cast<int>(limit);
  return run;
}

RunOptions Fueled(const Search& s, int64_t limit, std::string_view pass, int64_t fuel) {
  RunOptions run = Limited(s, limit);
  run.pipeline.fuel.emplace_back(pass, fuel);
  return run;
}

Answer AskLimit(Search& s, int64_t limit) {
  s.announce(Str("--opt_bisect_limit=", limit));
  const Answer answer = s.judge.AnswerOf(s.text, Limited(s, limit));
  Note(s, Str("limit ", limit), answer);
  return answer;
}

// The middle between `good` and `bad`, or the nearest limit that can be tried.
std::optional<int64_t> Between(int64_t good, int64_t bad, const std::set<int64_t>& untried) {
  const int64_t middle = good + (bad - good) / 2;
  for (int64_t away = 0; away < bad - good; ++away) {
    for (const int64_t limit : {middle - away, middle + away}) {
      if (limit > good && limit < bad && !untried.contains(limit)) return limit;
    }
  }
  return std::nullopt;
}

// Only the run with the limit `bad` reaches the instance.
Status NameInstance(Search& s, int64_t good, int64_t bad) {
  s.result.bad_with = s.judge.Count(s.text, Limited(s, bad), Answer::kBad, std::min(1, s.options.confirm - 1));
  Symptom with = s.judge.last();
  if (s.options.property.kind == PropertyKind::kScript) with = PassesOf(s, Limited(s, bad));
  std::string name = with.stage, stage;
  for (const Symptom::Instance& instance : with.instances) {
    if (instance.number == bad) name = instance.name, stage = instance.stage;
  }
  if (name.starts_with("pass ")) name = name.substr(5);
  s.result.good_without = s.judge.Count(s.text, Limited(s, good), Answer::kGood, /*known=*/1);
  s.result.culprits = {name};
  s.result.culprit = Str("pass instance ", bad - good > 1 ? Str(good + 1, " to ") : "", bad, ", ", name,
                         stage.empty() ? "" : Str(" of ", stage));
  RunOptions without = s.options.run;
  without.pipeline.disabled.push_back(name);
  if (name.find('#') != std::string::npos) {
    s.result.others = s.judge.AnswerOf(s.text, without) == Answer::kBad;
    s.result.without_flags = Str("--xla_disable_hlo_passes=", name);
  }
  s.result.show_flags = Str("--opt_bisect_limit=", bad);
  AnnounceFinding(s, Str("culprit: ", s.result.culprit));
  return {};
}

std::string RuleText(const std::map<std::string, int64_t>& before, const std::map<std::string, int64_t>& after) {
  std::string out;
  for (const auto& [rule, count] : after) {
    const auto was = before.find(rule);
    if (was != before.end() && was->second >= count) continue;
    const std::vector<const Rule*> rules = FindRules(rule);
    out += Str(out.empty() ? ", by " : " and ", rule, rules.empty() ? "" : Str("  ", rules.front()->law));
  }
  return out;
}

// Returns the fuel with which the failure begins, or 0 if the search does not find it.
Result<int64_t> NameRewrite(Search& s, int64_t limit) {
  constexpr int64_t kMostFuel = int64_t{1} << 20;
  const std::string pass(PassOf(s.result.culprits.front()));
  std::map<int64_t, std::map<std::string, int64_t>> rewrites;  // Keyed by fuel.
  const auto ask = [&](int64_t fuel) {
    s.announce(Str("--xla_fuel=", pass, "=", fuel));
    const Answer answer = s.judge.AnswerOf(s.text, Fueled(s, limit, pass, fuel));
    rewrites[fuel] = s.judge.last().rewrites;
    Note(s, Str("fuel ", fuel), answer);
    return answer;
  };
  if (FindPass(pass) == nullptr) return 0;
  if (ask(0) != Answer::kGood) {
    s.result.rewrite = Str("no rewrite that ", pass, " counts: without these rewrites the module fails too");
    return 0;
  }
  int64_t good = 0, bad = 1;
  while (bad <= kMostFuel && ask(bad) != Answer::kBad) good = std::exchange(bad, 2 * bad);
  if (bad > kMostFuel) return 0;
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (ask(middle) == Answer::kBad ? bad : good) = middle;
  }
  s.result.rewrite = Str("rewrite ", bad, " of ", pass, RuleText(rewrites[good], rewrites[bad]));
  s.result.show_flags += Str(" --xla_fuel=", pass, "=", bad);
  return bad;
}

// If the passes crash or fail, shows only the module before, because this process could not survive.
Status ShowChange(Search& s, int64_t good, int64_t bad, int64_t fuel) {
  const std::string pass(PassOf(s.result.culprits.front()));
  const RunOptions before = fuel > 0 ? Fueled(s, bad, pass, fuel - 1) : Limited(s, good);
  const RunOptions after = fuel > 0 ? Fueled(s, bad, pass, fuel) : Limited(s, bad);
  const bool dies = s.result.symptom.way.starts_with("crash") || s.result.symptom.way.starts_with("hang") ||
                    s.result.symptom.way.starts_with("error");
  return Show(s, Str(bad), OptimizedAs(s.text, before), dies ? nullptr : OptimizedAs(s.text, after));
}

}  // namespace

Status OverPasses(Search& s) {
  s.result.good_end = "no pass";
  TRY(ConfirmEnds(s, {s.text, Limited(s, 0)}, {s.text, s.options.run}));
  Symptom symptom = s.result.symptom;
  if (s.options.property.kind == PropertyKind::kScript)  // A script reports nothing about passes.
    symptom = PassesOf(s, s.options.run);
  int64_t good = 0, bad = symptom.instances.empty() ? symptom.pass : symptom.instances.back().number;
  if (s.options.run.pipeline.opt_bisect_limit > 0)
    bad = std::min<int64_t>(bad, s.options.run.pipeline.opt_bisect_limit);
  if (bad == 0) FAIL(NotHeld("no pass ran, so no pass is the cause"));
  s.result.bad_end = Str("all ", bad, " pass instances");
  std::set<int64_t> untried;
  while (bad - good > 1) {
    constexpr size_t kMostUntried = 12;
    const auto limit = Between(good, bad, untried);
    if (!limit || untried.size() > kMostUntried) break;
    const Answer answer = AskLimit(s, *limit);
    if (answer == Answer::kUntried) untried.insert(*limit);
    else (answer == Answer::kBad ? bad : good) = *limit;
    AnnounceFinding(s, Str("good with ", good, " pass instances, bad with ", bad,
                           "; hlo-bisect --opt_bisect_limit=", bad, " resumes the search"));
  }
  TRY(NameInstance(s, good, bad));
  const bool is_script = s.options.property.kind == PropertyKind::kScript;
  const int64_t fuel = bad - good == 1 && !is_script ? TRY(NameRewrite(s, bad)) : 0;
  return ShowChange(s, good, bad, fuel);
}

}  // namespace hlo::bisect
