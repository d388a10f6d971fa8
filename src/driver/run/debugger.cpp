#include "driver/run/debugger.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/source_text.h"
#include "base/text.h"
#include "driver/inspect/extract.h"
#include "driver/run/debugger_commands.h"
#include "driver/run/value_text.h"

namespace hlo {
namespace debugger {
namespace {

bool Holds(const Instruction* outer, const Instruction& inner) {
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

Next ReadCommands(Debugger& d) {
  std::string line;
  for (;;) {
    if (std::ferror(d.out) != 0) return Next::kQuit;  // The reader of the answers is gone.
    if (d.options.prompt) {
      std::fputs("(hlo) ", d.out);
      std::fflush(d.out);
    }
    line.clear();
    int c = 0;
    while ((c = std::fgetc(d.in)) != EOF && c != '\n') line += static_cast<char>(c);
    if (c == EOF && line.empty()) return Next::kQuit;
    bool resumes = false;
    if (Execute(d, line, &resumes) == Next::kQuit) return Next::kQuit;
    if (resumes) return Next::kGoOn;
  }
}

void Stop(Debugger& d) {
  d.until = Until::kBreakpoint;
  if (ReadCommands(d) != Next::kQuit) return;
  d.quit = true;
  d.stop = true;
}

void AfterValue(Debugger& d, const Instruction& inst, const Literal& value) {
  d.values[&inst] = value;
  if (!d.loops.empty() && d.loops.back().loop == &inst) d.loops.pop_back();
  if (d.stop) return;
  d.current = &inst;
  const bool broken = d.breakpoints.contains(&inst);
  const bool stepped = d.until == Until::kStep && --d.steps <= 0;
  const bool finished = d.until == Until::kFinish && &inst.computation() == d.finishing && inst.IsRoot();
  if (!broken && !stepped && !finished) return;
  Say(d, Str(broken ? "breakpoint" : "stopped", Place(d), ":\n", inst.name(), " = ", ValueText(value, kShownWhole)));
  Stop(d);
}

void BeforeIteration(Debugger& d, const Instruction& loop, int64_t iteration, const Literal& state) {
  while (!d.loops.empty() && d.loops.back().loop != &loop && !Holds(d.loops.back().loop, loop)) d.loops.pop_back();
  if (d.loops.empty() || d.loops.back().loop != &loop) d.loops.push_back({&loop, 0});
  d.loops.back().iteration = iteration;
  if (d.stop || d.until != Until::kIteration || &loop != d.wanted_loop || iteration != d.wanted_iteration) return;
  d.current = &loop;
  Say(d, Str("iteration ", iteration, " of ", loop.name(), " begins; its state is ", ValueText(state, kShownWhole)));
  Stop(d);
}

void Interpretation(Debugger& d) {
  d.values.clear();
  d.loops.clear();
  d.current = nullptr;
  d.stop = false;
  d.running = true;
  InterpretOptions interpret = d.options.interpret;
  interpret.stop = &d.stop;
  interpret.on_value = [&d](const Instruction& inst, const Literal& value) { AfterValue(d, inst, value); };
  interpret.on_iteration = [&d](const Instruction& loop, int64_t iteration, const Literal& state) {
    BeforeIteration(d, loop, iteration, state);
  };
  const auto result = Interpret(d.module, d.args, interpret);
  d.running = false;
  d.current = nullptr;
  if (result) {
    Say(d, Str("the program has ended: ", ValueText(*result, kShownWhole)));
  } else if (result.error().exit != ExitCode::kInterrupted) {
    Say(d, Trim(Render(result.error(), "hlo-debug")));
  }
}

}  // namespace
}  // namespace debugger

void Debug(const Module& module, std::span<const Literal> args, const DebuggerOptions& options, std::FILE* in,
           std::FILE* out) {
  using namespace debugger;
  Debugger d{module, args, options, in, out};
  const auto add = [&](const Computation& computation) {
    for (const Instruction* inst : computation.instructions()) {
      d.instructions[inst->name()].push_back(inst);
      // The parser renames an instruction if another computation has an instruction of the same name.
      if (const std::string_view text = NameInText(*inst); text != inst->name()) d.instructions[text].push_back(inst);
    }
  };
  add(module.entry());
  for (const Computation* computation : module.Computations()) {
    if (!computation->IsEntry()) add(*computation);
  }
  Say(d, Str(d.module.name(), ": ", d.module.InstructionCount(),
             " instructions; 'run' starts, 'help' lists the commands"));
  while (!d.quit) {
    if (ReadCommands(d) == Next::kQuit) break;
    Interpretation(d);
  }
}

}  // namespace hlo
