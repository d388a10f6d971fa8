#include "driver/run/watch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "base/text.h"
#include "driver/inspect/source_place.h"
#include "driver/pattern.h"
#include "driver/run/dataflow_check.h"
#include "driver/run/step_alone.h"
#include "driver/run/value_text.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

using Clock = std::chrono::steady_clock;

// The first NaN or infinity from operands without one.
struct Finding {
  const Instruction* inst = nullptr;
  int64_t step = 0;  // Number of earlier values in the interpretation.
  ElementPlace place;
  std::vector<gpu::LoopStep> loops;  // The outermost first.
};

class Watch {
 public:
  Watch(const Module& module, const WatchOptions& options, std::optional<Pattern> traced, std::FILE* out)
      : options_(options), traced_(std::move(traced)), out_(out), rows_(module.id_limit()) {
    for (int what = 0; what < 2; ++what) tainted_[what].resize(module.id_limit());
  }

  void Attach(InterpretOptions& options) {
    options.stop = &stop_;
    options.on_value = [this](const Instruction& inst, const Literal& value) { Saw(inst, value); };
    options.on_iteration = [this](const Instruction& loop, int64_t iteration, const Literal&) {
      if (loops_.empty() || loops_.back().loop != &loop) loops_.push_back({&loop, 0});
      loops_.back().iteration = iteration;
    };
    last_ = Clock::now();
  }

  bool any_traced() const { return any_traced_; }
  const Finding* FirstOf(Oddity what) const {
    const Finding& finding = findings_[static_cast<int>(what)];
    return finding.inst != nullptr ? &finding : nullptr;
  }

  std::string Report() const {
    std::string out;
    if (options_.log_minmax) out += ExtremesTable();
    if (options_.stats) out += TimesTable();
    return out;
  }

 private:
  struct Row {
    const Instruction* inst = nullptr;
    int64_t runs = 0, nans = 0, infinities = 0;
    double min = HUGE_VAL, max = -HUGE_VAL;  // min > max if there are no numbers.
    double seconds = 0;
  };

  void Saw(const Instruction& inst, const Literal& value) {
    constexpr int64_t kMostElements = 1000;  // More elements of a traced value are not printed.
    const Clock::time_point now = Clock::now();
    if (!loops_.empty() && loops_.back().loop == &inst) loops_.pop_back();
    Row& row = rows_[inst.id()];
    if (row.runs++ == 0) {
      row.inst = &inst;
      order_.push_back(inst.id());
    }
    row.seconds += std::chrono::duration<double>(now - last_).count();
    if (traced_ && traced_->FoundIn(inst.name())) {
      any_traced_ = true;
      std::fprintf(out_, "%s%s = %s\n", std::string(inst.name()).c_str(),
                   row.runs > 1 ? Str(" (", row.runs, ")").c_str() : "", ValueText(value, kMostElements).c_str());
      std::fflush(out_);
    }
    if (options_.log_minmax) AddExtremes(row, value);
    if (options_.detect_nan != Detection::kNone) Detect(inst, value, Oddity::kNan, options_.detect_nan);
    if (options_.detect_inf != Detection::kNone) Detect(inst, value, Oddity::kInfinity, options_.detect_inf);
    ++step_;
    last_ = Clock::now();  // Excludes the cost of watching.
  }

  void AddExtremes(Row& row, const Literal& value) {
    const ValueStats stats = StatsOf(value);
    row.nans += stats.nans;
    row.infinities += stats.infinities;
    if (stats.elements == stats.nans) return;
    row.min = std::min(row.min, stats.min);
    row.max = std::max(row.max, stats.max);
  }

