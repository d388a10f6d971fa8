#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/text.h"
#include "ir/module.h"
#include "ir/mutation.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// The order is the design, so the reasons stand here.

// Calls hide matches from every other pass, and so do markers, of which a fused or called computation may have some.
constexpr std::string_view kPreOptimization[] = {"fusion-dissolver", "call-inliner", "sharding-remover",
                                                 "tuple-simplifier", "dce"};

// Rules compare whole shapes, so layouts come first; nothing later makes another one.
constexpr std::string_view kLayoutAssignment[] = {"layout-assignment"};

// Ops that are formulas of others, before what simplifies those.
constexpr std::string_view kExpansion[] = {"batchnorm_expander", "shuffle-expander", "reduce-window-rewriter"};

// Everything that makes less of the module, until nothing does.
constexpr std::string_view kSimplification[] = {"zero_sized_hlo_elimination",
                                                "algsimp",
                                                "tuple-simplifier",
                                                "simplify-while-loops",
                                                "reshape-mover",
                                                "constant_folding",
                                                "cse",
                                                "dce"};

// After simplify: what is left of dots and convolutions is worth a library. Folding before decomposing: the other way
// round it would see the decomposer's own transposes.
constexpr std::string_view kLibraries[] = {"transpose-folding",    "dot_decomposer",    "algsimp", "cse",
                                           "cublas-gemm-rewriter", "gpu-conv-rewriter", "dce"};

// Kernels last: whatever is left over after libraries have taken theirs. The schedule after the last change.
constexpr std::string_view kFusion[] = {"fusion", "dce", "multi_output_fusion", "dce"};
constexpr std::string_view kPrepare[] = {"gpu-schedule"};

constexpr Stage kStages[] = {
    {"pre-optimization", Repeat::kOnce, kPreOptimization}, {"layout assignment", Repeat::kOnce, kLayoutAssignment},
    {"optimization", Repeat::kOnce, kExpansion},           {"simplification", Repeat::kUntilUnchanged, kSimplification},
    {"post-layout_assignment", Repeat::kOnce, kLibraries}, {"fusion", Repeat::kOnce, kFusion},
    {"GPU-ir-emit-prepare", Repeat::kOnce, kPrepare},
};

// What may stand in --disable and its kin: [stage/]name[#k].
struct Selector {
  std::string stage, name;
  int instance = 0;  // 0: all.

  bool Matches(const PassRun& run) const {
    if (!stage.empty() && !SamePassName(stage, run.pipeline)) return false;
    if (instance != 0 && instance != run.instance) return false;
    return name == run.pass->class_name || SamePassName(name, run.pass->name) ||
           (instance == 0 && SamePassName(name, run.pipeline));
  }
};

const Stage* FindStage(std::string_view name) {
  for (const Stage& stage : kStages) {
    if (SamePassName(stage.name, name)) return &stage;
  }
  return nullptr;
}

Result<Selector> ParseSelector(std::string_view text) {
  Selector selector;
  std::string_view name = Trim(text);
  if (const size_t slash = name.find('/'); slash != std::string_view::npos) {
    selector.stage = name.substr(0, slash);
    name = name.substr(slash + 1);
    if (FindStage(selector.stage) == nullptr)
      FAIL(UsageError("F004", Str("unknown pipeline '", Escaped(selector.stage), "'")));
  }
  if (const size_t hash = name.find('#'); hash != std::string_view::npos) {
    int64_t instance = 0;
    if (!ParseInt(name.substr(hash + 1), &instance) || instance < 1) {
      FAIL(UsageError("F004", Str("'", Escaped(text), "': expected a number from 1 after '#'")));
    }
    selector.instance = static_cast<int>(instance);
    name = name.substr(0, hash);
  }
  if (FindPass(name) == nullptr && (selector.instance != 0 || FindStage(name) == nullptr)) FAIL(UnknownPass(name));
  selector.name = name;
  return selector;
}

Result<std::vector<Selector>> ParseSelectors(const std::vector<std::string>& texts) {
  std::vector<Selector> selectors;
  for (const std::string& text : texts) selectors.push_back(TRY(ParseSelector(text)));
  return selectors;
}

// A planted fault, and the instances that have it.
struct Injection {
  Selector where;
  std::string fault;
};

