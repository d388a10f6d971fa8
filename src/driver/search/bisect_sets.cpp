#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/search/bisect_search.h"
#include "driver/search/edits.h"
#include "ir/text/printer.h"
#include "passes/rewrite.h"

namespace hlo::bisect {

Items Without(const Items& all, const Items& some) {
  Items left;
  std::ranges::copy_if(all, std::back_inserter(left),
                       [&](const std::string& item) { return std::ranges::find(some, item) == some.end(); });
  return left;
}

namespace {

// Tries each part, and then for each part all other items.
Result<std::optional<Items>> Smaller(const Items& items, size_t parts,
                                     const std::function<Result<bool>(const Items&)>& is_bad) {
  const auto part = [&](size_t i) {
    const auto at = [&](size_t p) { return items.begin() + static_cast<ptrdiff_t>(p * items.size() / parts); };
    return Items(at(i), at(i + 1));
  };
  for (size_t i = 0; i < parts; ++i) {
    if (!part(i).empty() && TRY(is_bad(part(i)))) return part(i);
  }
  for (size_t i = 0; parts > 2 && i < parts; ++i) {
    Items rest = Without(items, part(i));
    if (TRY(is_bad(rest))) return rest;
  }
  return std::nullopt;
}

}  // namespace

Status OverSet(Search& s, const Items& all, const std::string& noun,
               const std::function<Result<Variant>(const Items&)>& make) {
  s.result.good_end = Str("no ", noun);
  s.result.bad_end = all.size() == 1 ? Str("the ", noun) : Str("all ", all.size(), " ", noun, "s");
  if (all.empty()) FAIL(NotHeld(Str("there is no ", noun, " that could be the cause")));
  TRY(ConfirmEnds(s, TRY(make({})), TRY(make(all))));
  const auto is_bad = [&](const Items& items) -> Result<bool> {
    s.announce(Str(items.size(), " of ", all.size(), " ", noun, "s"));
    const Variant variant = TRY(make(items));
    const Answer answer = s.judge.AnswerOf(variant.text, variant.run);
    Note(s, items.size() == 1 ? items.front() : Str(items.size(), " ", noun, "s"), answer);
    return answer == Answer::kBad;
  };
  Items items = all;
  for (size_t parts = 2; items.size() > 1;) {
    const auto smaller = TRY(Smaller(items, parts, is_bad));
    if (smaller) {
      parts = smaller->size() * parts > items.size() * 2 ? std::max<size_t>(2, parts - 1) : 2;
      items = *smaller;
    } else if (parts < items.size()) {
      parts = std::min(items.size(), 2 * parts);
    } else {
      break;
    }
    AnnounceFinding(s, Str("bad with ", Counted(std::ssize(items), noun), " of ", all.size(), ": ", Join(items, ", ")));
  }
  s.result.culprits = items;
  s.result.culprit = Str(noun, items.size() == 1 ? " " : "s ", Join(items, ", "));
  const Variant with = TRY(make(items)), without = TRY(make(Without(all, items)));
  s.result.bad_with = s.judge.Count(with.text, with.run, Answer::kBad);
  s.result.good_without = s.judge.Count(without.text, without.run, Answer::kGood);
  s.result.others = s.result.good_without == 0;
  return {};
}

Status OverRules(Search& s) {
  s.announce("which rules are applied");
  const Symptom run = PassesOf(s, s.options.run);
  Items rules;
  for (const auto& [rule, count] : run.rewrites) {
    if (!FindRules(rule).empty()) rules.push_back(rule);  // A planted rule cannot be switched off.
  }
  TRY(OverSet(s, rules, "rule", [&](const Items& enabled) -> Result<Variant> {
    RunOptions options = s.options.run;
    for (const std::string& rule : Without(rules, enabled)) options.pipeline.disabled_rules.push_back(rule);
    return Variant{s.text, options};
  }));
  for (const std::string& rule : s.result.culprits) {
    const std::vector<const Rule*> rows = FindRules(rule);
    if (!rows.empty()) s.result.culprit += Str("   ", rows.front()->law);
  }
  RunOptions without = s.options.run;
  std::ranges::copy(s.result.culprits, std::back_inserter(without.pipeline.disabled_rules));
  s.result.without_flags = Str("--disable_rules=", Join(s.result.culprits, ","));
  const Items others = Without(rules, s.result.culprits);
  if (!others.empty()) s.result.show_flags = Str("--disable_rules=", Join(others, ","));
  return Show(s, "rules", OptimizedAs(s.text, without), OptimizedAs(s.text, s.options.run));
}

Status OverFlags(Search& s) {
  TRY(OverSet(s, s.options.flags, "flag", [&](const Items& flags) -> Result<Variant> {
    return Variant{s.text, TRY(s.options.with_flags(flags))};
  }));
  s.result.show_flags = Join(s.result.culprits, " ");
  return {};
}

Status OverFusions(Search& s) {
  s.announce("the optimized module");
  const std::unique_ptr<Module> optimized = OptimizedAs(s.text, s.options.run);
  if (optimized == nullptr) FAIL(NotHeld("the passes fail, so there are no fusions"));
  std::map<std::string, int> ids;
  Items fusions;
  for (const Instruction* inst : optimized->entry().instructions()) {
    if (!inst->Is(Opcode::kFusion)) continue;
    fusions.emplace_back(inst->name());
    ids[fusions.back()] = inst->id();
  }
  const auto with = [&](const Items& kept) {
    std::unique_ptr<Module> module = optimized->Clone();
    std::vector<int> dissolved;
    for (const std::string& fusion : Without(fusions, kept)) dissolved.push_back(ids.at(fusion));
    Flatten(*module, dissolved, 0);
    Tidy(*module);
    return module;
  };
  TRY(OverSet(s, fusions, "fusion", [&](const Items& kept) -> Result<Variant> {
    Variant variant{std::make_shared<const SourceText>(s.text->name(), Print(*with(kept))), s.options.run};
    variant.run.pipeline.passes = "";
    return variant;
  }));
  TRY(Show(s, "fusions", with(Without(fusions, s.result.culprits)), with(fusions)));
  if (!s.result.files.empty()) s.result.show_flags = Str("--passes= ", s.result.files.back());
  return {};
}

Status OverLibraries(Search& s) {
  TRY(OverSet(s, {"libraries"}, "library", [&](const Items& kept) -> Result<Variant> {
    RunOptions run = s.options.run;
    run.libraries = !kept.empty();
    return Variant{s.text, run};
  }));
  s.result.good_end = "kernels of hlokit";
  s.result.bad_end = "the libraries";
  s.result.culprit =
      Str("a library",
          s.result.symptom.accused == Culprit::Kind::kLibrary ? Str(": the call '", s.result.symptom.name, "'") : "");
  s.result.without_flags = "--nolibraries";
  return {};
}

}  // namespace hlo::bisect
