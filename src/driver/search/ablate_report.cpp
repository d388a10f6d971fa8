#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/search/ablate.h"
#include "driver/search/bar_chart.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// These passes choose without measuring, unlike autotuning.
constexpr std::string_view kChoosesByRule[] = {"gpu-conv-algorithm-picker", "gemm-algorithm-picker"};

std::string_view WordOf(AblateBy by) {
  switch (by) {
    case AblateBy::kPass: return "pass";
    case AblateBy::kInstance: return "pass instance";
    case AblateBy::kPipeline: return "pipeline";
    case AblateBy::kRule: return "rule";
    case AblateBy::kAll: return "";
  }
  return "";
}

std::string TimeText(double ms) { return ms < 1 ? Format("%.1f us", ms * 1e3) : Format("%.2f ms", ms); }
std::string EffectText(double effect) {
  const std::string text = Format("%+.1f %%", 100 * effect);
  return text == "-0.0 %" ? "+0.0 %" : text;
}
std::string IntervalText(const std::optional<Interval>& interval) {
  return interval ? Format("[%.1f, %.1f]", 100 * interval->low, 100 * interval->high) : "";
}

std::string DeltaText(double with, double without, const std::function<std::string(double)>& text) {
  const double delta = without - with;
  return delta == 0 ? "" : Str(delta > 0 ? "+" : "-", text(std::abs(delta)));
}

std::string How(const AblateOptions& options) {
  if (!options.measured)
    return Str("time modelled for ", options.run.pipeline.device->name,
               " from its description, deterministic, so there is no interval");
  return Str(
      "time measured on ", options.run.platform, ": median of ", options.rounds,
      " rounds in random order; effect: median over the rounds of the time divided by the baseline's; 95 % interval by "
      "bootstrap (2,000 samples of the rounds, percentiles)");
}

std::string ResultOf(const AblationRow& row) {
  if (!row.outcome.failure.empty()) return row.outcome.failure;
  if (row.same) return "same module";
  return row.outcome.verdict;
}

bool IsWrong(const AblationRow& row) { return row.outcome.verdict.starts_with("MISMATCH"); }

std::string BaselineLine(const Ablation& ablation, const AblateOptions& options) {
  const VariantOutcome& outcome = ablation.baseline.outcome;
  std::set<std::string> changed;
  for (const VariantOutcome::Instance& instance : outcome.instances) {
    if (instance.changed) changed.insert(instance.pass);
  }
  const double ms = ablation.baseline.milliseconds();
  return Str(ablation.path, ": ", TimeText(ms),
             options.examples_per_run > 0
                 ? Format(" (%.1f examples/s)", static_cast<double>(options.examples_per_run) / ms * 1e3)
                 : "",
             ", ", HumanCount(outcome.kernels), outcome.kernels == 1 ? " kernel, " : " kernels, ",
             HumanBytes(outcome.bytes), "; ", ablation.passes, " passes ran, ", changed.size(), " changed the module",
             outcome.verdict.empty() ? "" : Str("; ", outcome.verdict), "\n  ", How(options), "\n");
}

std::string NotesOf(const Ablation& ablation) {
  std::string out;
  for (const AblationRow& row : ablation.rows) {
    if (std::ranges::find(kChoosesByRule, row.name) != std::end(kChoosesByRule))
      out += Str("  ", row.name,
                 " chooses by a rule and measures nothing, so its effect here says nothing about autotuning\n");
  }
  return out;
}

// `more` has the cells before the result. A failed row has only name and result.
void AddRow(const AblationRow& row, const AblateOptions& options, std::array<std::string, 2> more, TextTable* table) {
  std::vector<std::string> cells = {row.name, TimeText(row.milliseconds()), EffectText(row.effect)};
  if (options.measured) cells.push_back(IntervalText(row.interval));
  for (std::string& cell : more) cells.push_back(std::move(cell));
  if (!row.outcome.failure.empty()) std::fill(cells.begin() + 1, cells.end(), "");
  cells.push_back(ResultOf(row));
  table->Row(std::move(cells));
}