Result<std::optional<Injection>> ParseInjection(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const size_t colon = text.find(':');
  if (colon == std::string::npos)
    FAIL(UsageError("F004", Str("expected pass:NAME:FAULT, got 'pass:", Escaped(text), "'")));
  Injection injection{TRY(ParseSelector(text.substr(0, colon))), text.substr(colon + 1)};
  const PassRow* const pass = FindPass(injection.where.name);
  if (pass == nullptr) FAIL(UnknownPass(injection.where.name));
  std::vector<std::string_view> known(FaultsOf(pass->name).begin(), FaultsOf(pass->name).end());
  for (const Mutation& mutation : Mutations()) known.push_back(mutation.name);
  if (std::ranges::find(known, injection.fault) != known.end()) return injection;
  std::string message =
      Str("'", pass->name, "' has no fault '", Escaped(injection.fault), "' to plant; it has: ", Join(known, ", "));
  const std::vector<std::string> near = NearNames(injection.fault, known);
  if (!near.empty()) message += Str("; did you mean '", Join(near, "' or '"), "'?");
  FAIL(UsageError("F004", std::move(message)));
}

// A stage with its passes looked up.
struct Plan {
  std::string_view name;
  Repeat repeat = Repeat::kOnce;
  std::vector<const PassRow*> passes;
};

Plan PlanOf(const Stage& stage) {
  Plan plan{stage.name, stage.repeat, {}};
  for (const std::string_view name : stage.passes) plan.passes.push_back(FindPass(name));
  return plan;
}

Result<std::vector<Plan>> PlansOf(const PipelineOptions& options) {
  std::vector<Plan> plans;
  if (!options.passes) {
    for (const Stage& stage : kStages) plans.push_back(PlanOf(stage));
    return plans;
  }
  constexpr std::string_view kFixedPoint = "(fixed-point)";
  for (std::string_view word : Split(*options.passes, ',')) {
    word = Trim(word);
    if (word.empty()) continue;
    const bool fixed_point = word.ends_with(kFixedPoint);
    if (fixed_point) word = Trim(word.substr(0, word.size() - kFixedPoint.size()));
    const PassRow* pass = FindPass(word);
    const Stage* stage = FindStage(word);
    if (pass != nullptr && (stage == nullptr || pass->name == word)) {
      // Neighbours in the list share a stage, as in XLA's dumps.
      if (fixed_point || plans.empty() || plans.back().name != "passes" || plans.back().repeat != Repeat::kOnce) {
        plans.push_back({"passes", fixed_point ? Repeat::kUntilUnchanged : Repeat::kOnce, {}});
      }
      plans.back().passes.push_back(pass);
      continue;
    }
    if (stage == nullptr) FAIL(UnknownPass(word));
    plans.push_back(PlanOf(*stage));
    if (fixed_point) plans.back().repeat = Repeat::kUntilUnchanged;
  }
  return plans;
}

Result<std::vector<const Rule*>> RulesOf(std::string_view flag, std::string_view selector) {
  std::vector<const Rule*> rules = FindRules(Trim(selector));
  // What may be a pass too is one, but for ids.
  const bool is_id = flag == "--disable_rules" || selector.find('.') != std::string_view::npos;
  if (rules.empty()) FAIL(is_id ? UnknownRule(flag, selector) : UnknownPass(selector));
  return rules;
}

class Runner {
 public:
  Runner(Module& module, const PipelineOptions& options) : module_(module), options_(options) {}

