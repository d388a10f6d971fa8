#include "driver/search/symptom.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/parallel.h"
#include "base/text.h"
#include "driver/command_line.h"
#include "driver/inspect/pass_stats.h"
#include "driver/run/pass_check.h"
#include "driver/run/value_text.h"
#include "gpu/runtime/tuning/tuner.h"
#include "passes/pipeline.h"

namespace hlo {
namespace {

struct Word {
  std::string_view word;
  PropertyKind kind;
  bool takes_value;
  std::string_view what;
};
constexpr Word kWords[] = {
    {"fails", PropertyKind::kFails, false, "the failure of the input module, whichever it is"},
    {"mismatch", PropertyKind::kMismatch, false, "a wrong kernel, pass, library call, run time or output"},
    {"crash", PropertyKind::kCrash, false, "a signal, a failed internal check, or a hang of hlokit"},
    {"error", PropertyKind::kError, true, "any diagnostic; error:V012: this diagnostic"},
    {"nan", PropertyKind::kNan, false, "NaN in the outputs; in the interpreter: a NaN that the same opcode makes"},
    {"slower", PropertyKind::kSlower, true,
     "slower:1.2: the bad end is slower than the good end by this factor, by the device's description (hlo bisect)"},
    {"kernels", PropertyKind::kKernels, true, "more kernels than the good end; kernels:N: more than N kernels"},
    {"bytes", PropertyKind::kBytes, true, "more bytes moved than by the good end; bytes:N: more than N bytes"},
    {"script", PropertyKind::kScript, true,
     "script:CMD exits with the same status, other than 0; %s or $1 is the module; status 125: undecided"},
};

std::string_view NameOf(Culprit::Kind kind) {
  switch (kind) {
    case Culprit::Kind::kPass: return "pass";
    case Culprit::Kind::kKernel: return "kernel";
    case Culprit::Kind::kLibrary: return "library call";
    case Culprit::Kind::kRuntime: return "run time";
    default: return "the outputs";
  }
}

// The number in "algsimp#2" depends on the module.
std::string_view WithoutInstance(std::string_view name) { return name.substr(0, name.find('#')); }

// Names become '...' and numbers N, because both depend on the module. "1 element is" becomes plural.
std::string WithoutNames(std::string_view reason) {
  const auto is_digit = [&](size_t i) {
    return i < reason.size() && std::isdigit(static_cast<unsigned char>(reason[i])) != 0;
  };
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < reason.size(); ++i) {
    const char c = reason[i];
    // The apostrophe in "the interpreter's" is not a quote.
    const bool is_quote =
        c == '\'' && (quoted || i == 0 || std::isalnum(static_cast<unsigned char>(reason[i - 1])) == 0);
    if (is_quote) {
      out += (quoted ^= true) ? "'...'" : "";
    } else if (!quoted && is_digit(i)) {
      while (is_digit(i + 1) || (i + 2 < reason.size() && reason[i + 1] == '.' && is_digit(i + 2))) ++i;
      out += 'N';
    } else if (!quoted) {
      out += c;
    }
  }
  constexpr std::string_view kOne = "N element is", kSeveral = "N elements are";
  for (size_t at = out.find(kOne); at != std::string::npos; at = out.find(kOne, at))
    out.replace(at, kOne.size(), kSeveral);
  return out;
}

void Accuse(const Culprit& culprit, Symptom* symptom) {
  symptom->accused = culprit.kind;
  symptom->name = culprit.name;
  symptom->input = culprit.input;
  symptom->made_by = culprit.made_by;
  symptom->way = Str("MISMATCH: ", NameOf(culprit.kind));
  if (culprit.kind == Culprit::Kind::kPass && culprit.name.empty()) symptom->way = "MISMATCH: the passes";
  else if (culprit.kind == Culprit::Kind::kPass) symptom->way += Str(" ", WithoutInstance(culprit.name));
  else if (!culprit.sort.empty()) symptom->way += Str(" (", culprit.sort, ")");
  symptom->detail = Str(symptom->way, culprit.name.empty() ? "" : Str(" '", culprit.name, "'"));
}

void SetError(const Error& error, Symptom* symptom) {
  symptom->way = Str("error [", error.code(), "]", error.pass.empty() ? "" : " of pass ", WithoutInstance(error.pass));
  symptom->detail = Str(symptom->way, ": ", Escaped(error.message()));
}

void SetReport(const RunReport& report, Symptom* symptom) {
  symptom->bits = report.bits;
  if (report.exit == ExitCode::kOk) return;
  if (report.exit == ExitCode::kNo) return Accuse(report.culprit, symptom);
  symptom->way = WithoutNames(report.verdict);
  symptom->detail = report.verdict;
}

void SetPasses(const PipelineReport& passes, Symptom* symptom) {
  for (const PassRun& run : passes.runs) {
    if (!run.skipped) symptom->instances.push_back({NameOf(run), run.pipeline, run.number, run.changed});
  }
  for (const auto& [rule, rewrites] : passes.rewrites) symptom->rewrites[std::string(rule)] = rewrites;
}

void SetDecisions(const gpu::TuningReport& tuning, Symptom* symptom) {
  for (const gpu::TunedStep& step : tuning.steps) {
    if (!step.was_cached) continue;
    const gpu::Decision& decision = step.decision;
    symptom->decisions.push_back({decision.key, step.name, Str(decision.category, " ", decision.signature),
                                  decision.choice, step.without, step.steps});
  }
}

bool HasNan(const Literal& value) { return FindFirst(value, Oddity::kNan).has_value(); }

// Runs in the child process. `doing` announces stages to the parent.
class Examination {
 public:
  Examination(Experiment& experiment, const TrialOptions& options, std::function<void(std::string_view)> doing)
      : experiment_(experiment), options_(options), doing_(std::move(doing)) {}

