// Decides which pass instances run, counts rewrites, checks the module and measures times.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <set>
#include <unordered_map>

#include "base/crash.h"
#include "base/text.h"
#include "ir/module.h"
#include "ir/mutation.h"
#include "passes/pipeline.h"
#include "passes/pipelines/selectors.h"
#include "passes/pipelines/text.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

using Clock = std::chrono::steady_clock;

struct Moment {
  Clock::time_point wall = Clock::now();
  std::clock_t processor = std::clock();
};

void SetTimes(const Moment& start, double* wall, double* processor) {
  const Moment now;
  *wall = std::chrono::duration<double, std::milli>(now.wall - start.wall).count();
  *processor = 1e3 * static_cast<double>(now.processor - start.processor) / CLOCKS_PER_SEC;
}

Result<std::vector<const Rule*>> RulesOf(std::string_view flag, std::string_view selector) {
  std::vector<const Rule*> rules = FindRules(Trim(selector));
  // Without a '.', an unknown selector of --xla_fuel is an unknown pass.
  const bool is_id = flag == "--disable_rules" || selector.find('.') != std::string_view::npos;
  if (rules.empty()) FAIL(is_id ? UnknownRule(flag, selector) : UnknownPass(selector));
  return rules;
}

// Limit on the instructions of a module during a fixed point: kMostGrowth * instructions before + kGrowthOfAny. Passes
// that expand, outline or unroll add less.
constexpr int64_t kMostGrowth = 4, kGrowthOfAny = 10'000;

template <class T>
Result<T> Named(const PassRun& run, Result<T> result) {
  if (result) return result;
  result.error().pass = NameOf(run);
  return std::unexpected(
      std::move(result.error())
          .AddNote(Str("the error occurred in pass ", run.number, ", ", NameOf(run), " of ", run.pipeline)));
}

// The value of --start_from, --stop_before or --stop_after.
struct SliceEnd {
  std::string_view flag;
  const std::string& text;
  std::optional<Selector> where;
  bool met = false;

  bool Names(const PassRun& run, std::span<const std::string_view> stages) const {
    // A name of both a pass and a stage names the pass.
    const bool is_named =
        where->name.empty() || where->name == run.pass->class_name || SamePassName(where->name, run.pass->name);
    return is_named && where->Matches(run, stages);
  }
  void Look(const PassRun& run, std::span<const std::string_view> stages) {
    met |= where.has_value() && Names(run, stages);
  }
};

class Runner {
 public:
  Runner(Module& module, const PipelineOptions& options) : module_(module), options_(options) {}

  Result<PipelineReport> Run() {
    pipeline_ = TRY(ParsePipeline(TextOf(options_)));
    disabled_ = TRY(ParseSelectors(options_.disabled, pipeline_));
    only_ = TRY(ParseSelectors(options_.only, pipeline_));
    TRY(ReadRules());
    TRY(ReadFuel());
    injection_ = TRY(ParseInjection(options_.inject, pipeline_));
    for (SliceEnd* end : {&from_, &before_, &after_}) {
      if (!end->text.empty()) end->where = TRY(ParseSelector(end->text, pipeline_));
    }
    fingerprint_ = fingerprints_.FingerprintOf(module_);
    TRY(RunItems(pipeline_.items));
    for (const auto& [id, entry] : book_.entries) {
      if (entry.rewrites > 0) report_.rewrites[id] = entry.rewrites;
    }
    report_.cycles.insert(report_.cycles.end(), book_.cycles.begin(), book_.cycles.end());
    for (const SliceEnd* end : {&from_, &before_, &after_}) {
      if (end->where && !end->met) report_.unmet.push_back(Str(end->flag, "=", end->text));
    }
    return std::move(report_);
  }

 private:
  Status ReadRules() {
    for (const std::string& selector : options_.disabled_rules) {
      for (const Rule* rule : TRY(RulesOf("--disable_rules", selector))) book_.entries[rule->id].disabled = true;
    }
    return {};
  }

  Status ReadFuel() {
    for (const auto& [name, amount] : options_.fuel) {
      if (const PassRow* pass = FindPass(name)) {
        fuel_[pass] = amount;
        continue;
      }
      for (const Rule* rule : TRY(RulesOf("--xla_fuel", name))) book_.entries[rule->id].fuel = amount;
    }
    return {};
  }

  Result<bool> RunItems(const std::vector<PipelineItem>& items) {
    bool changed = false;
    for (const PipelineItem& item : items) changed |= TRY(RunItem(item));
    return changed;
  }