std::string TableOf(const Ablation& ablation, const AblateOptions& options) {
  const VariantOutcome& baseline = ablation.baseline.outcome;
  std::vector<std::string> titles = {Str("without the ", WordOf(options.by)), ">time", ">effect"};
  if (options.measured) titles.emplace_back(">95 %");
  for (const char* title : {">kernels", ">bytes", "result"}) titles.emplace_back(title);
  TextTable table(titles);
  int64_t small = 0, same = 0;
  for (const AblationRow& row : ablation.rows) {
    const bool failed = !row.outcome.failure.empty();
    same += row.same;
    if (!failed && !IsWrong(row) && std::abs(row.effect) < options.threshold) {
      small += !row.same;
      if (options.threshold > 0) continue;
    }
    AddRow(row, options,
           {DeltaText(baseline.kernels, row.outcome.kernels, HumanCount),
            DeltaText(baseline.bytes, row.outcome.bytes, HumanBytes)},
           &table);
  }
  std::string out = table.empty() ? "" : table.Text();
  if (small > 0 && options.threshold > 0)
    out += Format("  %lld more with an effect within %g %% (--ablate_threshold=0 lists them)\n",
                  static_cast<long long>(small), 100 * options.threshold);
  std::vector<std::string> breaks, wrong;
  for (const AblationRow& row : ablation.rows) {
    if (!row.outcome.failure.empty()) breaks.push_back(row.name);
    if (IsWrong(row)) wrong.push_back(row.name);
  }
  out += Str("  compilation fails without: ", breaks.empty() ? "-" : Join(breaks, ", "), "\n");
  if (options.measured) out += Str("  results are wrong without: ", wrong.empty() ? "-" : Join(wrong, ", "), "\n");
  if (same > 0)
    out += Str("  the module stays the same without ", same, " of them, because other passes do their work\n");
  if (!ablation.unchanged.empty())
    out += Str("  not tried because ", ablation.unchanged.size() == 1 ? "it" : "they",
               " changed nothing: ", ablation.unchanged.size(), "\n");
  return out + NotesOf(ablation);
}

std::string TableOfPairs(const Ablation& ablation, const AblateOptions& options) {
  if (options.pairs == 0) return "";
  std::vector<std::string> titles = {
      Str("without both of these ", WordOf(options.by), options.by == AblateBy::kPass ? "es" : "s"), ">time",
      ">effect"};
  if (options.measured) titles.emplace_back(">95 %");
  for (const char* title : {">sum of each", ">interaction", "result"}) titles.emplace_back(title);
  TextTable table(titles);
  int64_t small = 0;
  for (const AblationRow& row : ablation.pairs) {
    const bool failed = !row.outcome.failure.empty();
    if (!failed && !IsWrong(row) && std::abs(row.effect - row.sum) < options.threshold) {
      ++small;
      if (options.threshold > 0) continue;
    }
    AddRow(row, options, {EffectText(row.sum), EffectText(row.effect - row.sum)}, &table);
  }
  std::string out = "\n";
  if (!table.empty()) out += table.Text();
  if (small > 0 && options.threshold > 0)
    out += Str("  ", small, small == 1 ? " pair is" : " pairs are", Format(" within %g %%", 100 * options.threshold),
               " of the sum of their two effects\n");
  if (ablation.pairs.empty()) out += "  no pairs: fewer than two of them have an effect\n";
  return out;
}

double RateOf(const AblationRow& row, const AblateOptions& options) {
  return static_cast<double>(options.examples_per_run) / row.milliseconds() * 1e3;
}

