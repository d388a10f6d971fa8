#include "driver/search/variant.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/json.h"
#include "base/json_reader.h"
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
  if (!optimized) {
    outcome.failure = FailureOf("passes", optimized.error());
    return outcome;
  }
  const DeviceDescription& device = *experiment.options().pipeline.device;
  const auto figures = FiguresOf(*(*optimized)->module, device);
  if (!figures) {
    outcome.failure = FailureOf("cost", figures.error());
    return outcome;
  }
  outcome.fingerprint = Format("%016llx", static_cast<unsigned long long>(Fingerprint(*(*optimized)->module)));
  outcome.instructions = figures->instructions;
  outcome.kernels = figures->kernels;
  outcome.bytes = figures->bytes;
  outcome.seconds = figures->seconds;
  for (const PassRun& run : (*optimized)->passes.runs) {
    if (run.skipped) continue;  // As those are that make regions of which no kernels are made yet.
    outcome.instances.push_back({std::string(run.pass->name), NameOf(run), run.pipeline, run.changed});
  }
  for (const auto& [rule, rewrites] : (*optimized)->passes.rewrites) outcome.rules.emplace_back(rule);
  const auto planned = (*optimized)->module->Clone();
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

// Median of the executions of a tenth of a second; at least one.
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

[[noreturn]] void LiveAsChild(const std::string& path, const RunOptions& options, bool runs, int commands,
                              std::FILE* answers) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // Nobody would end it otherwise.
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

VariantProcess::VariantProcess(const std::string& path, const RunOptions& options, bool runs) {
  int commands[2], answers[2];
  if (pipe2(commands, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) {
    outcome_.emplace().failure = Str("FAILED(pipe): ", std::strerror(errno));
    return;
  }
  std::fflush(nullptr);
  child_ = fork();
  if (child_ == 0) {
    close(commands[1]);
    close(answers[0]);
    LiveAsChild(path, options, runs, commands[0], fdopen(answers[1], "w"));
  }
  close(commands[0]);
  close(answers[1]);
  commands_ = commands[1];
  answers_ = fdopen(answers[0], "r");
  if (child_ < 0) outcome_.emplace().failure = Str("FAILED(fork): ", std::strerror(errno));
}

VariantProcess::~VariantProcess() {
  if (commands_ >= 0) close(commands_);
  if (answers_ != nullptr) std::fclose(answers_);
  if (child_ <= 0) return;
  kill(child_, SIGKILL);  // Others may hold its pipe open, so that it would wait on.
  waitpid(child_, nullptr, 0);
}

std::optional<std::string> VariantProcess::ReadLine() {
  std::string line;
  for (int c; (c = std::fgetc(answers_)) != EOF;) {
    if (c == '\n') return line;
    line += static_cast<char>(c);
  }
  return std::nullopt;
}

std::string VariantProcess::EndText() {
  int status = 0;
  if (child_ <= 0 || waitpid(std::exchange(child_, -1), &status, 0) < 0) return "FAILED(crash)";
  return WIFSIGNALED(status) ? Str("FAILED(crash): ", strsignal(WTERMSIG(status)))
                             : Str("FAILED(crash): it ended with exit ", WEXITSTATUS(status));
}

const VariantOutcome& VariantProcess::outcome() {
  if (outcome_) return *outcome_;
  const std::optional<std::string> line = ReadLine();
  const auto json = line ? ReadJson(*line) : Result<JsonValue>(JsonValue());
  if (!line) outcome_.emplace().failure = EndText();
  else if (!json) outcome_.emplace().failure = Str("FAILED(report): ", json.error().message());
  else outcome_ = FromJson(*json);
  return *outcome_;
}

std::optional<double> VariantProcess::Run() {
  if (!outcome().failure.empty() || write(commands_, "r", 1) != 1) return std::nullopt;
  const std::optional<std::string> line = ReadLine();
  if (!line) {
    outcome_->failure = EndText();
    return std::nullopt;
  }
  const double ms = std::strtod(line->c_str(), nullptr);
  return ms > 0 ? std::optional(ms) : std::nullopt;
}

}  // namespace hlo