  Result<bool> RunItem(const PipelineItem& item) {
    switch (item.kind) {
      case PipelineItem::Kind::kPass: Count(item); return RunRepeatedly(item, [&] { return RunPass(item); });
      case PipelineItem::Kind::kStage: {
        stages_.push_back(item.name);
        auto changed = RunRepeatedly(item, [&] { return RunItems(item.items); });
        stages_.pop_back();
        return changed;
      }
      case PipelineItem::Kind::kGate:
        return item.gate.IsOpen({module_, *options_.device, options_.partitions}) ? RunItems(item.items)
                                                                                  : Result<bool>(false);
      case PipelineItem::Kind::kTodo:
        if (Count(item)) report_.todo.push_back(item.name);
        return false;
    }
    return false;
  }

  // Returns whether the item was reached for the first time.
  bool Count(const PipelineItem& item) {
    const bool first = counted_.insert(&item).second;
    report_.items += first;
    return first;
  }

  template <class Once>
  Result<bool> RunRepeatedly(const PipelineItem& item, Once once) {
    if (!item.repeat.fixed_point) return once();
    // Number of passes that had run when the module first had this fingerprint.
    std::unordered_map<uint64_t, size_t> seen = {{fingerprint_, report_.runs.size()}};
    bool changed = false;
    size_t from = 0;
    const int64_t at_first = module_.InstructionCount();
    for (int round = 0; round < item.repeat.most; ++round) {
      from = report_.runs.size();
      if (!TRY(once())) return changed;
      changed = true;
      if (const int64_t now = module_.InstructionCount(); now > kMostGrowth * at_first + kGrowthOfAny) {
        TRY(DoesNotEnd(item, from,
                       Str("it grows the module, from ", at_first, " to ", now, " instructions in ", round + 1,
                           round == 0 ? " round" : " rounds")));
        return changed;
      }
      const auto [before, fresh] = seen.try_emplace(fingerprint_, report_.runs.size());
      if (fresh) continue;
      TRY(DoesNotEnd(item, before->second, Str("the same module appears again after ", round + 1, " rounds")));
      return changed;
    }
    if (!item.repeat.stops) TRY(DoesNotEnd(item, from, Str("it still changes the module in round ", item.repeat.most)));
    return changed;
  }

  // A cycle in a preset is only reported. The result is correct.
  Status DoesNotEnd(const PipelineItem& item, size_t first_run, const std::string& how) {
    std::vector<std::string_view> names;
    for (size_t i = first_run; i < report_.runs.size(); ++i) {
      const PassRun& run = report_.runs[i];
      if (run.changed && std::ranges::find(names, run.pass->name) == names.end()) names.push_back(run.pass->name);
    }
    const bool is_pass = item.kind == PipelineItem::Kind::kPass;
    std::string message =
        Str("'", is_pass ? item.pass->name : std::string_view(item.name), "' reaches no fixed point: ", how,
            "; these passes keep changing the module: ", Join(names, ", "));
    if (item.is_preset) {
      report_.cycles.push_back(std::move(message));
      return {};
    }
    Error error = UsageError("F009", std::move(message)).Hint("(fixed-point=N) stops after N rounds");
    error.source = pipeline_.source;
    error.diagnostics.front().range = item.range;
    FAIL(std::move(error));
  }

  Result<bool> RunPass(const PipelineItem& item) {
    const PassRow& pass = *item.pass;
    PassRun run{.number = static_cast<int>(report_.runs.size()) + 1,
                .pipeline = std::string(stages_.empty() ? "passes" : stages_.back()),
                .stages = {stages_.begin(), stages_.end()},
                .pass = &pass,
                .instance = ++instances_[&pass]};
    run.skipped = IsOutsideOfSlice(run) || Skips(run);
    run.instructions = module_.InstructionCount();
    if (run.skipped) {
      report_.runs.push_back(run);
      if (options_.after) TRY(options_.after(run, module_));
      return false;
    }

    const std::string name = NameOf(run);
    const AtHand at_hand("pass", name);
    run.options = item.options;
    PassContext context{.device = options_.device,
                        .options = item.options,
                        .rules = &book_,
                        .fusions = options_.fusions,
                        .notes = &report_.notes};
    if (const auto fuel = fuel_.find(&pass); fuel != fuel_.end()) context.fuel = &fuel->second;
    // The pass also runs without the fault on a copy, which shows whether the fault has an effect.
    std::unique_ptr<Module> sound;
    if (injection_ && injection_->where.Matches(run, stages_) && !IsPlantedAlready()) {
      sound = module_.Clone();
      RuleBook aside = book_;
      TRY(pass.function(*sound, {.device = options_.device, .options = item.options, .rules = &aside}));
      sound->Sweep();
      run.fault = context.fault = injection_->fault;
    }
    if (options_.before) TRY(options_.before(run, module_));
    const std::map<std::string_view, int64_t> rewrites = Rewrites();
    const Moment start;
    const bool reported = TRY(RunOnePass(module_, run, context));
    SetTimes(start, &run.milliseconds, &run.processor_milliseconds);
    const Moment end;
    for (const auto& [rule, count] : Rewrites()) {
      const auto at_first = rewrites.find(rule);
      const int64_t now = count - (at_first == rewrites.end() ? 0 : at_first->second);
      if (now > 0) run.rewrites.emplace_back(rule, now);
    }

    const uint64_t before = std::exchange(fingerprint_, fingerprints_.FingerprintOf(module_));
    run.changed = before != fingerprint_;
    if (sound != nullptr) report_.planted += Fingerprint(*sound) != fingerprint_;
    run.misreported = run.changed != reported;
    run.instructions = module_.InstructionCount();
    report_.changed |= run.changed;
    if (options_.verify && (run.changed || reported)) {
      auto sound = options_.verify(module_);
      if (!sound) {
        sound.error().exit = ExitCode::kInternal;
        TRY(Named(run, std::move(sound)));
      }
    }
    SetTimes(end, &run.after_milliseconds, &run.after_processor_milliseconds);
    report_.runs.push_back(run);
    if (options_.after) TRY(options_.after(run, module_));
    return run.changed;
  }