std::string TableOfModels(std::span<const Ablation> ablations, const AblateOptions& options) {
  std::vector<std::string> titles = {"module", ">with passes", ">without", ">speedup"};
  if (options.measured) titles.emplace_back(">95 %");
  if (options.examples_per_run > 0) titles.insert(titles.end(), {">examples/s", ">without"});
  for (const char* title : {">kernels", ">without", ">bytes", ">without", "result"}) titles.emplace_back(title);
  TextTable table(titles);
  double logs = 0;
  int64_t counted = 0;
  for (const Ablation& ablation : ablations) {
    const AblationRow &with = ablation.baseline, &without = ablation.rows.front();
    std::vector<std::string> cells = {ablation.path, TimeText(with.milliseconds())};
    if (!without.outcome.failure.empty()) {
      cells.resize(titles.size() - 1);
    } else {
      logs += std::log(1 + without.effect);
      ++counted;
      cells.push_back(TimeText(without.milliseconds()));
      cells.push_back(Format("%.2fx", 1 + without.effect));
      if (options.measured)
        cells.push_back(without.interval ? Format("[%.2f, %.2f]", 1 + without.interval->low, 1 + without.interval->high)
                                         : "");
      if (options.examples_per_run > 0) {
        cells.push_back(Format("%.1f", RateOf(with, options)));
        cells.push_back(Format("%.1f", RateOf(without, options)));
      }
      cells.push_back(HumanCount(with.outcome.kernels));
      cells.push_back(HumanCount(without.outcome.kernels));
      cells.push_back(HumanBytes(with.outcome.bytes));
      cells.push_back(HumanBytes(without.outcome.bytes));
    }
    cells.push_back(ResultOf(without));
    table.Row(std::move(cells));
  }
  std::string out = Str("all passes against none; ", How(options), "\n", table.Text());
  if (counted > 1)
    out += Format("  geometric mean of the speedups: %.2fx over %lld modules\n",
                  std::exp(logs / static_cast<double>(counted)), static_cast<long long>(counted));
  return out;
}

std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

void WriteRow(const AblationRow& row, JsonWriter* json) {
  json->Open('{').Key("off").Value(row.name).Key("same_module").Value(row.same);
  if (!row.both.empty()) {
    json->Key("both").Open('[');
    for (const std::string& name : row.both) json->Value(name);
    json->Close(']').Key("sum_of_effects").Value(row.sum).Key("interaction").Value(row.effect - row.sum);
  }
  json->Key("ms").Value(row.milliseconds()).Key("effect").Value(row.effect);
  if (row.interval) json->Key("effect_95").Open('[').Value(row.interval->low).Value(row.interval->high).Close(']');
  if (row.ms_interval) json->Key("ms_95").Open('[').Value(row.ms_interval->low).Value(row.ms_interval->high).Close(']');
  json->Key("rounds").Open('[');
  for (const double ms : row.ms) json->Value(ms);
  json->Close(']').Key("kernels").Value(row.outcome.kernels).Key("bytes").Value(row.outcome.bytes);
  json->Key("modelled_us").Value(row.outcome.seconds * 1e6).Key("instructions").Value(row.outcome.instructions);
  json->Key("verdict").Value(row.outcome.verdict).Key("failure").Value(row.outcome.failure).Close('}');
}

std::vector<Bar> BarsOf(const Ablation& ablation, const AblateOptions& options) {
  std::vector<Bar> bars;
  for (const AblationRow& row : ablation.rows) {
    const bool failed = !row.outcome.failure.empty();
    if (!failed && std::abs(row.effect) < options.threshold) continue;
    Bar bar{.name = row.name, .label = failed ? "breaks compilation" : EffectText(row.effect)};
    bar.value = 100 * row.effect;
    bar.is_failure = failed;
    if (row.interval) bar.interval = {100 * row.interval->low, 100 * row.interval->high};
    if (IsWrong(row)) bar.label += "  MISMATCH";
    bars.push_back(std::move(bar));
  }
  return bars;
}

}  // namespace

std::string AblationText(std::span<const Ablation> ablations, const AblateOptions& options) {
  if (options.by == AblateBy::kAll) return TableOfModels(ablations, options);
  std::string out;
  for (const Ablation& ablation : ablations)
    out += Str(out.empty() ? "" : "\n", BaselineLine(ablation, options), TableOf(ablation, options),
               TableOfPairs(ablation, options));
  return out;
}

