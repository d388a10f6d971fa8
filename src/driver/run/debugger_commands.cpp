#include "driver/run/debugger_commands.h"

#include <algorithm>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/run/value_text.h"
#include "ir/text/printer.h"

namespace hlo::debugger {

void Say(const Debugger& d, std::string_view text) {
  std::fprintf(d.out, "%.*s\n", static_cast<int>(text.size()), text.data());
  std::fflush(d.out);
}

std::string Place(const Debugger& d) {
  std::string out;
  for (const Loop& loop : d.loops) out += Str(", iteration ", loop.iteration, " of ", loop.loop->name());
  return out;
}

namespace {

constexpr int kContext = 4;  // Instructions that `list` shows on each side.

// The instruction that word `i` names, by default the current one. Null, after a message, if there is none.
const Instruction* Named(Debugger& d, const std::vector<std::string>& words, size_t i) {
  if (i >= words.size()) {
    if (d.current != nullptr) return d.current;
    Say(d, "the command needs the name of an instruction");
    return nullptr;
  }
  const std::string_view name = words[i].starts_with('%') ? std::string_view(words[i]).substr(1) : words[i];
  const auto found = d.instructions.find(name);
  if (found != d.instructions.end()) {
    const std::vector<const Instruction*>& all = found->second;
    if (all.size() > 1)
      Say(d, Str(all.size(), " instructions are called '", Escaped(name), "'; this is the one in '",
                 all[0]->computation().name(), "'"));
    return all[0];
  }
  std::vector<std::string_view> known;
  for (const auto& [text, all] : d.instructions) known.push_back(text);
  const auto near = NearNames(name, known);
  Say(d, Str("no instruction is called '", Escaped(name), "'",
             near.empty() ? "" : Str("; did you mean '", Join(near, "', '"), "'?")));
  return nullptr;
}

const Literal* ValueOf(Debugger& d, const Instruction& inst) {
  const auto found = d.values.find(&inst);
  if (found != d.values.end()) return &found->second;
  Say(d, Str("'", inst.name(), "' has no value yet"));
  return nullptr;
}

Next Break(Debugger& d, const std::vector<std::string>& words, bool*) {
  if (words.size() < 2) {
    for (const Instruction* inst : d.breakpoints) Say(d, ToString(*inst));
    if (d.breakpoints.empty()) Say(d, "there are no breakpoints; 'break NAME' makes one");
  }
  for (size_t i = 1; i < words.size(); ++i) {
    const Instruction* inst = Named(d, words, i);
    if (inst == nullptr) continue;
    d.breakpoints.insert(inst);
    Say(d, Str("will stop at ", ToString(*inst)));
  }
  return Next::kGoOn;
}

Next Delete(Debugger& d, const std::vector<std::string>& words, bool*) {
  if (words.size() < 2) d.breakpoints.clear();
  for (size_t i = 1; i < words.size(); ++i) {
    if (const Instruction* inst = Named(d, words, i); inst != nullptr && d.breakpoints.erase(inst) == 0)
      Say(d, Str("there is no breakpoint at '", inst->name(), "'"));
  }
  return Next::kGoOn;
}

Next Continue(Debugger& d, const std::vector<std::string>&, bool* resumes) {
  d.until = Until::kBreakpoint;
  *resumes = true;
  return Next::kGoOn;
}

Next Start(Debugger& d, const std::vector<std::string>& words, bool* resumes) {
  if (!d.running) return Continue(d, words, resumes);
  Say(d, "the program is running; 'continue' resumes it");
  return Next::kGoOn;
}

Next Step(Debugger& d, const std::vector<std::string>& words, bool* resumes) {
  d.steps = 1;
  if (words.size() > 1 && (!ParseInt(words[1], &d.steps) || d.steps < 1)) {
    Say(d, "step takes the number of instructions to run, 1 or more");
    return Next::kGoOn;
  }
  d.until = Until::kStep;
  *resumes = true;
  return Next::kGoOn;
}

Next Finish(Debugger& d, const std::vector<std::string>&, bool* resumes) {
  if (d.current == nullptr) {
    Say(d, "no program is running; 'run' starts it");
    return Next::kGoOn;
  }
  d.finishing = &d.current->computation();
  d.until = Until::kFinish;
  *resumes = true;
  return Next::kGoOn;
}

Next Iteration(Debugger& d, const std::vector<std::string>& words, bool* resumes) {
  const Instruction* loop = words.size() < 3 ? nullptr : Named(d, words, 1);
  if (words.size() < 3 || !ParseInt(words[2], &d.wanted_iteration) || d.wanted_iteration < 0) {
    Say(d, "iteration takes the name of a while and a number from 0, such as: iteration while.1 3");
    return Next::kGoOn;
  }
  if (loop == nullptr) return Next::kGoOn;
  if (!loop->Is(Opcode::kWhile)) {
    Say(d, Str("'", loop->name(), "' is a ", ToString(loop->opcode()), ", not a while"));
    return Next::kGoOn;
  }
  d.wanted_loop = loop;
  d.until = Until::kIteration;
  *resumes = true;
  return Next::kGoOn;
}

void PrintElement(Debugger& d, const Instruction& inst, const Literal& value, std::string_view where) {
  const Shape& shape = value.shape();
  std::string_view inner = where;
  if (inner.starts_with('[')) inner.remove_prefix(1);
  if (inner.ends_with(']')) inner.remove_suffix(1);
  int64_t linear = 0, place = 0;
  size_t dim = 0;
  bool good = shape.IsArray();
  if (!inner.empty()) {
    for (const std::string_view part : Split(inner, ',')) {
      good = good && dim < shape.dims().size() && ParseInt(Trim(part), &place) && place >= 0 && place < shape.dim(dim);
      if (!good) break;
      linear = linear * shape.dim(dim++) + place;
    }
  }
  if (!good || dim != shape.dims().size()) {
    Say(d, Str("'", Escaped(where), "' is not an element of ", shape));
    return;
  }
  std::string out = Str(inst.name(), IndexText(shape, linear), " = ");
  AppendElement(out, value, linear);
  Say(d, out);
}

// print NAME [all|[1,2]]
Next PrintValue(Debugger& d, const std::vector<std::string>& words, bool*) {
  const Instruction* inst = Named(d, words, 1);
  const Literal* value = inst == nullptr ? nullptr : ValueOf(d, *inst);
  if (value == nullptr) return Next::kGoOn;
  if (words.size() < 3) {
    Say(d, Str(inst->name(), " = ", ValueText(*value, kShownWhole)));
  } else if (words[2] == "all") {
    Say(d, Str(inst->name(), " = ", ValueText(*value, INT64_MAX)));
  } else {
    PrintElement(d, *inst, *value, words[2]);
  }
  return Next::kGoOn;
}

Next Operands(Debugger& d, const std::vector<std::string>& words, bool*) {
  const Instruction* inst = Named(d, words, 1);
  if (inst == nullptr) return Next::kGoOn;
  Say(d, ToString(*inst));
  for (const Instruction* operand : inst->operands()) {
    const auto found = d.values.find(operand);
    Say(d, Str("  ", operand->name(), " = ",
               found == d.values.end() ? "not computed yet" : ValueText(found->second, kShownWhole)));
  }
  return Next::kGoOn;
}

Next Statistics(Debugger& d, const std::vector<std::string>& words, bool*) {
  const Instruction* inst = Named(d, words, 1);
  const Literal* value = inst == nullptr ? nullptr : ValueOf(d, *inst);
  if (value == nullptr) return Next::kGoOn;
  const ValueStats stats = StatsOf(*value);
  Say(d,
      Str(inst->name(), ": ", Counted(stats.elements, "element"), ", min ",
          Format("%.9g, max %.9g", stats.min, stats.max), ", ", stats.nans, " NaN, ", stats.infinities, " infinite"));
  return Next::kGoOn;
}

Next List(Debugger& d, const std::vector<std::string>& words, bool*) {
  const Instruction* at = words.size() < 2 && d.current == nullptr ? &d.module.entry().root() : Named(d, words, 1);
  if (at == nullptr) return Next::kGoOn;
  const std::vector<Instruction*> all = at->computation().Instructions();
  const auto found = std::find(all.begin(), all.end(), at);
  const auto first = all.begin() + std::max<int64_t>(0, found - all.begin() - kContext);
  const auto last = all.begin() + std::min<int64_t>(std::ssize(all), found - all.begin() + kContext + 1);
  Say(d, Str(at->computation().name(), ":"));
  for (auto it = first; it != last; ++it) Say(d, Str(*it == at ? "=> " : "   ", ToString(**it)));
  return Next::kGoOn;
}

Next Where(Debugger& d, const std::vector<std::string>&, bool*) {
  if (d.current == nullptr) Say(d, "no program is running; 'run' starts it");
  else Say(d, Str("after ", d.current->name(), " of ", d.current->computation().name(), Place(d)));
  return Next::kGoOn;
}

Next Quit(Debugger&, const std::vector<std::string>&, bool*) { return Next::kQuit; }

Next Help(Debugger& d, const std::vector<std::string>&, bool*);

struct Command {
  const char* name;
  const char* letter;
  const char* takes;
  const char* about;
  Next (*run)(Debugger& d, const std::vector<std::string>& words, bool* resumes);
};
constexpr Command kCommands[] = {
    {"run", "r", "", "start the program", Start},
    {"break", "b", "[NAME...]", "stop when the instruction has run; without a name: list them", Break},
    {"delete", "d", "[NAME...]", "do not stop there; without a name: delete all breakpoints", Delete},
    {"continue", "c", "", "run to the next breakpoint", Continue},
    {"step", "s", "[N]", "run one instruction, or N; steps into calls and loops", Step},
    {"finish", "f", "", "run to the end of this computation", Finish},
    {"iteration", "i", "WHILE N", "run to the beginning of iteration N, from 0, of the loop", Iteration},
    {"print", "p", "[NAME [WHAT]]", "print the latest value of the instruction; WHAT: an element such as [0,3], or all",
     PrintValue},
    {"operands", "o", "[NAME]", "print the instruction and the latest values of its operands", Operands},
    {"stats", "m", "[NAME]", "print the smallest and largest number, NaNs and infinities of its value", Statistics},
    {"list", "l", "[NAME]", "print the instructions around it", List},
    {"where", "w", "", "print the last instruction that ran, with the iterations of its loops", Where},
    {"help", "h", "", "this", Help},
    {"quit", "q", "", "the end of input does the same", Quit},
};

Next Help(Debugger& d, const std::vector<std::string>&, bool*) {
  for (const Command& command : kCommands)
    Say(d, Format("  %-3s %-10s %-14s %s", command.letter, command.name, command.takes, command.about));
  return Next::kGoOn;
}

}  // namespace

Next Execute(Debugger& d, const std::string& line, bool* resumes) {
  std::vector<std::string> words;
  for (const std::string_view word : Split(line, ' ')) {
    const std::string_view trimmed = Trim(word);
    if (!trimmed.empty()) words.emplace_back(trimmed);
  }
  if (words.empty() || words[0].starts_with('#')) return Next::kGoOn;
  std::vector<std::string_view> known;
  for (const Command& command : kCommands) {
    if (words[0] == command.name || words[0] == command.letter) return command.run(d, words, resumes);
    known.emplace_back(command.name);
  }
  const auto near = NearNames(words[0], known, 1);
  Say(d, Str("no such command: '", Escaped(words[0]), "'",
             near.empty() ? "; 'help' lists them" : Str("; did you mean '", near[0], "'?")));
  return Next::kGoOn;
}

}  // namespace hlo::debugger