  // Parameters and constants with such values are not findings.
  void Detect(const Instruction& inst, const Literal& value, Oddity what, Detection mode) {
    Finding& finding = findings_[static_cast<int>(what)];
    if (finding.inst != nullptr) return;
    std::vector<bool>& tainted = tainted_[static_cast<int>(what)];
    const std::optional<ElementPlace> place = FindFirst(value, what);
    tainted[inst.id()] = place.has_value();
    if (!place || inst.Is(Opcode::kParameter) || inst.Is(Opcode::kConstant)) return;
    for (const Instruction* operand : inst.operands()) {
      if (tainted[operand->id()]) return;
    }
    // The instruction inside of a call was found before, or it is a constant.
    if (inst.Is(kControl) || inst.Is(Opcode::kFusion)) return;
    finding = {&inst, step_, *place, loops_};
    if (mode == Detection::kFail) stop_ = true;
  }

  std::string ExtremesTable() const {
    std::string out = "  values           min          max        NaN   infinite   runs  instruction\n";
    for (const int id : order_) {
      const Row& row = rows_[id];
      if (!row.inst->shape().IsArray()) continue;
      const bool any = row.min <= row.max;
      out += Format("  %18.6g %12.6g %10lld %10lld %6lld  %s %s\n", any ? row.min : std::nan(""),
                    any ? row.max : std::nan(""), static_cast<long long>(row.nans),
                    static_cast<long long>(row.infinities), static_cast<long long>(row.runs),
                    std::string(row.inst->name()).c_str(), row.inst->shape().ToString().c_str());
    }
    return out;
  }

  std::string TimesTable() const {
    constexpr size_t kMostRows = 20;
    struct Sum {
      double seconds = 0;
      int64_t runs = 0;
    };
    std::map<std::string_view, Sum> by_opcode;
    double total = 0;
    for (const int id : order_) {
      Sum& sum = by_opcode[ToString(rows_[id].inst->opcode())];
      sum.seconds += rows_[id].seconds;
      sum.runs += rows_[id].runs;
      total += rows_[id].seconds;
    }
    std::vector<std::pair<std::string_view, Sum>> opcodes(by_opcode.begin(), by_opcode.end());
    std::stable_sort(opcodes.begin(), opcodes.end(),
                     [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    const auto share = [&](double seconds) { return total > 0 ? 100 * seconds / total : 0.0; };
    std::string out = "  time            ms      %     runs  opcode\n";
    for (const auto& [opcode, sum] : opcodes)
      out += Format("  %16.3f  %5.1f %8lld  %s\n", 1000 * sum.seconds, share(sum.seconds),
                    static_cast<long long>(sum.runs), std::string(opcode).c_str());
    std::vector<int> order = order_;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rows_[a].seconds > rows_[b].seconds; });
    out += "  time            ms      %     runs  instruction\n";
    for (size_t i = 0; i < std::min(order.size(), kMostRows); ++i) {
      const Row& row = rows_[order[i]];
      out += Format("  %16.3f  %5.1f %8lld  %s\n", 1000 * row.seconds, share(row.seconds),
                    static_cast<long long>(row.runs), ToString(*row.inst).c_str());
    }
    if (order.size() > kMostRows) out += Format("  ... and %zu that take less\n", order.size() - kMostRows);
    return out;
  }

  const WatchOptions& options_;
  const std::optional<Pattern> traced_;
  bool any_traced_ = false;
  std::FILE* const out_;
  std::vector<Row> rows_;
  std::vector<int> order_;
  std::vector<bool> tainted_[2];
  Finding findings_[2];
  std::vector<gpu::LoopStep> loops_;  // The outermost first.
  int64_t step_ = 0;
  std::atomic<bool> stop_ = false;
  Clock::time_point last_;
};

std::string_view NameOf(Oddity what) { return what == Oddity::kNan ? "NaN" : "infinite"; }

// `noun` is "instruction" or "step".
std::string FoundNone(Oddity what, std::string_view noun, const Module& module) {
  std::string text = what == Oddity::kNan
                         ? Str("--detect_nan: no ", noun, " made a NaN from operands without one")
                         : Str("--detect_inf: no ", noun, " made an infinity from operands without one");
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->Is(Opcode::kConstant) && FindFirst(inst->literal(), what))
        return Str(text, ", but the constant ", NameWithSource(*inst, module), " has one");
    }
  }
  return text;
}

