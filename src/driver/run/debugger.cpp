#include "driver/run/debugger.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/source_text.h"
#include "base/text.h"
#include "driver/inspect/extract.h"
#include "driver/inspect/text.h"
#include "driver/run/value_text.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

constexpr int64_t kShownWhole = 64;  // The most elements that are shown by default.
constexpr int kContext = 4;          // Instructions that `list` shows on each side.

class Debugger {
 public:
  Debugger(const Module& module, std::span<const Literal> args, const DebuggerOptions& options, std::FILE* in,
           std::FILE* out)
      : module_(module), args_(args), options_(options), in_(in), out_(out) {
    const auto add = [&](const Computation& computation) {
      for (const Instruction* inst : computation.instructions()) {
        instructions_[inst->name()].push_back(inst);
        // The parser renames an instruction if another computation has an instruction of the same name.
        if (const std::string_view text = NameInText(*inst); text != inst->name()) instructions_[text].push_back(inst);
      }
    };
    add(module.entry());
    for (const Computation* computation : module.Computations()) {
      if (!computation->IsEntry()) add(*computation);
    }
  }

  void Run() {
    Say(Str(module_.name(), ": ", module_.InstructionCount(),
            " instructions; 'run' starts, 'help' lists the commands"));
    while (!quit_) {
      if (ReadCommands() == Next::kQuit) break;
      Interpretation();
    }
  }

 private:
  enum class Next { kGoOn, kQuit };
  enum class Until { kBreakpoint, kStep, kFinish, kIteration };

  struct Command {
    const char* name;
    const char* letter;
    const char* takes;
    const char* about;
    Next (Debugger::*run)(const std::vector<std::string>& words, bool* resumes);
  };
  static const std::vector<Command>& Commands();

  void Interpretation() {
    values_.clear();
    loops_.clear();
    current_ = nullptr;
    stop_ = false;
    running_ = true;
    InterpretOptions interpret = options_.interpret;
    interpret.stop = &stop_;
    interpret.on_value = [this](const Instruction& inst, const Literal& value) { AfterValue(inst, value); };
    interpret.on_iteration = [this](const Instruction& loop, int64_t iteration, const Literal& state) {
      BeforeIteration(loop, iteration, state);
    };
    const auto result = Interpret(module_, args_, interpret);
    running_ = false;
    current_ = nullptr;
    if (result) {
      Say(Str("the program has ended: ", ValueText(*result, kShownWhole)));
    } else if (result.error().exit != ExitCode::kInterrupted) {
      Say(Trim(Render(result.error(), "hlo-debug")));
    }
  }

  void AfterValue(const Instruction& inst, const Literal& value) {
    values_[&inst] = value;
    if (!loops_.empty() && loops_.back().loop == &inst) loops_.pop_back();
    if (stop_) return;
    current_ = &inst;
    const bool broken = breakpoints_.contains(&inst);
    const bool stepped = until_ == Until::kStep && --steps_ <= 0;
    const bool finished = until_ == Until::kFinish && &inst.computation() == finishing_ && inst.IsRoot();
    if (!broken && !stepped && !finished) return;
    Say(Str(broken ? "breakpoint" : "stopped", Place(), ":\n", inst.name(), " = ", ValueText(value, kShownWhole)));
    Stop();
  }

  void BeforeIteration(const Instruction& loop, int64_t iteration, const Literal& state) {
    while (!loops_.empty() && loops_.back().loop != &loop && !Holds(loops_.back().loop, loop)) loops_.pop_back();
    if (loops_.empty() || loops_.back().loop != &loop) loops_.push_back({&loop, 0});
    loops_.back().iteration = iteration;
    if (stop_ || until_ != Until::kIteration || &loop != wanted_loop_ || iteration != wanted_iteration_) return;
    current_ = &loop;
    Say(Str("iteration ", iteration, " of ", loop.name(), " begins; its state is ", ValueText(state, kShownWhole)));
    Stop();
  }

  static bool Holds(const Instruction* outer, const Instruction& inner) {
    std::vector<const Computation*> open;
    std::set<const Computation*> seen;
    const auto add = [&](const Instruction& inst) {
      for (const Computation* called : CalledComputations(inst)) {
        if (seen.insert(called).second) open.push_back(called);
      }
    };
    add(*outer);
    while (!open.empty()) {
      const Computation* computation = open.back();
      open.pop_back();
      if (computation == &inner.computation()) return true;
      for (const Instruction* inst : computation->instructions()) add(*inst);
    }
    return false;
  }

