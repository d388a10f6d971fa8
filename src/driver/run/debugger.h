// hlo debug: the interpreter with breakpoints, a command a line. Works over a pipe: what is asked is answered, and
// nothing else is said.
#ifndef HLO_DRIVER_RUN_DEBUGGER_H_
#define HLO_DRIVER_RUN_DEBUGGER_H_

#include <cstdio>
#include <span>

#include "interp/interpreter.h"
#include "ir/module.h"

namespace hlo {

struct DebuggerOptions {
  InterpretOptions interpret;
  bool prompt = false;  // "(hlo) " before each command.
};

// Reads commands from `in` until `quit` or its end; answers go to `out`, and so do errors of the program.
void Debug(const Module& module, std::span<const Literal> args, const DebuggerOptions& options, std::FILE* in,
           std::FILE* out);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_DEBUGGER_H_
