// The state of a debugger, and its commands.
#ifndef HLO_DRIVER_RUN_DEBUGGER_COMMANDS_H_
#define HLO_DRIVER_RUN_DEBUGGER_COMMANDS_H_

#include <atomic>
#include <cstdio>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/run/debugger.h"
#include "ir/literal.h"
#include "ir/module.h"

namespace hlo::debugger {

inline constexpr int64_t kShownWhole = 64;  // The most elements that are shown by default.

enum class Next { kGoOn, kQuit };
enum class Until { kBreakpoint, kStep, kFinish, kIteration };

struct Loop {
  const Instruction* loop;
  int64_t iteration;
};

struct Debugger {
  const Module& module;
  const std::span<const Literal> args;
  const DebuggerOptions& options;
  std::FILE *const in, *const out;
  // By name. Instructions of the entry come first.
  std::map<std::string_view, std::vector<const Instruction*>> instructions = {};

  std::map<const Instruction*, Literal> values = {};
  std::vector<Loop> loops = {};  // The innermost is last.
  const Instruction* current = nullptr;
  bool running = false, quit = false;
  std::atomic<bool> stop = false;

  struct ByPlace {
    bool operator()(const Instruction* a, const Instruction* b) const { return a->id() < b->id(); }
  };
  std::set<const Instruction*, ByPlace> breakpoints = {};
  Until until = Until::kBreakpoint;
  int64_t steps = 0;
  const Computation* finishing = nullptr;
  const Instruction* wanted_loop = nullptr;
  int64_t wanted_iteration = 0;
};

void Say(const Debugger& d, std::string_view text);
// ", iteration 3 of while.1"
std::string Place(const Debugger& d);
// `resumes` is set if the program goes on.
Next Execute(Debugger& d, const std::string& line, bool* resumes);

}  // namespace hlo::debugger

#endif  // HLO_DRIVER_RUN_DEBUGGER_COMMANDS_H_
