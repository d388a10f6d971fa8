#include "driver/search/bisect.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/parallel.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/inspect/text.h"
#include "driver/module_diff.h"
#include "driver/run/experiment.h"
#include "driver/search/edits.h"
#include "driver/search/variant.h"
#include "gpu/runtime/tuning/lock.h"
#include "ir/text/printer.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

constexpr double kSlower = 1.2;  // Default limit of the property `slower`.

using Announce = std::function<void(const std::string&)>;
using Text = std::shared_ptr<const SourceText>;

enum class Answer : uint8_t { kGood, kBad, kUntried };

std::string_view ToString(Answer answer) {
  return answer == Answer::kGood ? "good" : answer == Answer::kBad ? "bad" : "untried";
}

std::string_view PassOf(std::string_view instance) { return instance.substr(0, instance.find('#')); }

// Culprit and place of a crash depend on the variant, so failures of a class count as the same.
std::string_view ClassOf(std::string_view way) {
  constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
      {"MISMATCH", "wrong"}, {"INCONCLUSIVE", "wrong"}, {"crash", "crash"}, {"hang", "crash"}, {"script", "script"}};
  for (const auto& [prefix, name] : kClasses) {
    if (way.starts_with(prefix)) return name;
  }
  return way;
}

Error NotHeld(std::string message) { return Error(ExitCode::kInconclusive, "N003", std::move(message)); }

class Judge {
 public:
  Judge(std::string path, const BisectOptions& options) : path_(std::move(path)), options_(options) {
    trial_.property = options.property;
    trial_.threads = threads_;
    SetThreads(1);  // A child process has no pool of threads.
  }
  ~Judge() { SetThreads(threads_); }
  Judge(const Judge&) = delete;

  Result<Symptom> LookAtEnds(const Text& bad_text, const RunOptions& bad, const Text& good_text,
                             const RunOptions& good) {
    constexpr double kFirst = 300, kTimes = 10, kMore = 10;
    trial_.seconds = options_.trial_seconds > 0 ? options_.trial_seconds : kFirst;
    const bool figures = options_.property.IsFigure();
    trial_.depth = figures ? Depth::kPasses : Depth::kRun;
    if (options_.measured) good_process_ = std::make_unique<VariantProcess>(path_, good, /*runs=*/true, threads_);
    if (figures) limit_ = TRY(LimitOf(Try(good_text, good)));
    way_ = Try(bad_text, bad);
    const double took = way_.seconds;
    if (options_.trial_seconds <= 0) trial_.seconds = kMore + kTimes * took;
    if (figures && !IsBeyond(way_.figure, bad))
      FAIL(NotHeld(Str(
          "--property=", options_.property.text, " does not hold at the bad end: ", FigureText(way_.figure),
          ", but the limit is ",
          options_.measured ? Format("%.2f times", options_.property.limit.value_or(kSlower)) : FigureText(limit_))));
    if (figures) way_.way = way_.detail = Str(options_.property.text, ": ", FigureText(way_.figure));
    if (!way_.Shows(options_.property))
      FAIL(NotHeld(Str("--property=", options_.property.text, " does not hold at the bad end: ", way_.Text())));
    trial_.depth = DepthOf(way_, options_.property);
    trial_.asks_for_roundings = way_.way.starts_with("INCONCLUSIVE");
    if (trial_.depth == Depth::kMeaning) trial_.depth = Depth::kEnds;
    return way_;
  }

  Answer Ask(const Text& text, const RunOptions& run) {
    const Symptom symptom = Try(text, run);
    last_ = symptom;
    if (options_.property.IsFigure() && symptom.way.empty())
      return IsBeyond(symptom.figure, run) ? Answer::kBad : Answer::kGood;
    if (symptom.untried) return Answer::kUntried;
    if (symptom.way.empty()) return Answer::kGood;
    const bool same = symptom.Shows(options_.property) && ClassOf(symptom.way) == ClassOf(way_.way);
    return same ? Answer::kBad : Answer::kUntried;
  }

  // Runs only the passes. The symptom includes decisions from a lock.
  Symptom Look(const Text& text, const RunOptions& run) {
    TrialOptions trial = trial_;
    trial.depth = Depth::kPasses;
    trial.seconds = 0;
    return Trial(text, run, trial).symptom();
  }