  void Stop() {
    until_ = Until::kBreakpoint;
    if (ReadCommands() != Next::kQuit) return;
    quit_ = true;
    stop_ = true;
  }

  // ", iteration 3 of while.1"
  std::string Place() const {
    std::string out;
    for (const Loop& loop : loops_) out += Str(", iteration ", loop.iteration, " of ", loop.loop->name());
    return out;
  }

  Next ReadCommands() {
    std::string line;
    for (;;) {
      if (std::ferror(out_) != 0) return Next::kQuit;  // The reader of the answers is gone.
      if (options_.prompt) {
        std::fputs("(hlo) ", out_);
        std::fflush(out_);
      }
      line.clear();
      int c = 0;
      while ((c = std::fgetc(in_)) != EOF && c != '\n') line += static_cast<char>(c);
      if (c == EOF && line.empty()) return Next::kQuit;
      bool resumes = false;
      if (Execute(line, &resumes) == Next::kQuit) return Next::kQuit;
      if (resumes) return Next::kGoOn;
    }
  }

  Next Execute(const std::string& line, bool* resumes) {
    std::vector<std::string> words;
    for (const std::string_view word : Split(line, ' ')) {
      const std::string_view trimmed = Trim(word);
      if (!trimmed.empty()) words.emplace_back(trimmed);
    }
    if (words.empty() || words[0].starts_with('#')) return Next::kGoOn;
    std::vector<std::string_view> known;
    for (const Command& command : Commands()) {
      if (words[0] == command.name || words[0] == command.letter) return (this->*command.run)(words, resumes);
      known.emplace_back(command.name);
    }
    const auto near = NearNames(words[0], known, 1);
    Say(Str("no such command: '", Escaped(words[0]), "'",
            near.empty() ? "; 'help' lists them" : Str("; did you mean '", near[0], "'?")));
    return Next::kGoOn;
  }

  // ---- Arguments of commands ----

  // The instruction that word `i` names, by default the current one. Null, after a message, if there is none.
  const Instruction* Named(const std::vector<std::string>& words, size_t i) {
    if (i >= words.size()) {
      if (current_ != nullptr) return current_;
      Say("the command needs the name of an instruction");
      return nullptr;
    }
    const std::string_view name = words[i].starts_with('%') ? std::string_view(words[i]).substr(1) : words[i];
    const auto found = instructions_.find(name);
    if (found != instructions_.end()) {
      const std::vector<const Instruction*>& all = found->second;
      if (all.size() > 1)
        Say(Str(all.size(), " instructions are called '", Escaped(name), "'; this is the one in '",
                all[0]->computation().name(), "'"));
      return all[0];
    }
    std::vector<std::string_view> known;
    for (const auto& [text, all] : instructions_) known.push_back(text);
    const auto near = NearNames(name, known);
    Say(Str("no instruction is called '", Escaped(name), "'",
            near.empty() ? "" : Str("; did you mean '", Join(near, "', '"), "'?")));
    return nullptr;
  }

  const Literal* ValueOf(const Instruction& inst) {
    const auto found = values_.find(&inst);
    if (found != values_.end()) return &found->second;
    Say(Str("'", inst.name(), "' has no value yet"));
    return nullptr;
  }

  // ---- Commands ----

  Next Break(const std::vector<std::string>& words, bool*) {
    if (words.size() < 2) {
      for (const Instruction* inst : breakpoints_) Say(ToString(*inst));
      if (breakpoints_.empty()) Say("there are no breakpoints; 'break NAME' makes one");
    }
    for (size_t i = 1; i < words.size(); ++i) {
      const Instruction* inst = Named(words, i);
      if (inst == nullptr) continue;
      breakpoints_.insert(inst);
      Say(Str("will stop at ", ToString(*inst)));
    }
    return Next::kGoOn;
  }

  Next Delete(const std::vector<std::string>& words, bool*) {
    if (words.size() < 2) breakpoints_.clear();
    for (size_t i = 1; i < words.size(); ++i) {
      if (const Instruction* inst = Named(words, i); inst != nullptr && breakpoints_.erase(inst) == 0)
        Say(Str("there is no breakpoint at '", inst->name(), "'"));
    }
    return Next::kGoOn;
  }

  Next Continue(const std::vector<std::string>&, bool* resumes) {
    until_ = Until::kBreakpoint;
    *resumes = true;
    return Next::kGoOn;
  }

