#include "driver/search/variant.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/parallel.h"
#include "base/text.h"
#include "driver/inspect/pass_stats.h"
#include "driver/run/error_report.h"
#include "driver/run/experiment.h"
#include "driver/run/timing.h"
#include "gpu/plan/planner.h"

namespace hlo {
namespace {

std::string FailureOf(std::string_view stage, const Error& error) {
  const std::string in = error.pass.empty() ? "" : Str(" in ", error.pass);
  return Str("FAILED(", stage, in, "): ", error.message());
}

VariantOutcome OutcomeOf(Experiment& experiment, bool runs) {
  VariantOutcome outcome;
  const auto optimized = experiment.Optimized();
  const auto tuned = optimized ? experiment.Tuned() : Result<const Module*>(std::unexpected(optimized.error()));
  if (!tuned) {
    outcome.failure = FailureOf("passes", tuned.error());
    return outcome;
  }
  const DeviceDescription& device = *experiment.options().pipeline.device;
  const auto figures = FiguresOf(**tuned, device);
  if (!figures) {
    outcome.failure = FailureOf("cost", figures.error());
    return outcome;
  }
  outcome.fingerprint = Format("%016llx", static_cast<unsigned long long>(Fingerprint(**tuned)));
  outcome.instructions = figures->instructions;
  outcome.kernels = figures->kernels;
  outcome.bytes = figures->bytes;
  outcome.seconds = figures->seconds;
  for (const PassRun& run : (*optimized)->passes.runs) {
    if (run.skipped) continue;
    outcome.instances.push_back({std::string(run.pass->name), NameOf(run), run.pipeline, run.changed});
  }
  for (const auto& [rule, rewrites] : (*optimized)->passes.rewrites) outcome.rules.emplace_back(rule);
  const auto planned = (*tuned)->Clone();
  if (const Status plan = gpu::PlanModule(*planned, device); !plan) outcome.failure = FailureOf("plan", plan.error());
  if (!runs || !outcome.failure.empty()) return outcome;
  const auto report = Run(experiment);
  if (report) outcome.verdict = report->verdict;
  else outcome.failure = FailureOf("compile or run", report.error());
  return outcome;
}

std::string AsJson(const VariantOutcome& outcome) {
  JsonWriter json;
  json.Open('{').Key("fingerprint").Value(outcome.fingerprint).Key("instructions").Value(outcome.instructions);
  json.Key("kernels").Value(outcome.kernels).Key("bytes").Value(outcome.bytes).Key("seconds").Value(outcome.seconds);
  json.Key("instances").Open('[');
  for (const VariantOutcome::Instance& instance : outcome.instances) {
    json.Open('{').Key("pass").Value(instance.pass).Key("name").Value(instance.name);
    json.Key("stage").Value(instance.stage).Key("changed").Value(instance.changed).Close('}');
  }
  json.Close(']').Key("rules").Open('[');
  for (const std::string& rule : outcome.rules) json.Value(rule);
  json.Close(']').Key("failure").Value(outcome.failure).Key("verdict").Value(outcome.verdict).Close('}');
  return json.text();
}

VariantOutcome FromJson(const JsonValue& json) {
  const auto text = [](const JsonValue& value) { return value.String() == nullptr ? "" : *value.String(); };
  VariantOutcome outcome;
  outcome.fingerprint = text(json["fingerprint"]);
  outcome.instructions = json["instructions"].Int().value_or(0);
  outcome.kernels = json["kernels"].Number().value_or(0);
  outcome.bytes = json["bytes"].Number().value_or(0);
  outcome.seconds = json["seconds"].Number().value_or(0);
  if (const JsonValue::Array* instances = json["instances"].Items()) {
    for (const JsonValue& instance : *instances)
      outcome.instances.push_back(
          {text(instance["pass"]), text(instance["name"]), text(instance["stage"]), instance["changed"].IsTrue()});
  }
  if (const JsonValue::Array* rules = json["rules"].Items()) {
    for (const JsonValue& rule : *rules) outcome.rules.push_back(text(rule));
  }
  outcome.failure = text(json["failure"]);
  outcome.verdict = text(json["verdict"]);
  return outcome;
}

Result<double> TimeOnce(gpu::Executable& executable) {
  constexpr double kMs = 100;
  std::vector<double> runs;
  const Stopwatch all;
  do {
    TRY(executable.MakeReady());
    const Stopwatch run;
    TRY(executable.Execute());
    runs.push_back(run.ms());
  } while (all.ms() < kMs);
  std::ranges::sort(runs);
  return runs[runs.size() / 2];
}

void LiveAsVariant(const std::string& path, const RunOptions& options, bool runs, int commands, std::FILE* answers) {
  Progress progress(/*quiet=*/true);
  Experiment experiment(path, options, progress);
  const VariantOutcome outcome = OutcomeOf(experiment, runs);
  std::fprintf(answers, "%s\n", AsJson(outcome).c_str());
  std::fflush(answers);
  const auto placed = runs && outcome.failure.empty() && !experiment.IsInterpreted()
                          ? experiment.Placed()
                          : Result<gpu::Executable*>(nullptr);
  char command = 0;
  while (read(commands, &command, 1) == 1) {
    const auto ms = placed && *placed != nullptr ? TimeOnce(**placed) : Result<double>(-1);
    std::fprintf(answers, "%.17g\n", ms ? *ms : -1);
    std::fflush(answers);
  }
  std::_Exit(0);
}

}  // namespace

VariantProcess::VariantProcess(const std::string& path, const RunOptions& options, bool runs, int threads)
    : child_([=](int commands, std::FILE* answers) {
        if (threads > 0) SetThreads(threads);
        LiveAsVariant(path, options, runs, commands, answers);
      }) {}

const VariantOutcome& VariantProcess::outcome() {
  if (outcome_) return *outcome_;
  const std::optional<std::string> line = child_.ReadLine();
  const auto json = line ? ReadJson(*line) : Result<JsonValue>(JsonValue());
  if (!line) outcome_.emplace().failure = Str("FAILED(crash): ", child_.end());
  else if (!json) outcome_.emplace().failure = Str("FAILED(report): ", json.error().message());
  else outcome_ = FromJson(*json);
  return *outcome_;
}

std::optional<double> VariantProcess::Run() {
  if (!outcome().failure.empty() || !child_.Send('r')) return std::nullopt;
  const std::optional<std::string> line = child_.ReadLine();
  if (!line) {
    outcome_->failure = Str("FAILED(crash): ", child_.end());
    return std::nullopt;
  }
  const double ms = std::strtod(line->c_str(), nullptr);
  return ms > 0 ? std::optional(ms) : std::nullopt;
}

}  // namespace hlo