  // Number of options_.confirm tries that give `answer`. `known` earlier tries gave it already, and are not repeated.
  int Count(const Text& text, const RunOptions& run, Answer answer, int known = 0) {
    int count = known;
    for (int i = known; i < options_.confirm; ++i) count += Ask(text, run) == answer;
    return count;
  }

  const Symptom& last() const { return last_; }

 private:
  Symptom Try(const Text& text, const RunOptions& run) { return Trial(text, run, trial_).symptom(); }

  Result<double> LimitOf(const Symptom& good) const {
    if (!good.way.empty()) FAIL(NotHeld(Str("the good end cannot be measured: ", good.detail)));
    if (options_.property.kind == PropertyKind::kSlower) return good.figure * options_.property.limit.value_or(kSlower);
    return options_.property.limit.value_or(good.figure);
  }

  // Measured times are compared by the median quotient of several rounds.
  bool IsBeyond(double figure, const RunOptions& run) {
    if (!options_.measured) return figure > limit_;
    constexpr int kRounds = 7;
    VariantProcess process(path_, run, /*runs=*/true, threads_);
    std::vector<double> quotients;
    for (int i = 0; i < kRounds; ++i) {
      const auto good = good_process_->Run(), bad = process.Run();
      if (!good || !bad) return false;
      quotients.push_back(*bad / *good);
    }
    std::ranges::nth_element(quotients, quotients.begin() + kRounds / 2);
    times_ = quotients[kRounds / 2];
    return times_ > options_.property.limit.value_or(kSlower);
  }

  std::string FigureText(double figure) const {
    if (options_.measured) return Format("%.2f times the time of the good end", times_);
    switch (options_.property.kind) {
      case PropertyKind::kKernels: return Str(figure, " kernels");
      case PropertyKind::kBytes: return HumanBytes(figure);
      default: return HumanMilliseconds(1e3 * figure);
    }
  }

  const int threads_ = Threads();
  const std::string path_;
  const BisectOptions& options_;
  TrialOptions trial_;
  Symptom way_, last_;
  double limit_ = 0;
  double times_ = 0;
  std::unique_ptr<VariantProcess> good_process_;
};

class Bisector {
 public:
  Bisector(std::string path, Text text, const BisectOptions& options, const Announce& announce)
      : path_(std::move(path)),
        text_(std::move(text)),
        options_(options),
        announce_(announce),
        judge_(path_, options) {}

  Result<Bisection> Run() {
    switch (options_.over) {
      case BisectOver::kPasses: TRY(OverPasses()); break;
      case BisectOver::kRules: TRY(OverRules()); break;
      case BisectOver::kFlags: TRY(OverFlags()); break;
      case BisectOver::kFusions: TRY(OverFusions()); break;
      case BisectOver::kLibraries: TRY(OverLibraries()); break;
      case BisectOver::kAutotune: TRY(OverDecisions()); break;
    }
    return std::move(result_);
  }

 private:
  struct Variant {
    Text text;
    RunOptions run;
  };

  Status ConfirmEnds(const Variant& good, const Variant& bad) {
    announce_("confirming both ends");
    result_.symptom = TRY(judge_.LookAtEnds(bad.text, bad.run, good.text, good.run));
    const int bad_times = judge_.Count(bad.text, bad.run, Answer::kBad, /*known=*/1);
    if (bad_times < options_.confirm)
      FAIL(NotHeld(Str("the failure (", result_.symptom.detail, ") occurs only in ", bad_times, " of ",
                       options_.confirm, " runs")));
    const int good_times = judge_.Count(good.text, good.run, Answer::kGood);
    if (good_times == options_.confirm) return {};
    if (good_times > 0)
      FAIL(NotHeld(Str("with ", result_.good_end, " the module succeeds in only ", good_times, " of ", options_.confirm,
                       " runs: ", judge_.last().detail)));
    FAIL(NotHeld(
             Str("with ", result_.good_end, " the module fails too, so the cause is elsewhere: ", judge_.last().detail))
             .Hint(ElsewhereText()));
  }

