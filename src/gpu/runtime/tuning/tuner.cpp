#include "gpu/runtime/tuning/tuner.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "gpu/emitters/emitter.h"
#include "gpu/runtime/prepare.h"
#include "gpu/runtime/shares.h"
#include "gpu/runtime/tuning/choice.h"
#include "gpu/runtime/tuning/denylist.h"
#include "gpu/runtime/tuning/reuse.h"
#include "gpu/runtime/tuning/step.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {
namespace {

using Clock = std::chrono::steady_clock;

// Equal fusions, which get the same plan.
struct Group {
  std::vector<Instruction*> steps;
  // Shares of a run: of all steps, and of cold ones (reuse.h).
  double share = 0, cold_share = 0;
  std::string key;

  bool is_cold() const { return 2 * cold_share > share; }
};

class Tuner {
 public:
  Tuner(Module& module, Device& device, const CompileOptions& compile, const TuningOptions& options,
        const TuningHooks& hooks)
      : module_(module), device_(device), compile_(compile), options_(options), hooks_(hooks) {
    compile_.inject.clear();
    compile_.host = nullptr;
    compile_.keep_kernels = false;
  }

  Result<TuningReport> Run() {
    const Clock::time_point start = Clock::now();
    deadline_ =
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.budget_seconds));
    TRY(ReadFiles());
    FindGroups();
    std::vector<Group*> misses;
    for (Group& group : groups_) {
      const bool matters = group.share >= options_.least_share;
      if (!matters && lock_.size() == 0) continue;
      group.key = KeyOf(*group.steps[0], group.is_cold(), context_, compile_);
      const Decision* const decision = DecisionFor(group);
      if (decision != nullptr) {
        ++report_.wanted, ++report_.cached;
        TRY(TakeFromLock(group, *decision));
      } else if (matters) {
        misses.push_back(&group);
      }
    }
    std::ranges::stable_sort(misses, std::greater(), &Group::share);
    if (options_.require_cached) TRY(CheckNothingMissing(misses));
    if (options_.level > 0) TRY(Measure(misses));
    else report_.wanted += static_cast<int>(misses.size());
    TRY(WriteLock());
    report_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return std::move(report_);
  }

 private:
  // Null if the lock has none, or if TuningOptions::keys or the denylist excludes it.
  const Decision* DecisionFor(const Group& group) {
    if (options_.keys && std::ranges::find(*options_.keys, group.key) == options_.keys->end()) return nullptr;
    const Decision* const decision = lock_.Find(context_, group.key);
    if (decision == nullptr || !denylist_.Denies(group.key, decision->choice)) return decision;
    report_.notes.push_back(Str("autotune: the denylist excludes the lock's choice for '", group.steps[0]->name(),
                                "', so it is not used: key=", group.key));
    return nullptr;
  }

  Status ReadFiles() {
    if (!options_.read_from.empty()) {
      lock_ = options_.must_exist ? TRY(Lock::Parse(TRY(ReadSource(options_.read_from))))
                                  : TRY(Lock::ReadIfThere(options_.read_from));
      if (lock_.conflicts() > 0)
        report_.notes.push_back(Str("'", Escaped(options_.read_from), "': ", lock_.conflicts(),
                                    " decisions are not used, because an earlier decision has the same key"));
    }
    if (!options_.denylist.empty()) denylist_ = TRY(Denylist::Read(options_.denylist));
    return {};
  }

  void FindGroups() {
    const auto in_run = StepsInRun();
    std::unordered_map<std::string, size_t> group_of;
    bool has_libraries = false;
    for (Computation* computation : SequentialComputations(module_)) {
      for (Instruction* inst : computation->Instructions()) {
        if (!MayTune(*inst)) continue;
        const auto found = in_run.find(inst->id());
        const std::string shape = EqualityOf(*inst);
        const auto [at, is_new] = group_of.emplace(shape, groups_.size());
        if (is_new) groups_.emplace_back();
        Group& group = groups_[at->second];
        group.steps.push_back(inst);
        if (found != in_run.end()) {
          group.share += found->second.share;
          if (found->second.is_cold) group.cold_share += found->second.share;
        }
        has_libraries = has_libraries || IsLibraryCall(*inst);
      }
    }
    context_ = ContextOf(device_, compile_, has_libraries);
    const std::string others = lock_.OthersText(context_);
    if (!others.empty())
      report_.notes.push_back(Str("'", Escaped(options_.read_from), "' also has decisions that do not apply to '",
                                  context_.device, "' and ", context_.tool, ": ", others));
  }

  // Cheaper than KeyOf, and equivalent in one module.
  static std::string EqualityOf(const Instruction& inst) {
    std::string text = Str(Fingerprint(FusedComputation(inst)), " ", LibraryOf(inst), " ",
                           inst.attrs<FusionAttrs>().kind, " ", inst.shape().ToStringWithLayout());
    for (const Instruction* operand : inst.operands()) {
      const auto first = std::ranges::find(inst.operands(), operand) - inst.operands().begin();
      text += Str(" ", first, operand->shape().ToStringWithLayout());
    }
    return text;
  }

  struct InRun {
    double share = 0;
    bool is_cold = false;
  };
  // Keyed by id, which Prepare keeps.
  std::unordered_map<int, InRun> StepsInRun() const {
    const std::unique_ptr<Module> prepared = Prepare(module_, *compile_.target);
    const DeviceDescription device = device_.IsHost() ? device_.Describe() : *compile_.target;
    const std::unordered_set<int> cold = ColdSteps(*prepared, device_.Describe().cache_bytes);
    std::unordered_map<int, InRun> steps;
    for (const auto& [inst, share] : SharesOfRun(*prepared, device))
      steps[inst->id()] = {share.share, cold.contains(inst->id())};
    return steps;
  }

  Status TakeFromLock(Group& group, const Decision& decision) {
    const auto plan = ReadChoice(decision.choice, *group.steps[0], compile_.target->name);
    const bool fits = plan && (!IsOwnKernel(plan->kernels.front().kind) || EmitFusion(*group.steps[0], *plan));
    if (!fits)
      FAIL(Rejected("A026", Str("the lock's choice for '", group.steps[0]->name(), "' does not fit that step",
                                plan ? "" : Str(", because ", plan.error().message()), ": '", Escaped(decision.choice),
                                "', key=", decision.key)));
    TunedStep& taken = report_.steps.emplace_back(TunedOf(group));
    taken.decision = decision;
    taken.was_cached = true;
    if (options_.names_defaults)
      taken.without = WordsWithoutMeasuring(*StepAlone(*group.steps[0]), device_, compile_).value_or("");
    return Plan(group, decision);
  }

  Status Plan(const Group& group, const Decision& decision) {
    for (Instruction* step : group.steps)
      SetPlan(*step, TRY(ReadChoice(decision.choice, *step, compile_.target->name)));
    report_.used.SetDecision(context_, decision);
    return {};
  }

  Status CheckNothingMissing(const std::vector<Group*>& misses) {
    std::vector<std::string> missing;
    for (const Group* group : misses) {
      const auto alone = StepAlone(*group->steps[0]);
      const auto candidates = CandidatesFor(*alone, device_, compile_);
      if (!candidates || candidates->size() < 2) continue;
      missing.push_back(Str("key=", group->key, " ('", group->steps[0]->name(), "', ", CategoryOf(*group->steps[0]),
                            " ", SignatureOf(*group->steps[0]), ")"));
    }
    if (missing.empty()) return {};
    Error error(
        ExitCode::kInconclusive, "C030",
        Str(missing.size(), missing.size() == 1 ? " step is" : " steps are", " not in the lock",
            options_.read_from.empty() ? "" : Str(" '", Escaped(options_.read_from), "'"), ": ", Join(missing, ", ")));
    FAIL(std::move(error).Hint(
        "without --require_cached_autotune these steps are measured, or planned without measuring"));
  }

  Status Measure(const std::vector<Group*>& misses) {
    for (size_t i = 0; i < misses.size(); ++i) {
      if (Clock::now() >= deadline_) {
        report_.unfinished += static_cast<int>(misses.size() - i);
        report_.wanted += static_cast<int>(misses.size() - i);
        break;
      }
      TRY(MeasureOne(*misses[i]));
    }
    if (report_.unfinished > 0)
      report_.notes.push_back(Str(report_.unfinished, report_.unfinished == 1 ? " step keeps" : " steps keep",
                                  " the plan that is chosen without measuring, because --autotune_budget is used up"));
    return {};
  }

  Status MeasureOne(Group& group) {
    const Instruction& step = *group.steps[0];
    const std::unique_ptr<Module> alone = StepAlone(step);
    RaceOptions race{.level = options_.level,
                     .is_cold = group.is_cold(),
                     .plant_wrong = options_.plant_wrong,
                     .deadline = deadline_,
                     .is_denied = {}};
    if (!denylist_.empty())
      race.is_denied = [&](const Candidate& candidate) { return denylist_.Denies(group.key, candidate.words); };
    auto result = RunRace(*alone, device_, compile_, race, hooks_);
    if (!result && result.error().exit == ExitCode::kUnsupported) return {};
    if (!result) FAIL(std::move(result).error());
    if (result->candidates.size() < 2) return {};
    ++report_.wanted;
    report_.planted += result->planted || HasWrong(*result) ? options_.plant_wrong : 0;
    TRY(Judge(group, *result));
    if (!result->why_warm.empty())
      report_.notes.push_back(Str("autotune: '", step.name(),
                                  "' was measured with its operands in the cache, but in "
                                  "a run they are in memory: ",
                                  result->why_warm));
    TunedStep tuned = TunedOf(group);
    if (result->out_of_time || result->winner < 0) {
      report_.unfinished += result->out_of_time;
    } else {
      const Candidate& winner = result->candidates[result->winner];
      tuned.decision = {.category = CategoryOf(step),
                        .signature = SignatureOf(step),
                        .choice = winner.words,
                        .microseconds = winner.microseconds,
                        .spread = winner.spread,
                        .samples = winner.samples,
                        .check = winner.check,
                        .key = group.key};
      TRY(Plan(group, tuned.decision));
      measured_.SetDecision(context_, tuned.decision);
      VLOG(1, "autotune: '", step.name(), "': ", winner.words);
    }
    tuned.race = std::move(*result);
    report_.steps.push_back(std::move(tuned));
    return {};
  }

  static TunedStep TunedOf(const Group& group) {
    TunedStep step;
    step.name = group.steps[0]->name();
    step.steps = static_cast<int>(group.steps.size());
    step.share = group.share;
    step.is_cold = group.is_cold();
    return step;
  }

  static bool HasWrong(const RaceResult& result) {
    return std::ranges::any_of(result.candidates, &Candidate::is_wrong);
  }

  Status Judge(const Group& group, const RaceResult& result) {
    const std::string_view name = group.steps[0]->name();
    for (const Candidate& candidate : result.candidates) {
      if (!candidate.is_wrong) continue;
      const std::string what = Str("'", name, "' by '", candidate.words, "' is wrong: ", candidate.failure);
      if (options_.stop_on_wrong)
        FAIL(Error(ExitCode::kNo, "C031", what)
                 .Hint(Str("a line for --xla_gpu_algorithm_denylist_path: key=", group.key, " ", candidate.words)));
      if (options_.level < 5) report_.notes.push_back(Str("autotune: ", what, "; it is not used"));
    }
    const bool none_runs = !result.out_of_time && result.winner < 0;
    if (none_runs && options_.strict && CategoryOf(*group.steps[0]) == "convolution")
      FAIL(DeviceError("C032", Str("no candidate for '", name, "' passes: ", result.candidates[0].failure)));
    if (none_runs)
      report_.notes.push_back(Str("autotune: no candidate for '", name, "' passes: ", result.candidates[0].failure));
    return {};
  }

  // Keeps decisions that other processes have written meanwhile.
  Status WriteLock() {
    if (options_.write_to.empty() || (measured_.size() == 0 && options_.write_to == options_.read_from)) return {};
    Lock all = measured_;
    all.Merge(report_.used);
    all.Merge(TRY(Lock::ReadIfThere(options_.write_to)));
    TRY(WriteFile(options_.write_to, all.ToString()));
    report_.wrote = true;
    return {};
  }

  Module& module_;
  Device& device_;
  CompileOptions compile_;
  const TuningOptions& options_;
  const TuningHooks& hooks_;
  Clock::time_point deadline_;
  LockContext context_;
  Lock lock_, measured_;
  Denylist denylist_;
  std::vector<Group> groups_;
  TuningReport report_;
};