  Next Start(const std::vector<std::string>& words, bool* resumes) {
    if (!running_) return Continue(words, resumes);
    Say("the program is running; 'continue' resumes it");
    return Next::kGoOn;
  }

  Next Step(const std::vector<std::string>& words, bool* resumes) {
    steps_ = 1;
    if (words.size() > 1 && (!ParseInt(words[1], &steps_) || steps_ < 1)) {
      Say("step takes the number of instructions to run, 1 or more");
      return Next::kGoOn;
    }
    until_ = Until::kStep;
    *resumes = true;
    return Next::kGoOn;
  }

  Next Finish(const std::vector<std::string>&, bool* resumes) {
    if (current_ == nullptr) {
      Say("no program is running; 'run' starts it");
      return Next::kGoOn;
    }
    finishing_ = &current_->computation();
    until_ = Until::kFinish;
    *resumes = true;
    return Next::kGoOn;
  }

  Next Iteration(const std::vector<std::string>& words, bool* resumes) {
    const Instruction* loop = words.size() < 3 ? nullptr : Named(words, 1);
    if (words.size() < 3 || !ParseInt(words[2], &wanted_iteration_) || wanted_iteration_ < 0) {
      Say("iteration takes the name of a while and a number from 0, such as: iteration while.1 3");
      return Next::kGoOn;
    }
    if (loop == nullptr) return Next::kGoOn;
    if (!loop->Is(Opcode::kWhile)) {
      Say(Str("'", loop->name(), "' is a ", ToString(loop->opcode()), ", not a while"));
      return Next::kGoOn;
    }
    wanted_loop_ = loop;
    until_ = Until::kIteration;
    *resumes = true;
    return Next::kGoOn;
  }

  // print NAME [all|[1,2]]
  Next PrintValue(const std::vector<std::string>& words, bool*) {
    const Instruction* inst = Named(words, 1);
    const Literal* value = inst == nullptr ? nullptr : ValueOf(*inst);
    if (value == nullptr) return Next::kGoOn;
    if (words.size() < 3) {
      Say(Str(inst->name(), " = ", ValueText(*value, kShownWhole)));
    } else if (words[2] == "all") {
      Say(Str(inst->name(), " = ", ValueText(*value, INT64_MAX)));
    } else {
      PrintElement(*inst, *value, words[2]);
    }
    return Next::kGoOn;
  }

  void PrintElement(const Instruction& inst, const Literal& value, std::string_view where) {
    const Shape& shape = value.shape();
    std::string_view inner = where;
    if (inner.starts_with('[')) inner.remove_prefix(1);
    if (inner.ends_with(']')) inner.remove_suffix(1);
    int64_t linear = 0, place = 0;
    size_t d = 0;
    bool good = shape.IsArray();
    if (!inner.empty()) {
      for (const std::string_view part : Split(inner, ',')) {
        good = good && d < shape.dims().size() && ParseInt(Trim(part), &place) && place >= 0 && place < shape.dim(d);
        if (!good) break;
        linear = linear * shape.dim(d++) + place;
      }
    }
    if (!good || d != shape.dims().size()) {
      Say(Str("'", Escaped(where), "' is not an element of ", shape));
      return;
    }
    std::string out = Str(inst.name(), IndexText(shape, linear), " = ");
    AppendElement(out, value, linear);
    Say(out);
  }

  Next Operands(const std::vector<std::string>& words, bool*) {
    const Instruction* inst = Named(words, 1);
    if (inst == nullptr) return Next::kGoOn;
    Say(ToString(*inst));
    for (const Instruction* operand : inst->operands()) {
      const auto found = values_.find(operand);
      Say(Str("  ", operand->name(), " = ",
              found == values_.end() ? "not computed yet" : ValueText(found->second, kShownWhole)));
    }
    return Next::kGoOn;
  }

  Next Statistics(const std::vector<std::string>& words, bool*) {
    const Instruction* inst = Named(words, 1);
    const Literal* value = inst == nullptr ? nullptr : ValueOf(*inst);
    if (value == nullptr) return Next::kGoOn;
    const ValueStats stats = StatsOf(*value);
    Say(Str(inst->name(), ": ", Counted(stats.elements, "element"), ", min ",
            Format("%.9g, max %.9g", stats.min, stats.max), ", ", stats.nans, " NaN, ", stats.infinities, " infinite"));
    return Next::kGoOn;
  }