  Result<Symptom> Run() {
    Symptom symptom;
    doing_("reading");
    TRY(experiment_.Input());
    if (options_.depth == Depth::kRead) return symptom;
    doing_("the passes");
    const OptimizedModule& optimized = *TRY(experiment_.Optimized());
    SetPasses(optimized.passes, &symptom);
    if (experiment_.options().tuning.any()) {
      if (const auto& tuning = TRY(experiment_.Planned())->tuning) SetDecisions(*tuning, &symptom);
    }
    if (options_.property.IsFigure()) TRY(Figure(&symptom));
    if (options_.depth == Depth::kPasses) return symptom;
    if (options_.depth == Depth::kMeaning || options_.depth == Depth::kEnds) return Meaning(std::move(symptom));
    return Execution(std::move(symptom));
  }

 private:
  Status Figure(Symptom* symptom) {
    const Module& module = *TRY(experiment_.Tuned());
    const ModuleFigures figures = TRY(FiguresOf(module, *experiment_.options().pipeline.device));
    const PropertyKind kind = options_.property.kind;
    symptom->figure = kind == PropertyKind::kKernels ? figures.kernels
                      : kind == PropertyKind::kBytes ? figures.bytes
                                                     : figures.seconds;
    return {};
  }

  Result<Symptom> Meaning(Symptom symptom) {
    doing_("the arguments");
    TRY(experiment_.Arguments());
    doing_("comparing");
    const JudgedPasses judged = TRY(JudgePassesOf(experiment_, /*runs_code=*/false, options_.depth == Depth::kMeaning));
    if (!judged.finding) return symptom;
    Culprit culprit{.kind = Culprit::Kind::kPass};
    culprit.input = judged.finding->input;
    culprit.name = judged.finding->instance;
    Accuse(culprit, &symptom);
    return symptom;
  }

  Result<Symptom> Execution(Symptom symptom) {
    TRY(experiment_.ResolvedPlatform());
    doing_("the arguments");
    const RunArguments& arguments = *TRY(experiment_.Arguments());
    if (!experiment_.IsInterpreted()) {
      doing_("compiling");
      TRY(experiment_.Compiled());
    }
    doing_("running");
    const auto results = experiment_.Results();
    if (options_.property.kind == PropertyKind::kNan) {
      const bool given = std::ranges::any_of(arguments.values, HasNan);
      if (!TRY(results) || given || !HasNan(TRY(experiment_.Results())->outputs)) return symptom;
      symptom.way = symptom.detail = "NaN in the outputs";
      return symptom;
    }
    doing_("judging");
    const RunReport report = TRY(hlo::Run(experiment_));
    SetReport(report, &symptom);
    return symptom;
  }

  Experiment& experiment_;
  const TrialOptions& options_;
  const std::function<void(std::string_view)> doing_;
};

// The error names the instruction that made the first NaN.
void NameOpcode(Experiment& experiment, const Error& error, Symptom* symptom) {
  const auto input = experiment.Input();
  if (!input) return;
  for (const Computation* computation : (*input)->module->Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->name() != error.diagnostics.front().instruction) continue;
      symptom->way = Str("NaN from '", inst->opcode(), "'");
      symptom->detail = Str(symptom->way, " at '", inst->name(), "'");
      symptom->input = inst->name();
    }
  }
}