std::string AblationJson(std::span<const Ablation> ablations, const AblateOptions& options) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.ablate/1").Key("pipeline").Value(options.run.pipeline.pipeline);
  json.Key("by").Value(options.by == AblateBy::kAll ? "all" : WordOf(options.by)).Key("time").Value(How(options));
  json.Key("modules").Open('[');
  for (const Ablation& ablation : ablations) {
    json.Open('{').Key("path").Value(ablation.path).Key("passes").Value(ablation.passes).Key("baseline");
    WriteRow(ablation.baseline, &json);
    json.Key("rows").Open('[');
    for (const AblationRow& row : ablation.rows) WriteRow(row, &json);
    json.Close(']').Key("pairs").Open('[');
    for (const AblationRow& row : ablation.pairs) WriteRow(row, &json);
    json.Close(']').Key("unchanged").Open('[');
    for (const std::string& name : ablation.unchanged) json.Value(name);
    json.Close(']').Close('}');
  }
  return json.Close(']').Close('}').text() + "\n";
}

std::string AblationCsv(std::span<const Ablation> ablations) {
  std::string out =
      "module,off,and,ms,effect,effect_low,effect_high,sum_of_effects,kernels,bytes,modelled_us,instructions,"
      "same_module,verdict,failure\n";
  const auto number = [](double value) { return Format("%.9g", value); };
  for (const Ablation& ablation : ablations) {
    const auto add = [&](const AblationRow& row) {
      const bool failed = !row.outcome.failure.empty();
      std::vector<std::string> cells = {ablation.path, row.both.empty() ? row.name : row.both[0],
                                        row.both.empty() ? "" : row.both[1]};
      cells.push_back(failed ? "" : number(row.milliseconds()));
      cells.push_back(failed ? "" : number(row.effect));
      cells.push_back(row.interval ? number(row.interval->low) : "");
      cells.push_back(row.interval ? number(row.interval->high) : "");
      cells.push_back(failed || row.both.empty() ? "" : number(row.sum));
      for (const double figure : {row.outcome.kernels, row.outcome.bytes, 1e6 * row.outcome.seconds,
                                  static_cast<double>(row.outcome.instructions)})
        cells.push_back(failed ? "" : number(figure));
      for (const std::string& text :
           {std::string(row.same ? "true" : "false"), row.outcome.verdict, row.outcome.failure})
        cells.push_back(text);
      std::vector<std::string> quoted;
      for (const std::string& cell : cells) quoted.push_back(CsvCell(cell));
      out += Str(Join(quoted, ","), "\n");
    };
    add(ablation.baseline);
    for (const AblationRow& row : ablation.rows) add(row);
    for (const AblationRow& row : ablation.pairs) add(row);
  }
  return out;
}

std::string AblationSvg(std::span<const Ablation> ablations, const AblateOptions& options) {
  const std::string time = options.measured
                               ? Str("measured on ", options.run.platform, ", bars: median, whiskers: 95 %")
                               : Str("modelled for ", options.run.pipeline.device->name);
  BarChart chart;
  chart.subtitle = Str("pipeline ", options.run.pipeline.pipeline, ", time ", time);
  if (options.by == AblateBy::kAll) {
    chart.title = "All passes against none";
    chart.axis = "time without passes / time with them";
    BarGroup& group = chart.groups.emplace_back();
    for (const Ablation& ablation : ablations) {
      const AblationRow& row = ablation.rows.front();
      Bar bar{.name = ablation.path.substr(ablation.path.rfind('/') + 1), .value = 1 + row.effect};
      bar.label = Format("%.2fx", bar.value);
      bar.is_failure = !row.outcome.failure.empty();
      if (bar.is_failure) bar.label = "cannot be compiled";
      else if (options.examples_per_run > 0)
        bar.label += Format("  %.1f examples/s", RateOf(ablation.baseline, options));
      if (row.interval) bar.interval = {1 + row.interval->low, 1 + row.interval->high};
      group.bars.push_back(std::move(bar));
    }
    return ChartSvg(chart);
  }
  chart.title = Str("What each ", WordOf(options.by), " is worth");
  chart.axis = Str("% more time without the ", WordOf(options.by));
  for (const Ablation& ablation : ablations)
    chart.groups.push_back({ablation.path.substr(ablation.path.rfind('/') + 1), BarsOf(ablation, options)});
  return ChartSvg(chart);
}

}  // namespace hlo