  // The culprit may not be among the searched items.
  std::string ElsewhereText() const {
    const Symptom& symptom = result_.symptom;
    const bool is_kernel = symptom.accused == Culprit::Kind::kKernel && options_.over != BisectOver::kFusions;
    const bool is_library = symptom.accused == Culprit::Kind::kLibrary && options_.over != BisectOver::kLibraries;
    if (is_kernel)
      return "--over=fusions finds the fusions that the failure needs; hlo-run --first_divergence finds the "
             "instruction in the kernel";
    if (is_library) return "--over=libraries compares with kernels of hlokit; hlo-run --nolibraries runs those";
    return "hlo-run names the culprit";
  }

  void AnnounceFinding(const std::string& known) const {
    if (options_.on_known) options_.on_known(known);
  }

  void Note(const std::string& what, Answer answer) { result_.trials.push_back(Str(what, " ", ToString(answer))); }

  // ---- Over passes ----

  RunOptions Limited(int64_t limit) const {
    RunOptions run = options_.run;
    run.pipeline.opt_bisect_limit = static_cast<int>(limit);
    return run;
  }

  RunOptions Fueled(int64_t limit, std::string_view pass, int64_t fuel) const {
    RunOptions run = Limited(limit);
    run.pipeline.fuel.emplace_back(pass, fuel);
    return run;
  }

  Answer AskLimit(int64_t limit) {
    announce_(Str("--opt_bisect_limit=", limit));
    const Answer answer = judge_.Ask(text_, Limited(limit));
    Note(Str("limit ", limit), answer);
    return answer;
  }

  Status OverPasses() {
    result_.good_end = "no pass";
    TRY(ConfirmEnds({text_, Limited(0)}, {text_, options_.run}));
    Symptom symptom = result_.symptom;
    if (options_.property.kind == PropertyKind::kScript)  // A script reports nothing about passes.
      symptom = PassesOf(options_.run);
    int64_t good = 0, bad = symptom.instances.empty() ? symptom.pass : symptom.instances.back().number;
    if (options_.run.pipeline.opt_bisect_limit > 0)
      bad = std::min<int64_t>(bad, options_.run.pipeline.opt_bisect_limit);
    if (bad == 0) FAIL(NotHeld("no pass ran, so no pass is the cause"));
    result_.bad_end = Str("all ", bad, " pass instances");
    std::set<int64_t> untried;
    while (bad - good > 1) {
      constexpr size_t kMostUntried = 12;
      const auto limit = Between(good, bad, untried);
      if (!limit || untried.size() > kMostUntried) break;
      const Answer answer = AskLimit(*limit);
      if (answer == Answer::kUntried) untried.insert(*limit);
      else (answer == Answer::kBad ? bad : good) = *limit;
      AnnounceFinding(Str("good with ", good, " pass instances, bad with ", bad,
                          "; hlo-bisect --opt_bisect_limit=", bad, " resumes the search"));
    }
    TRY(NameInstance(good, bad));
    if (bad - good == 1 && options_.property.kind != PropertyKind::kScript) TRY(NameRewrite(bad));
    return ShowChange(good, bad);
  }

  Symptom PassesOf(const RunOptions& run) const {
    return Trial(text_, run, {.depth = Depth::kPasses, .threads = 1}).symptom();
  }

  // The middle between `good` and `bad`, or the nearest limit that can be tried.
  static std::optional<int64_t> Between(int64_t good, int64_t bad, const std::set<int64_t>& untried) {
    const int64_t middle = good + (bad - good) / 2;
    for (int64_t away = 0; away < bad - good; ++away) {
      for (const int64_t limit : {middle - away, middle + away}) {
        if (limit > good && limit < bad && !untried.contains(limit)) return limit;
      }
    }
    return std::nullopt;
  }