RunOptions OptionsFor(RunOptions run, const TrialOptions& options) {
  run.dump = {};
  run.reproducer = {};
  run.bundle = {};
  run.save_args = run.save_outputs = run.outfeed = "";
  if (options.depth == Depth::kKernels && run.compare_mode == CompareMode::kAuto)
    run.compare_mode = CompareMode::kLocal;
  run.asks_for_roundings = options.asks_for_roundings && options.property.kind != PropertyKind::kMismatch;
  if (options.property.kind == PropertyKind::kNan && run.is_interpreter()) run.watch.detect_nan = Detection::kFail;
  return run;
}

Symptom Examine(const std::shared_ptr<const SourceText>& text, const RunOptions& given, const TrialOptions& options,
                const std::function<void(std::string_view)>& doing) {
  Progress progress(/*quiet=*/true);
  RunOptions run = given;
  const PassObserver before = run.pipeline.before;
  run.pipeline.before = [&](const PassRun& pass, Module& module) -> Status {
    doing(Str("pass ", NameOf(pass), "\t", pass.number));
    return before ? before(pass, module) : Status();
  };
  Experiment experiment(text, OptionsFor(std::move(run), options), progress);
  auto symptom = Examination(experiment, options, doing).Run();
  if (symptom) return std::move(*symptom);
  if (symptom.error().code() == "F004" && !given.inject.empty()) {  // The module has no place for the planted fault.
    RunOptions sound = given;
    sound.inject.clear();
    Symptom without = Examine(text, sound, options, doing);
    if (without.way.empty()) without.detail = symptom.error().message();
    return without;
  }
  Symptom failed;
  SetError(symptom.error(), &failed);
  if (symptom.error().code() == "N001") NameOpcode(experiment, symptom.error(), &failed);
  return failed;
}