Result<Error> Explain(const Module& module, std::span<const Literal> args, InterpretOptions options,
                      const Finding& finding, Oddity what) {
  std::map<const Instruction*, Literal> operands;
  std::atomic<bool> stop = false;
  int64_t step = 0;
  options.stop = &stop;
  options.on_value = [&](const Instruction& inst, const Literal& value) {
    const auto held = finding.inst->operands();
    if (step < finding.step && std::find(held.begin(), held.end(), &inst) != held.end()) operands[&inst] = value;
    stop = stop || step == finding.step;
    ++step;
  };
  const auto run = Interpret(module, args, options);
  if (!run && run.error().exit != ExitCode::kInterrupted) return std::unexpected(run.error());

  const Instruction& inst = *finding.inst;
  const Shape& leaf = SubShape(inst.shape(), finding.place.leaf);
  const std::string index = IndexText(leaf, finding.place.linear);
  Error error = ErrorAt(inst, what == Oddity::kNan ? "N001" : "N002",
                        Str(NameWithSource(inst, module), " is ", NameOf(what), index.empty() ? "" : Str(" at ", index),
                            LoopText(finding.loops), ", and none of its operands is"));
  error.exit = ExitCode::kNo;
  for (const Instruction* operand : inst.operands()) {
    const auto found = operands.find(operand);
    if (found == operands.end()) continue;
    const Literal& value = found->second;
    std::string text;
    if (inst.Is(kElementwise) && SameDims(value.shape(), leaf)) {
      text = Str(operand->name(), index, " = ");
      AppendElement(text, value, finding.place.linear);
    } else {
      constexpr int64_t kMost = 16;
      text = Str(operand->name(), " = ", ValueText(value, kMost));
    }
    error.diagnostics.front().notes.push_back({text, operand->range()});
    operands.erase(found);  // Reports an operand that occurs twice only once.
  }
  return error;
}

Detection ModeFor(Oddity what, const WatchOptions& watch) {
  return what == Oddity::kNan ? watch.detect_nan : watch.detect_inf;
}

}  // namespace

std::vector<std::string> OddArguments(const Module& module, std::span<const Literal> args, const WatchOptions& watch) {
  std::vector<std::string> notes;
  for (const Oddity what : {Oddity::kNan, Oddity::kInfinity}) {
    if (ModeFor(what, watch) == Detection::kNone) continue;
    for (const Instruction* parameter : module.entry().parameters()) {
      const int64_t number = parameter->parameter_number();
      const std::optional<ElementPlace> place = FindFirst(args[number], what);
      if (!place) continue;
      const std::string index = IndexText(SubShape(parameter->shape(), place->leaf), place->linear);
      notes.push_back(Str("argument ", number, " ('", parameter->name(), "') is ", NameOf(what),
                          index.empty() ? "" : Str(" at ", index), " before the run"));
    }
  }
  return notes;
}

Result<Watched> InterpretWatched(const Module& module, std::span<const Literal> args, const InterpretOptions& options,
                                 const WatchOptions& watch) {
  std::optional<Pattern> traced;
  if (!watch.trace_values.empty()) traced = TRY(Pattern::Compile(watch.trace_values, "trace_values"));
  Watch watcher(module, watch, std::move(traced), watch.to_stderr ? stderr : stdout);
  InterpretOptions watched = options;
  watcher.Attach(watched);
  auto result = Interpret(module, args, watched);
  Watched done = {.notes = OddArguments(module, args, watch)};
  for (const Oddity what : {Oddity::kNan, Oddity::kInfinity}) {
    const Detection mode = ModeFor(what, watch);
    const Finding* finding = watcher.FirstOf(what);
    if (finding == nullptr) {
      if (mode != Detection::kNone && result) done.notes.push_back(FoundNone(what, "instruction", module));
      continue;
    }
    Error error = TRY(Explain(module, args, options, *finding, what));
    if (mode == Detection::kFail) return std::unexpected(std::move(error));
    done.notes.push_back(error.message());
  }
  if (!result) return std::unexpected(std::move(result).error());
  if (!watch.trace_values.empty() && !watcher.any_traced())
    done.notes.push_back(MetNothing("trace_values", watch.trace_values, "no instruction that ran has a matching name"));
  done.result = std::move(*result);
  done.report = watcher.Report();
  return done;
}