  Next List(const std::vector<std::string>& words, bool*) {
    const Instruction* at = words.size() < 2 && current_ == nullptr ? &module_.entry().root() : Named(words, 1);
    if (at == nullptr) return Next::kGoOn;
    const std::vector<Instruction*> all = at->computation().Instructions();
    const auto found = std::find(all.begin(), all.end(), at);
    const auto first = all.begin() + std::max<int64_t>(0, found - all.begin() - kContext);
    const auto last = all.begin() + std::min<int64_t>(std::ssize(all), found - all.begin() + kContext + 1);
    Say(Str(at->computation().name(), ":"));
    for (auto it = first; it != last; ++it) Say(Str(*it == at ? "=> " : "   ", ToString(**it)));
    return Next::kGoOn;
  }

  Next Where(const std::vector<std::string>&, bool*) {
    if (current_ == nullptr) Say("no program is running; 'run' starts it");
    else Say(Str("after ", current_->name(), " of ", current_->computation().name(), Place()));
    return Next::kGoOn;
  }

  Next Quit(const std::vector<std::string>&, bool*) { return Next::kQuit; }

  Next Help(const std::vector<std::string>&, bool*) {
    for (const Command& command : Commands())
      Say(Format("  %-3s %-10s %-14s %s", command.letter, command.name, command.takes, command.about));
    return Next::kGoOn;
  }

  void Say(std::string_view text) {
    std::fprintf(out_, "%.*s\n", static_cast<int>(text.size()), text.data());
    std::fflush(out_);
  }

  struct Loop {
    const Instruction* loop;
    int64_t iteration;
  };

  const Module& module_;
  const std::span<const Literal> args_;
  const DebuggerOptions& options_;
  std::FILE *const in_, *const out_;
  std::map<std::string_view, std::vector<const Instruction*>> instructions_;  // By name. Instructions of the entry come
                                                                              // first.

  std::map<const Instruction*, Literal> values_;
  std::vector<Loop> loops_;  // The innermost is last.
  const Instruction* current_ = nullptr;
  bool running_ = false, quit_ = false;
  std::atomic<bool> stop_ = false;

  struct ByPlace {
    bool operator()(const Instruction* a, const Instruction* b) const { return a->id() < b->id(); }
  };
  std::set<const Instruction*, ByPlace> breakpoints_;
  Until until_ = Until::kBreakpoint;
  int64_t steps_ = 0;
  const Computation* finishing_ = nullptr;
  const Instruction* wanted_loop_ = nullptr;
  int64_t wanted_iteration_ = 0;
};

const std::vector<Debugger::Command>& Debugger::Commands() {
  static const std::vector<Command> kCommands = {
      {"run", "r", "", "start the program", &Debugger::Start},
      {"break", "b", "[NAME...]", "stop when the instruction has run; without a name: list them", &Debugger::Break},
      {"delete", "d", "[NAME...]", "do not stop there; without a name: delete all breakpoints", &Debugger::Delete},
      {"continue", "c", "", "run to the next breakpoint", &Debugger::Continue},
      {"step", "s", "[N]", "run one instruction, or N; steps into calls and loops", &Debugger::Step},
      {"finish", "f", "", "run to the end of this computation", &Debugger::Finish},
      {"iteration", "i", "WHILE N", "run to the beginning of iteration N, from 0, of the loop", &Debugger::Iteration},
      {"print", "p", "[NAME [WHAT]]",
       "print the latest value of the instruction; WHAT: an element such as [0,3], or all", &Debugger::PrintValue},
      {"operands", "o", "[NAME]", "print the instruction and the latest values of its operands", &Debugger::Operands},
      {"stats", "m", "[NAME]", "print the smallest and largest number, NaNs and infinities of its value",
       &Debugger::Statistics},
      {"list", "l", "[NAME]", "print the instructions around it", &Debugger::List},
      {"where", "w", "", "print the last instruction that ran, with the iterations of its loops", &Debugger::Where},
      {"help", "h", "", "this", &Debugger::Help},
      {"quit", "q", "", "the end of input does the same", &Debugger::Quit},
  };
  return kCommands;
}

}  // namespace

void Debug(const Module& module, std::span<const Literal> args, const DebuggerOptions& options, std::FILE* in,
           std::FILE* out) {
  Debugger(module, args, options, in, out).Run();
}

}  // namespace hlo