// A timeout kills the whole process group of the command.
Symptom RunScript(const SourceText& text, const RunOptions& run, const TrialOptions& options) {
  Symptom symptom;
  const auto folder = MakeTemporaryDirectory("hlo-script");
  if (!folder) {
    symptom.untried = true;
    symptom.detail = folder.error().message();
    return symptom;
  }
  const std::string file = *folder + "/module.hlo";
  std::string command = options.property.command;
  for (size_t at = 0; (at = command.find("%s", at)) != std::string::npos; at += file.size())
    command.replace(at, 2, file);
  const Status written = WriteFile(file, text.text());
  const pid_t shell = written ? fork() : -1;
  if (shell == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    setenv("HLO_OPT_BISECT_LIMIT", Str(run.pipeline.opt_bisect_limit).c_str(), 1);  // -1: no limit.
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", command.c_str(), "sh", file.c_str(), nullptr);
    std::_Exit(127);
  }
  int status = 0;
  bool ended = shell < 0;
  const auto start = std::chrono::steady_clock::now();
  while (!ended && std::chrono::steady_clock::now() - start < std::chrono::duration<double>(options.seconds)) {
    ended = waitpid(shell, &status, WNOHANG) != 0;
    if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (!ended) {
    kill(-shell, SIGKILL);
    waitpid(shell, nullptr, 0);
    symptom.way = "script: hang";
  } else if (WIFSIGNALED(status)) {
    symptom.way = Str("script: ", strsignal(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) != 0) {
    symptom.way = Str("script: exit ", WEXITSTATUS(status));
  }
  constexpr int kCannotTell = 125;
  symptom.untried = shell < 0 || (ended && WIFEXITED(status) && WEXITSTATUS(status) == kCannotTell);
  if (symptom.untried) symptom.way.clear();
  symptom.detail = symptom.way;
  std::error_code ignored;
  std::filesystem::remove_all(*folder, ignored);
  return symptom;
}

std::string AsJson(const Symptom& symptom) {
  JsonWriter json;
  json.Open('{').Key("way").Value(symptom.way).Key("detail").Value(symptom.detail);
  json.Key("untried").Value(symptom.untried).Key("accused").Value(static_cast<int>(symptom.accused));
  json.Key("name").Value(symptom.name).Key("input").Value(symptom.input).Key("made_by").Value(symptom.made_by);
  json.Key("bits").Value(symptom.bits);
  json.Key("figure").Value(symptom.figure).Key("instances").Open('[');
  for (const Symptom::Instance& instance : symptom.instances) {
    json.Open('{').Key("name").Value(instance.name).Key("stage").Value(instance.stage);
    json.Key("number").Value(instance.number).Key("changed").Value(instance.changed).Close('}');
  }
  json.Close(']').Key("decisions").Open('[');
  for (const Symptom::Decision& decision : symptom.decisions) {
    json.Open('{').Key("key").Value(decision.key).Key("step").Value(decision.step);
    json.Key("signature").Value(decision.signature).Key("chosen").Value(decision.chosen);
    json.Key("without").Value(decision.without).Key("steps").Value(decision.steps).Close('}');
  }
  json.Close(']').Key("rewrites").Open('{');
  for (const auto& [rule, count] : symptom.rewrites) json.Key(rule).Value(count);
  json.Close('}').Close('}');
  return json.text();
}

Symptom FromJson(const JsonValue& json) {
  const auto text = [](const JsonValue& value) { return value.String() == nullptr ? "" : *value.String(); };
  Symptom symptom{.way = text(json["way"]), .detail = text(json["detail"]), .untried = json["untried"].IsTrue()};
  symptom.accused = static_cast<Culprit::Kind>(json["accused"].Int().value_or(0));
  symptom.name = text(json["name"]);
  symptom.input = text(json["input"]);
  symptom.made_by = text(json["made_by"]);
  symptom.bits = text(json["bits"]);
  symptom.figure = json["figure"].Number().value_or(0);
  if (const JsonValue::Array* instances = json["instances"].Items()) {
    for (const JsonValue& instance : *instances)
      symptom.instances.push_back({text(instance["name"]), text(instance["stage"]),
                                   instance["number"].Int().value_or(0), instance["changed"].IsTrue()});
  }
  if (const JsonValue::Array* decisions = json["decisions"].Items()) {
    for (const JsonValue& decision : *decisions)
      symptom.decisions.push_back({text(decision["key"]), text(decision["step"]), text(decision["signature"]),
                                   text(decision["chosen"]), text(decision["without"]),
                                   decision["steps"].Int().value_or(0)});
  }
  if (const JsonValue::Object* rewrites = json["rewrites"].AsObject()) {
    for (size_t i = 0; i < rewrites->keys.size(); ++i)
      symptom.rewrites[rewrites->keys[i]] = rewrites->values[i].Int().value_or(0);
  }
  return symptom;
}

ChildProcess::Body BodyOf(std::shared_ptr<const SourceText> text, const RunOptions& run, const TrialOptions& options) {
  return [text = std::move(text), run, options](int, std::FILE* answers) {
    if (options.threads > 0) SetThreads(options.threads);
    const auto doing = [answers](std::string_view stage) {
      std::fprintf(answers, "D%.*s\n", static_cast<int>(stage.size()), stage.data());
      std::fflush(answers);
    };
    const Symptom symptom = options.property.kind == PropertyKind::kScript ? RunScript(*text, run, options)
                                                                           : Examine(text, run, options, doing);
    std::fprintf(answers, "S%s\n", AsJson(symptom).c_str());
    std::fflush(answers);
    std::_Exit(0);
  };
}

}  // namespace

std::string PropertiesText() {
  std::vector<std::string> words;
  for (const Word& word : kWords) words.push_back(Str(word.word, ": ", word.what));
  return Join(words, "; ");
}

Result<Property> ParseProperty(std::string_view text, std::string_view fail_regex) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view value = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const Word* word = std::ranges::find(kWords, name, &Word::word);
  if (word == std::end(kWords)) {
    std::vector<std::string_view> names;
    for (const Word& known : kWords) names.push_back(known.word);
    FAIL(UsageError("F004", Str("--property wants ", Join(names, ", "), ", not '", Escaped(text), "'")));
  }
  Property property{.kind = word->kind, .code = {}, .command = {}, .words = {}, .text = std::string(text)};
  if (!fail_regex.empty()) property.words = TRY(Pattern::Compile(fail_regex, "fail_regex"));
  if (!value.empty() && !word->takes_value)
    FAIL(UsageError("F004", Str("--property=", name, " takes no value, got '", Escaped(value), "'")));
  if (property.kind == PropertyKind::kError) property.code = value;
  if (property.kind == PropertyKind::kScript) property.command = value;
  if (property.kind == PropertyKind::kScript && value.empty())
    FAIL(UsageError("F004", "--property=script:CMD wants a command")
             .Hint("for example: '--property=script:grep -q tanh $1'"));
  double limit = 0;
  if (property.IsFigure() && !value.empty()) {
    if (!ParseDouble(value, &limit) || limit < 0)
      FAIL(UsageError("F004", Str("--property=", name, ":N wants a number, not '", Escaped(value), "'")));
    property.limit = limit;
  }
  return property;
}