  // Only the run with the limit `bad` reaches the instance.
  Status NameInstance(int64_t good, int64_t bad) {
    result_.bad_with = judge_.Count(text_, Limited(bad), Answer::kBad, std::min(1, options_.confirm - 1));
    Symptom with = judge_.last();
    if (options_.property.kind == PropertyKind::kScript) with = PassesOf(Limited(bad));
    std::string name = with.stage, stage;
    for (const Symptom::Instance& instance : with.instances) {
      if (instance.number == bad) name = instance.name, stage = instance.stage;
    }
    if (name.starts_with("pass ")) name = name.substr(5);
    result_.good_without = judge_.Count(text_, Limited(good), Answer::kGood, /*known=*/1);
    result_.culprits = {name};
    result_.culprit = Str("pass instance ", bad - good > 1 ? Str(good + 1, " to ") : "", bad, ", ", name,
                          stage.empty() ? "" : Str(" of ", stage));
    RunOptions without = options_.run;
    without.pipeline.disabled.push_back(name);
    if (name.find('#') != std::string::npos) {
      result_.others = judge_.Ask(text_, without) == Answer::kBad;
      result_.without_flags = Str("--xla_disable_hlo_passes=", name);
    }
    result_.show_flags = Str("--opt_bisect_limit=", bad);
    AnnounceFinding(Str("culprit: ", result_.culprit));
    return {};
  }

  Status NameRewrite(int64_t limit) {
    constexpr int64_t kMostFuel = int64_t{1} << 20;
    const std::string pass(PassOf(result_.culprits.front()));
    const auto ask = [&](int64_t fuel) {
      announce_(Str("--xla_fuel=", pass, "=", fuel));
      const Answer answer = judge_.Ask(text_, Fueled(limit, pass, fuel));
      rewrites_[fuel] = judge_.last().rewrites;
      Note(Str("fuel ", fuel), answer);
      return answer;
    };
    if (FindPass(pass) == nullptr) return {};
    if (ask(0) != Answer::kGood) {
      result_.rewrite = Str("no rewrite that ", pass, " counts: without these rewrites the module fails too");
      return {};
    }
    int64_t good = 0, bad = 1;
    while (bad <= kMostFuel && ask(bad) != Answer::kBad) good = std::exchange(bad, 2 * bad);
    if (bad > kMostFuel) return {};
    while (bad - good > 1) {
      const int64_t middle = good + (bad - good) / 2;
      (ask(middle) == Answer::kBad ? bad : good) = middle;
    }
    fuel_ = bad;
    result_.rewrite = Str("rewrite ", bad, " of ", pass, RuleText(rewrites_[good], rewrites_[bad]));
    result_.show_flags += Str(" --xla_fuel=", pass, "=", bad);
    return {};
  }

  static std::string RuleText(const std::map<std::string, int64_t>& before,
                              const std::map<std::string, int64_t>& after) {
    std::string out;
    for (const auto& [rule, count] : after) {
      const auto was = before.find(rule);
      if (was != before.end() && was->second >= count) continue;
      const std::vector<const Rule*> rules = FindRules(rule);
      out += Str(out.empty() ? ", by " : " and ", rule, rules.empty() ? "" : Str("  ", rules.front()->law));
    }
    return out;
  }

  // If the passes crash or fail, shows only the module before, because this process could not survive.
  Status ShowChange(int64_t good, int64_t bad) {
    const std::string pass(PassOf(result_.culprits.front()));
    const RunOptions before = fuel_ > 0 ? Fueled(bad, pass, fuel_ - 1) : Limited(good);
    const RunOptions after = fuel_ > 0 ? Fueled(bad, pass, fuel_) : Limited(bad);
    const bool dies = result_.symptom.way.starts_with("crash") || result_.symptom.way.starts_with("hang") ||
                      result_.symptom.way.starts_with("error");
    return Show(Str(bad), OptimizedAs(text_, before), dies ? nullptr : OptimizedAs(text_, after));
  }

  static std::unique_ptr<Module> OptimizedAs(const Text& text, const RunOptions& run) {
    Progress progress(/*quiet=*/true);
    Experiment experiment(text, run, progress);
    const auto tuned = experiment.Tuned();
    return tuned ? (*tuned)->Clone() : nullptr;
  }