  // A second mutation might undo the first.
  bool IsPlantedAlready() const {
    return report_.planted > 0 && injection_->where.instance == 0 && FindMutation(injection_->fault) != nullptr;
  }

  std::map<std::string_view, int64_t> Rewrites() const {
    std::map<std::string_view, int64_t> rewrites;
    for (const auto& [id, entry] : book_.entries) {
      if (entry.rewrites > 0) rewrites[id] = entry.rewrites;
    }
    return rewrites;
  }

  // Must be called for all instances in order.
  bool IsOutsideOfSlice(const PassRun& run) {
    from_.Look(run, stages_);
    before_.Look(run, stages_);
    // If --stop_after names a stage, all its instances run.
    const bool is_behind = after_.met && !(after_.where->name.empty() && after_.Names(run, stages_));
    after_.Look(run, stages_);
    return (from_.where && !from_.met) || before_.met || is_behind;
  }

  bool Skips(const PassRun& run) const {
    if (options_.opt_bisect_limit >= 0 && run.number > options_.opt_bisect_limit) return true;
    const auto matches = [&](const Selector& selector) { return selector.Matches(run, stages_); };
    if (std::any_of(disabled_.begin(), disabled_.end(), matches)) return true;
    return !only_.empty() && std::none_of(only_.begin(), only_.end(), matches);
  }

  Module& module_;
  const PipelineOptions& options_;
  PipelineReport report_;
  Pipeline pipeline_;
  std::vector<std::string_view> stages_;  // Outermost first.
  std::set<const PipelineItem*> counted_;
  std::vector<Selector> disabled_, only_;
  std::map<const PassRow*, int> instances_;
  std::map<const PassRow*, int64_t> fuel_;
  RuleBook book_;
  std::optional<Injection> injection_;
  SliceEnd from_{"--start_from", options_.start_from}, before_{"--stop_before", options_.stop_before},
      after_{"--stop_after", options_.stop_after};
  Fingerprinter fingerprints_;
  uint64_t fingerprint_ = 0;
};

}  // namespace

std::string NameOf(const PassRun& run) { return Str(run.pass->name, "#", run.instance); }

std::shared_ptr<const SourceText> TextOf(const PipelineOptions& options) {
  if (options.passes) return std::make_shared<const SourceText>("--passes", *options.passes);
  if (options.text != nullptr) return options.text;
  return FindPreset(options.pipeline)->source;
}

Result<PipelineReport> RunPipeline(Module& module, const PipelineOptions& options) {
  return Runner(module, options).Run();
}

Result<bool> RunOnePass(Module& module, const PassRun& run, const PassContext& context) {
  module.SetMaker(NameOf(run));
  bool changed = TRY(Named(run, run.pass->function(module, context)));
  module.SetMaker("");
  module.Sweep();
  if (const Mutation* mutation = FindMutation(context.fault); mutation != nullptr)
    changed |= Plant(*mutation, module) != nullptr;
  // New instructions are at the end of the order, even behind their users.
  if (changed && module.header.is_scheduled) {
    for (Computation* computation : module.Computations()) computation->SetOrder(computation->PostOrder());
  }
  return changed;
}

Status CheckNames(const PipelineOptions& options) {
  const Pipeline pipeline = TRY(ParsePipeline(TextOf(options)));
  TRY(ParseSelectors(options.disabled, pipeline));
  TRY(ParseSelectors(options.only, pipeline));
  TRY(ParseInjection(options.inject, pipeline));
  for (const std::string* end : {&options.start_from, &options.stop_before, &options.stop_after}) {
    if (!end->empty()) TRY(ParseSelector(*end, pipeline));
  }
  for (const std::string& selector : options.disabled_rules) TRY(RulesOf("--disable_rules", selector));
  for (const auto& [name, amount] : options.fuel) {
    if (FindPass(name) == nullptr) TRY(RulesOf("--xla_fuel", name));
  }
  return {};
}

}  // namespace hlo