std::string Symptom::Text() const {
  if (!way.empty()) return detail;
  return detail.empty() ? "no failure" : Str("no failure: ", detail);
}

bool Symptom::Shows(const Property& property) const {
  if (way.empty() || untried) return false;
  if (property.words && !property.words->FoundIn(detail)) return false;
  switch (property.kind) {
    case PropertyKind::kMismatch: return way.starts_with("MISMATCH");
    case PropertyKind::kCrash: return way.starts_with("crash") || way.starts_with("hang");
    case PropertyKind::kError:
      return way.starts_with(property.code.empty() ? "error" : Str("error [", property.code, "]"));
    case PropertyKind::kNan: return way.starts_with("NaN");
    default: return true;
  }
}

Depth DepthOf(const Symptom& symptom, const Property& property) {
  if (property.IsFigure()) return Depth::kPasses;
  if (property.kind == PropertyKind::kNan) return Depth::kRun;
  const bool in_passes = symptom.stage == "the passes" || symptom.stage.starts_with("pass ");
  if (symptom.way.starts_with("MISMATCH")) {
    // Passes of the partitioned program are not in the pipeline for kernels.
    const bool is_in_pipeline =
        symptom.name.empty() ||
        std::ranges::find(symptom.instances, symptom.name, &Symptom::Instance::name) != symptom.instances.end();
    if (symptom.accused == Culprit::Kind::kPass) return is_in_pipeline ? Depth::kMeaning : Depth::kRun;
    return symptom.accused == Culprit::Kind::kNone ? Depth::kRun : Depth::kKernels;
  }
  if (symptom.stage == "reading") return Depth::kRead;
  return in_passes ? Depth::kPasses : Depth::kRun;
}

Trial::Trial(std::shared_ptr<const SourceText> text, const RunOptions& run, const TrialOptions& options)
    : kind_(options.property.kind),
      // The child ends a slow script itself, so it gets more time.
      child_(BodyOf(std::move(text), run, options),
             {.seconds = options.seconds + (options.property.kind == PropertyKind::kScript ? 5 : 0),
              .keeps_words = true}) {}

std::optional<Symptom> Trial::SymptomFrom(const std::string& line) {
  if (line.starts_with('D')) {
    const size_t tab = line.find('\t');
    stage_ = line.substr(1, tab - 1);
    if (tab != std::string::npos) ParseInt(std::string_view(line).substr(tab + 1), &pass_);
  }
  if (!line.starts_with('S')) return std::nullopt;
  const auto json = ReadJson(std::string_view(line).substr(1));
  if (!json) return std::nullopt;
  Symptom symptom = FromJson(*json);
  symptom.stage = stage_;
  symptom.pass = pass_;
  return symptom;
}

void Trial::SeeEnd() {
  const ChildEnd& end = child_.end();
  const std::string_view place = WithoutInstance(stage_);
  Symptom& symptom = symptom_.emplace();
  symptom.stage = stage_;
  symptom.pass = pass_;
  symptom.untried = kind_ == PropertyKind::kScript || end.exit < 0;
  constexpr int kCheckFailed = 70;
  const size_t colon = end.words.find(": internal error");
  if (end.timed_out) symptom.way = Str("hang in ", place);
  else if (end.signal == 0 && end.exit == kCheckFailed && colon != std::string::npos)
    symptom.way = Str("crash (check at ", end.words.substr(0, colon), ") in ", place);
  else symptom.way = Str("crash (", end, ") in ", place);
  symptom.detail =
      Str(symptom.way, stage_ == place ? "" : Str(" '", stage_, "'"), end.words.empty() ? "" : Str(": ", end.words));
}

bool Trial::Finished() {
  while (!symptom_) {
    const auto line = child_.TakeLine();
    if (!line && !child_.ended()) return false;
    if (line) symptom_ = SymptomFrom(*line);
    else SeeEnd();
  }
  return true;
}

const Symptom& Trial::symptom() {
  ChildProcess* const child = &child_;
  while (!Finished()) ChildProcess::WaitForAny({&child, 1});
  if (symptom_->seconds == 0)
    symptom_->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return *symptom_;
}

}  // namespace hlo
