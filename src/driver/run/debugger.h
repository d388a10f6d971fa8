// hlo debug: the interpreter with breakpoints and one command per line. Without a prompt, the output has only answers,
// for use over a pipe.
#ifndef HLO_DRIVER_RUN_DEBUGGER_H_
#define HLO_DRIVER_RUN_DEBUGGER_H_

#include <cstdio>
#include <span>

#include "interp/interpreter.h"
#include "ir/module.h"

namespace hlo {

struct DebuggerOptions {
  InterpretOptions interpret;
  bool prompt = false;
};

// Ends at `quit` or the end of `in`. Errors of the program are printed as answers.
void Debug(const Module& module, std::span<const Literal> args, const DebuggerOptions& options, std::FILE* in,
           std::FILE* out);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_DEBUGGER_H_