std::string TimeText(double microseconds) {
  return microseconds < 1000 ? Format("%.1f us", microseconds) : Format("%.2f ms", microseconds / 1000);
}

}  // namespace

Result<TuningReport> Tune(Module& module, Device& device, const CompileOptions& compile, const TuningOptions& options,
                          const TuningHooks& hooks) {
  return Tuner(module, device, compile, options, hooks).Run();
}

std::string Summary(const TuningReport& report) {
  return Str(HumanMilliseconds(report.seconds * 1000), " (", report.cached, "/", report.wanted, " cached)");
}

std::string ToString(const TuningReport& report) {
  std::string out;
  for (const TunedStep& step : report.steps) {
    const std::string more = step.steps > 1 ? Str(" and ", step.steps - 1, " like it") : "";
    out += Str("'", step.name, "'", more, Format("  %.1f %% of the run", 100 * step.share));
    if (step.is_cold) out += "  with operands from memory";
    if (step.was_cached) {
      out += Str("\n  from the lock  ", ToString(step.decision), "\n");
      continue;
    }
    if (!step.decision.key.empty()) out += Str("  key=", step.decision.key);
    out += "\n";
    const std::vector<Candidate>& candidates = step.race.candidates;
    const double best = step.race.winner < 0 ? 0 : candidates[step.race.winner].microseconds;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& candidate = candidates[i];
      const bool wins = static_cast<int>(i) == step.race.winner;
      std::string how = candidate.failure;
      if (how.empty() && candidate.samples == 0) how = "not run";
      if (how.empty()) {
        how = Str(TimeText(candidate.microseconds), Format(" \u00b1%.1f us", candidate.spread),
                  " n=", candidate.samples, " check=", candidate.check);
        if (!wins && candidate.microseconds * (1 - kTie) <= best) how += "  within noise of the winner";
      } else if (candidate.is_wrong) {
        how = Str("WRONG: ", how);
      }
      out +=
          Str(wins ? "  * " : "    ", candidate.words, i == 0 ? " (chosen without measuring)" : "", "   ", how, "\n");
    }
  }
  return out;
}

}  // namespace hlo::gpu