namespace {

struct FoundStep {
  const Instruction* step;
  ElementPlace place;
  std::string loops;
  std::vector<Literal> read;
};

// nullopt if the value comes from a constant inside of the step.
std::optional<Error> ExplainStep(const FoundStep& found, const InterpretOptions& options, Oddity what) {
  const Instruction& step = *found.step;
  const std::unique_ptr<Module> alone = ExtractStep(step);
  const std::vector<Literal> arguments = ArgumentsOf(*alone, step, found.read);
  const bool is_nan = what == Oddity::kNan;
  const WatchOptions watch = {.detect_nan = is_nan ? Detection::kFail : Detection::kNone,
                              .detect_inf = is_nan ? Detection::kNone : Detection::kFail};
  const auto ran = InterpretWatched(*alone, arguments, options, watch);
  const bool explained = !ran && ran.error().exit == ExitCode::kNo;
  if (ran && HasAt(ran->result, found.place, what)) return std::nullopt;
  const std::string index = IndexText(SubShape(step.shape(), found.place.leaf), found.place.linear);
  Error error = explained ? ran.error()
                          : ErrorAt(step, is_nan ? "N001" : "N002",
                                    Str(NameWithSource(step, step.module()), " is ", NameOf(what),
                                        index.empty() ? "" : Str(" at ", index),
                                        ", but the interpreter's value for the same operands is not"));
  error.exit = ExitCode::kNo;
  error.diagnostics.front().message += Str(explained ? Str(", in kernel '", step.name(), "'") : "", found.loops);
  return error;
}

// The first step that makes such a value.
Result<std::optional<Error>> FindStep(gpu::Executable& executable, const InterpretOptions& options, Oddity what) {
  std::optional<Error> found;
  const auto has = [&](const Literal& value) { return FindFirst(value, what).has_value(); };
  const gpu::Observer look = {.wants = [&](const Instruction&, std::span<const gpu::LoopStep>) { return !found; },
                              .observe = [&](const Instruction& step, std::span<const gpu::LoopStep> loops,
                                             std::span<const Literal> inputs, const Literal& output) -> Status {
                                const std::optional<ElementPlace> place = FindFirst(output, what);
                                if (!place || std::ranges::any_of(inputs, has)) return {};
                                found =
                                    ExplainStep({&step, *place, LoopText(loops), KeptInputs(inputs)}, options, what);
                                return {};
                              }};
  TRY(executable.Execute({.observer = &look}));
  return found;
}

}  // namespace

Result<std::vector<std::string>> DetectInSteps(gpu::Executable& executable, const InterpretOptions& options,
                                               const WatchOptions& watch) {
  std::vector<std::string> notes;
  for (const Oddity what : {Oddity::kNan, Oddity::kInfinity}) {
    const Detection mode = ModeFor(what, watch);
    if (mode == Detection::kNone) continue;
    std::optional<Error> found = TRY(FindStep(executable, options, what));
    if (!found) {
      notes.push_back(FoundNone(what, "step", executable.module()));
      continue;
    }
    if (mode == Detection::kFail) FAIL(std::move(*found));
    notes.push_back(found->message());
  }
  return notes;
}

}  // namespace hlo
