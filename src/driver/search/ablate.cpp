#include "driver/search/ablate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>

#include "base/text.h"
#include "driver/load.h"
#include "passes/pass.h"

namespace hlo {
namespace {

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The 95 % percentile interval of the medians of 2,000 samples, drawn with replacement.
Interval BootstrapOfMedian(const std::vector<double>& values, uint64_t seed) {
  constexpr int kSamples = 2000;
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<size_t> any(0, values.size() - 1);
  std::vector<double> medians, sample(values.size());
  for (int i = 0; i < kSamples; ++i) {
    for (double& value : sample) value = values[any(random)];
    medians.push_back(Median(sample));
  }
  std::ranges::sort(medians);
  return {medians[kSamples * 25 / 1000], medians[kSamples * 975 / 1000 - 1]};
}

struct Candidate {
  std::string name;
  std::vector<std::string> disabled, disabled_rules;
  bool all = false;
};

// Selectors of a pass. If a stage has its name, the name alone would disable the whole stage.
std::vector<std::string> SelectorsOf(const std::string& pass, const std::vector<VariantOutcome::Instance>& instances) {
  std::set<std::string> stages;
  bool is_stage = false;
  for (const VariantOutcome::Instance& instance : instances) {
    is_stage |= SamePassName(instance.stage, pass);
    if (instance.pass == pass) stages.insert(instance.stage);
  }
  if (!is_stage) return {pass};
  std::vector<std::string> selectors;
  for (const std::string& stage : stages) selectors.push_back(Str(stage, "/", pass));
  return selectors;
}

std::vector<Candidate> CandidatesOf(const VariantOutcome& baseline, AblateBy by, std::vector<std::string>* unchanged) {
  if (by == AblateBy::kAll) return {{.name = "all passes", .all = true}};
  std::vector<Candidate> candidates;
  if (by == AblateBy::kRule) {
    for (const std::string& rule : baseline.rules) candidates.push_back({.name = rule, .disabled_rules = {rule}});
    return candidates;
  }
  std::vector<std::string> names;
  std::set<std::string> changed;
  for (const VariantOutcome::Instance& instance : baseline.instances) {
    const std::string& name = by == AblateBy::kPass       ? instance.pass
                              : by == AblateBy::kPipeline ? instance.stage
                                                          : instance.name;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    if (instance.changed) changed.insert(name);
  }
  for (const std::string& name : names) {
    if (!changed.contains(name)) unchanged->push_back(name);
    else if (by == AblateBy::kPass)
      candidates.push_back({.name = name, .disabled = SelectorsOf(name, baseline.instances)});
    else candidates.push_back({.name = name, .disabled = {name}});
  }
  return candidates;
}

std::string WhyNoMatch(AblateBy by, const std::string& path) {
  if (by == AblateBy::kAll) return "the only variant of --ablate_by=all, 'all passes', does not match";
  const std::string_view part = by == AblateBy::kPass       ? "pass"
                                : by == AblateBy::kInstance ? "pass instance"
                                : by == AblateBy::kPipeline ? "pipeline"
                                                            : "rule";
  return Str("no ", part, " that changed ", path, " has a matching name");
}

RunOptions Without(RunOptions options, const Candidate& candidate) {
  PipelineOptions& pipeline = options.pipeline;
  pipeline.disabled.insert(pipeline.disabled.end(), candidate.disabled.begin(), candidate.disabled.end());
  pipeline.disabled_rules.insert(pipeline.disabled_rules.end(), candidate.disabled_rules.begin(),
                                 candidate.disabled_rules.end());
  if (candidate.all) pipeline.passes = "";
  return options;
}

void Measure(std::span<std::unique_ptr<VariantProcess>> processes, std::span<AblationRow*> rows,
             const AblateOptions& options, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<size_t> order(processes.size());
  std::iota(order.begin(), order.end(), 0);
  for (const auto& process : processes) process->Run();  // Warms up.
  for (int64_t round = 0; round < options.rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (const size_t i : order) {
      if (const std::optional<double> ms = processes[i]->Run()) rows[i]->ms.push_back(*ms);
    }
  }
  const std::vector<double>& baseline = rows[0]->ms;
  for (size_t i = 0; i < rows.size(); ++i) {
    AblationRow* const row = rows[i];
    row->outcome = processes[i]->outcome();
    if (row->ms.size() != baseline.size() || baseline.empty()) continue;
    std::vector<double> effects;
    for (size_t round = 0; round < baseline.size(); ++round) effects.push_back(row->ms[round] / baseline[round] - 1);
    row->effect = Median(effects);
    row->interval = BootstrapOfMedian(effects, seed + 1);
    row->ms_interval = BootstrapOfMedian(row->ms, seed + 2);
  }
}

using Announce = std::function<void(const std::string&)>;

void MeasureAll(const std::string& path, const AblateOptions& options, const std::vector<Candidate>& candidates,
                std::vector<AblationRow>& rows_of_all, Ablation* ablation, const Announce& announce) {
  // Limits the number of modules in memory.
  constexpr size_t kTogether = 7;
  std::vector<double> baseline_ms = ablation->baseline.ms;
  for (size_t first = 0; first < rows_of_all.size(); first += kTogether) {
    const size_t end = std::min(first + kTogether, rows_of_all.size());
    AblationRow baseline = ablation->baseline;
    std::vector<std::unique_ptr<VariantProcess>> processes;
    std::vector<AblationRow*> rows = {&baseline};
    processes.push_back(std::make_unique<VariantProcess>(path, options.run, /*runs=*/true));
    processes.back()->outcome();
    for (size_t i = first; i < end; ++i) {
      announce(Str("judging without ", rows_of_all[i].name, ", ", i + 1, " of ", rows_of_all.size()));
      if (!rows_of_all[i].outcome.failure.empty() || rows_of_all[i].same) continue;
      const auto candidate = std::ranges::find(candidates, rows_of_all[i].name, &Candidate::name);
      processes.push_back(std::make_unique<VariantProcess>(path, Without(options.run, *candidate), /*runs=*/true));
      processes.back()->outcome();  // Waits, because judging uses all cores.
      rows.push_back(&rows_of_all[i]);
    }
    announce(Str("measuring ", first + 1, " to ", end, " of ", rows_of_all.size()));
    Measure(processes, rows, options, static_cast<uint64_t>(options.run.seed) + first);
    ablation->baseline.outcome = baseline.outcome;
    baseline_ms.insert(baseline_ms.end(), baseline.ms.begin(), baseline.ms.end());
  }
  ablation->baseline.ms = std::move(baseline_ms);
  if (!ablation->baseline.ms.empty())
    ablation->baseline.ms_interval = BootstrapOfMedian(ablation->baseline.ms, static_cast<uint64_t>(options.run.seed));
}

std::vector<AblationRow> TryEach(const std::string& path, const AblateOptions& options,
                                 const std::vector<Candidate>& candidates, const VariantOutcome& baseline,
                                 const Announce& announce) {
  std::vector<AblationRow> rows;
  for (const Candidate& candidate : candidates) {
    announce(Str("without ", candidate.name, ", ", rows.size() + 1, " of ", candidates.size()));
    AblationRow row{.name = candidate.name, .outcome = {}, .ms = {}};
    row.outcome = VariantProcess(path, Without(options.run, candidate), /*runs=*/false).outcome();
    row.same = row.outcome.fingerprint == baseline.fingerprint;
    if (baseline.seconds > 0 && row.outcome.failure.empty()) row.effect = row.outcome.seconds / baseline.seconds - 1;
    if (row.same) row.effect = 0;
    rows.push_back(std::move(row));
  }
  return rows;
}

// Passes that can replace each other have an effect only together.
void TryPairs(const std::string& path, const AblateOptions& options, const std::vector<Candidate>& candidates,
              Ablation* ablation, const Announce& announce) {
  std::vector<const AblationRow*> most;
  for (const AblationRow& row : ablation->rows) {
    if (row.outcome.failure.empty()) most.push_back(&row);
  }
  std::ranges::stable_sort(most, std::greater(), [](const AblationRow* row) { return std::abs(row->effect); });
  if (std::ssize(most) > options.pairs) most.resize(options.pairs);
  std::vector<Candidate> pairs;
  std::map<std::string, std::array<const AblationRow*, 2>> rows_of;
  for (size_t i = 0; i < most.size(); ++i) {
    for (size_t j = i + 1; j < most.size(); ++j) {
      Candidate pair = *std::ranges::find(candidates, most[i]->name, &Candidate::name);
      const Candidate& other = *std::ranges::find(candidates, most[j]->name, &Candidate::name);
      pair.name += Str(" + ", other.name);
      pair.disabled.insert(pair.disabled.end(), other.disabled.begin(), other.disabled.end());
      pair.disabled_rules.insert(pair.disabled_rules.end(), other.disabled_rules.begin(), other.disabled_rules.end());
      rows_of[pair.name] = {most[i], most[j]};
      pairs.push_back(std::move(pair));
    }
  }
  ablation->pairs = TryEach(path, options, pairs, ablation->baseline.outcome, announce);
  if (options.measured) MeasureAll(path, options, pairs, ablation->pairs, ablation, announce);
  for (AblationRow& row : ablation->pairs) {
    for (const AblationRow* one : rows_of.at(row.name)) {
      row.both.push_back(one->name);
      row.sum += one->effect;
    }
  }
  std::ranges::stable_sort(ablation->pairs, [](const AblationRow& a, const AblationRow& b) {
    if (a.outcome.failure.empty() != b.outcome.failure.empty()) return a.outcome.failure.empty();
    return std::abs(a.effect - a.sum) > std::abs(b.effect - b.sum);
  });
}

}  // namespace

std::optional<AblateBy> AblateByFromText(std::string_view text) {
  constexpr std::pair<std::string_view, AblateBy> kWords[] = {{"pass", AblateBy::kPass},
                                                              {"name", AblateBy::kPass},
                                                              {"passes", AblateBy::kPass},
                                                              {"instance", AblateBy::kInstance},
                                                              {"instances", AblateBy::kInstance},
                                                              {"pipeline", AblateBy::kPipeline},
                                                              {"pipelines", AblateBy::kPipeline},
                                                              {"group", AblateBy::kPipeline},
                                                              {"rule", AblateBy::kRule},
                                                              {"rules", AblateBy::kRule},
                                                              {"all", AblateBy::kAll}};
  for (const auto& [word, by] : kWords) {
    if (word == text) return by;
  }
  return std::nullopt;
}

double AblationRow::milliseconds() const { return ms.empty() ? 1e3 * outcome.seconds : Median(ms); }

Result<Ablation> Ablate(const std::string& path, const AblateOptions& options, const Announce& announce) {
  Ablation ablation{.path = path, .baseline = {}, .rows = {}, .pairs = {}, .unchanged = {}};
  TRY(LoadModule(path, options.run.load));  // Reports an error at its place in the module.
  announce("the baseline");
  ablation.baseline.name = "nothing";
  ablation.baseline.outcome = VariantProcess(path, options.run, /*runs=*/false).outcome();
  const VariantOutcome& baseline = ablation.baseline.outcome;
  if (!baseline.failure.empty()) FAIL(InternalError(Str(path, ", with all passes: ", baseline.failure)));
  std::set<std::string> passes;
  for (const VariantOutcome::Instance& instance : baseline.instances) passes.insert(instance.pass);
  ablation.passes = static_cast<int>(passes.size());
  std::vector<Candidate> candidates = CandidatesOf(baseline, options.by, &ablation.unchanged);
  if (options.only) {
    std::erase_if(candidates, [&](const Candidate& candidate) { return !options.only->FoundIn(candidate.name); });
    if (candidates.empty())
      FAIL(UsageError("F004", MetNothing("ablate", options.pattern, WhyNoMatch(options.by, path))));
  }
  ablation.rows = TryEach(path, options, candidates, baseline, announce);
  if (options.measured) MeasureAll(path, options, candidates, ablation.rows, &ablation, announce);
  if (options.pairs > 0) TryPairs(path, options, candidates, &ablation, announce);
  std::ranges::stable_sort(ablation.rows, [](const AblationRow& a, const AblationRow& b) {
    if (a.outcome.failure.empty() != b.outcome.failure.empty()) return a.outcome.failure.empty();
    return a.effect > b.effect;
  });
  return ablation;
}

}  // namespace hlo