  Status Show(const std::string& name, std::unique_ptr<Module> before, std::unique_ptr<Module> after) {
    constexpr size_t kMostLines = 24;
    if (before != nullptr && after != nullptr)
      result_.change = DiffOf(LinesOf(*before), LinesOf(*after), {.most_lines = kMostLines});
    if (options_.directory.empty()) return {};
    TRY(MakeDirectories(options_.directory));
    for (const auto& [module, side] : {std::pair(before.get(), "before"), std::pair(after.get(), "after")}) {
      if (module == nullptr) continue;
      result_.files.push_back(Str(options_.directory, "/", name, ".", side, ".hlo"));
      TRY(WriteFile(result_.files.back(), Print(*module)));
    }
    return {};
  }

  // ---- Over sets ----

  using Items = std::vector<std::string>;
  using Make = std::function<Result<Variant>(const Items&)>;

  static Items Without(const Items& all, const Items& some) {
    Items left;
    std::ranges::copy_if(all, std::back_inserter(left),
                         [&](const std::string& item) { return std::ranges::find(some, item) == some.end(); });
    return left;
  }

  // Finds a bad set of items from which no item can be removed.
  Status OverSet(const Items& all, const std::string& noun, const Make& make) {
    result_.good_end = Str("no ", noun);
    result_.bad_end = all.size() == 1 ? Str("the ", noun) : Str("all ", all.size(), " ", noun, "s");
    if (all.empty()) FAIL(NotHeld(Str("there is no ", noun, " that could be the cause")));
    TRY(ConfirmEnds(TRY(make({})), TRY(make(all))));
    const auto is_bad = [&](const Items& items) -> Result<bool> {
      announce_(Str(items.size(), " of ", all.size(), " ", noun, "s"));
      const Variant variant = TRY(make(items));
      const Answer answer = judge_.Ask(variant.text, variant.run);
      Note(items.size() == 1 ? items.front() : Str(items.size(), " ", noun, "s"), answer);
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
      AnnounceFinding(Str("bad with ", Counted(std::ssize(items), noun), " of ", all.size(), ": ", Join(items, ", ")));
    }
    result_.culprits = items;
    result_.culprit = Str(noun, items.size() == 1 ? " " : "s ", Join(items, ", "));
    const Variant with = TRY(make(items)), without = TRY(make(Without(all, items)));
    result_.bad_with = judge_.Count(with.text, with.run, Answer::kBad);
    result_.good_without = judge_.Count(without.text, without.run, Answer::kGood);
    result_.others = result_.good_without == 0;
    return {};
  }