  Result<PipelineReport> Run() {
    const std::vector<Plan> plans = TRY(PlansOf(options_));
    disabled_ = TRY(ParseSelectors(options_.disabled));
    only_ = TRY(ParseSelectors(options_.only));
    TRY(ReadRules());
    TRY(ReadFuel());
    injection_ = TRY(ParseInjection(options_.inject));
    fingerprint_ = fingerprints_.Of(module_);
    for (const Plan& plan : plans) TRY(RunStage(plan));
    for (const auto& [id, entry] : book_.entries) {
      if (entry.rewrites > 0) report_.rewrites[id] = entry.rewrites;
    }
    report_.cycles = std::move(book_.cycles);
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

  Status RunStage(const Plan& plan) {
    const int most = plan.repeat == Repeat::kOnce ? 1 : kMostRounds;
    for (int round = 0; round < most; ++round) {
      bool changed = false;
      for (const PassRow* pass : plan.passes) changed |= TRY(RunPass(plan.name, *pass));
      if (!changed) break;
    }
    return {};
  }

  Result<bool> RunPass(std::string_view stage, const PassRow& pass) {
    PassRun run{.number = static_cast<int>(report_.runs.size()) + 1,
                .pipeline = stage,
                .pass = &pass,
                .instance = ++instances_[&pass]};
    run.skipped = Skips(run);
    run.instructions = module_.InstructionCount();
    if (run.skipped) {
      report_.runs.push_back(run);
      if (options_.after) TRY(options_.after(run, module_));
      return false;
    }
    if (options_.before) TRY(options_.before(run, module_));

    PassContext context{.device = options_.device, .options = options_.sizes, .rules = &book_};
    if (const auto fuel = fuel_.find(&pass); fuel != fuel_.end()) context.fuel = &fuel->second;
    // The same pass without the fault tells whether it does anything.
    std::unique_ptr<Module> sound;
    if (injection_ && injection_->where.Matches(run)) {
      sound = module_.Clone();
      RuleBook aside = book_;
      TRY(pass.function(*sound, {.device = options_.device, .options = options_.sizes, .rules = &aside}));
      sound->Sweep();
      context.fault = injection_->fault;
    }
    const Clock::time_point start = Clock::now();
    module_.SetMaker(pass.name);
    bool reported = TRY(Named(run, pass.function(module_, context)));
    module_.SetMaker("");
    module_.Sweep();
    if (const Mutation* mutation = FindMutation(context.fault); mutation != nullptr)
      reported |= Plant(*mutation, module_) != nullptr;
    // What is new in a module that came with a schedule stands behind everything, also behind what needs it.
    if (reported && module_.header.is_scheduled) {
      for (Computation* computation : module_.PostOrder()) computation->SetOrder(computation->PostOrder());
    }
    const Clock::time_point end = Clock::now();
    run.milliseconds = Milliseconds(end - start);

    const uint64_t before = std::exchange(fingerprint_, fingerprints_.Of(module_));
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
    run.after_milliseconds = Milliseconds(Clock::now() - end);
    report_.runs.push_back(run);
    if (options_.after) TRY(options_.after(run, module_));
    return run.changed;
  }

  bool Skips(const PassRun& run) const {
    if (options_.opt_bisect_limit >= 0 && run.number > options_.opt_bisect_limit) return true;
    const auto matches = [&](const Selector& selector) { return selector.Matches(run); };
    if (std::any_of(disabled_.begin(), disabled_.end(), matches)) return true;
    return !only_.empty() && std::none_of(only_.begin(), only_.end(), matches);
  }

  // An error in a pass says in which.
  template <class T>
  static Result<T> Named(const PassRun& run, Result<T> result) {
    if (result) return result;
    return std::unexpected(
        std::move(result.error())
            .AddNote(Str("in pass ", run.number, ", ", run.pass->name, "#", run.instance, " of ", run.pipeline)));
  }

  Module& module_;
  const PipelineOptions& options_;
  PipelineReport report_;
  std::vector<Selector> disabled_, only_;
  std::map<const PassRow*, int> instances_;
  std::map<const PassRow*, int64_t> fuel_;
  RuleBook book_;
  std::optional<Injection> injection_;
  Fingerprinter fingerprints_;
  uint64_t fingerprint_ = 0;
};

}  // namespace

std::span<const Stage> DefaultPipeline() { return kStages; }

Result<PipelineReport> RunPipeline(Module& module, const PipelineOptions& options) {
  return Runner(module, options).Run();
}

Status CheckNames(const PipelineOptions& options) {
  TRY(PlansOf(options));
  TRY(ParseSelectors(options.disabled));
  TRY(ParseSelectors(options.only));
  TRY(ParseInjection(options.inject));
  for (const std::string& selector : options.disabled_rules) TRY(RulesOf("--disable_rules", selector));
  for (const auto& [name, amount] : options.fuel) {
    if (FindPass(name) == nullptr) TRY(RulesOf("--xla_fuel", name));
  }
  return {};
}

}  // namespace hlo