  // Tries each part, and then for each part all other items.
  static Result<std::optional<Items>> Smaller(const Items& items, size_t parts,
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

  Status OverRules() {
    announce_("which rules are applied");
    const Symptom run = PassesOf(options_.run);
    Items rules;
    for (const auto& [rule, count] : run.rewrites) {
      if (!FindRules(rule).empty()) rules.push_back(rule);  // A planted rule cannot be switched off.
    }
    TRY(OverSet(rules, "rule", [&](const Items& enabled) -> Result<Variant> {
      RunOptions options = options_.run;
      for (const std::string& rule : Without(rules, enabled)) options.pipeline.disabled_rules.push_back(rule);
      return Variant{text_, options};
    }));
    for (const std::string& rule : result_.culprits) {
      const std::vector<const Rule*> rows = FindRules(rule);
      if (!rows.empty()) result_.culprit += Str("   ", rows.front()->law);
    }
    RunOptions without = options_.run;
    std::ranges::copy(result_.culprits, std::back_inserter(without.pipeline.disabled_rules));
    result_.without_flags = Str("--disable_rules=", Join(result_.culprits, ","));
    const Items others = Without(rules, result_.culprits);
    if (!others.empty()) result_.show_flags = Str("--disable_rules=", Join(others, ","));
    return Show("rules", OptimizedAs(text_, without), OptimizedAs(text_, options_.run));
  }

  Status OverFlags() {
    TRY(OverSet(options_.flags, "flag", [&](const Items& flags) -> Result<Variant> {
      return Variant{text_, TRY(options_.with_flags(flags))};
    }));
    result_.show_flags = Join(result_.culprits, " ");
    return {};
  }

  Status OverFusions() {
    announce_("the optimized module");
    const std::unique_ptr<Module> optimized = OptimizedAs(text_, options_.run);
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
    TRY(OverSet(fusions, "fusion", [&](const Items& kept) -> Result<Variant> {
      Variant variant{std::make_shared<const SourceText>(text_->name(), Print(*with(kept))), options_.run};
      variant.run.pipeline.passes = "";
      return variant;
    }));
    TRY(Show("fusions", with(Without(fusions, result_.culprits)), with(fusions)));
    if (!result_.files.empty()) result_.show_flags = Str("--passes= ", result_.files.back());
    return {};
  }

  Status OverLibraries() {
    TRY(OverSet({"libraries"}, "library", [&](const Items& kept) -> Result<Variant> {
      RunOptions run = options_.run;
      run.libraries = !kept.empty();
      return Variant{text_, run};
    }));
    result_.good_end = "kernels of hlokit";
    result_.bad_end = "the libraries";
    result_.culprit =
        Str("a library",
            result_.symptom.accused == Culprit::Kind::kLibrary ? Str(": the call '", result_.symptom.name, "'") : "");
    result_.without_flags = "--nolibraries";
    return {};
  }

  // Steps without a decision get the choice without measuring.
  Status OverDecisions() {
    announce_("which decisions of the lock count for the module");
    const gpu::Lock lock = TRY(gpu::Lock::Parse(TRY(ReadSource(options_.run.tuning.read_from))));
    RunOptions run = options_.run;
    run.tuning.names_defaults = true;
    const Symptom whole = judge_.Look(text_, run);
    if (!whole.way.empty()) FAIL(NotHeld(Str("the lock cannot be used: ", whole.detail)));
    std::map<std::string, Symptom::Decision> decisions;
    Items items;
    for (const Symptom::Decision& decision : whole.decisions) {
      items.push_back(Str("'", decision.step, "' key=", decision.key));
      decisions[items.back()] = decision;
    }
    if (items.empty())
      FAIL(NotHeld(Str("no decision of '", Escaped(options_.run.tuning.read_from), "' is for a step of this module")));
    const auto keys_of = [&](const Items& some) {
      std::vector<std::string> keys;
      for (const std::string& item : some) keys.push_back(decisions.at(item).key);
      return keys;
    };
    TRY(OverSet(items, "decision", [&](const Items& kept) -> Result<Variant> {
      Variant variant{text_, options_.run};
      variant.run.tuning.keys = keys_of(kept);
      return variant;
    }));
    for (const std::string& item : result_.culprits) result_.change += ChangeOf(decisions.at(item));
    return WriteLocks(lock, keys_of(result_.culprits));
  }

  static std::string ChangeOf(const Symptom::Decision& decision) {
    const std::string more = decision.steps > 1 ? Str(" and ", decision.steps - 1, " like it") : "";
    return Str("@@ '", decision.step, "'", more, ", ", decision.signature, " @@\n- ",
               decision.without.empty() ? "no kernel" : decision.without, "\n+ ", decision.chosen, "\n");
  }

  Status WriteLocks(const gpu::Lock& lock, const std::vector<std::string>& culprits) {
    if (options_.directory.empty()) return {};
    TRY(MakeDirectories(options_.directory));
    for (const bool with : {true, false}) {
      const std::string file = Str(options_.directory, with ? "/guilty.lock" : "/without.lock");
      const auto keeps = [&](const gpu::Decision& decision) {
        return (std::ranges::find(culprits, decision.key) != culprits.end()) == with;
      };
      TRY(WriteFile(file, lock.Only(keeps).ToString()));
      (with ? result_.show_flags : result_.without_flags) =
          Str("--xla_gpu_load_autotune_results_from=", file, options_.measured ? " --bench" : "");
    }
    return {};
  }

  const std::string path_;
  const Text text_;
  const BisectOptions& options_;
  const Announce& announce_;
  Judge judge_;
  Bisection result_;
  std::map<int64_t, std::map<std::string, int64_t>> rewrites_;  // Keyed by fuel.
  int64_t fuel_ = 0;
};

}  // namespace

Result<Bisection> Bisect(const std::string& path, const BisectOptions& options, const Announce& announce) {
  Text text = TRY(ReadSource(ModuleFile(path), options.run.load.max_input));
  return Bisector(path, std::move(text), options, announce).Run();
}

}  // namespace hlo
