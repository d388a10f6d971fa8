#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "driver/run/arguments.h"
#include "driver/run/debugger.h"
#include "driver/run/recording.h"
#include "tools/command.h"
#include "tools/module_flags.h"

namespace hlo {

Result<ExitCode> DebugCommand(Args args) {
  RunOptions run;
  LogFlags log;
  FlagSet flags(
      "hlo-debug", "[flags] MODULE",
      "Runs a module in the interpreter with breakpoints. Reads commands from stdin, one on each line, and prints "
      "answers on stdout. The command 'help' lists the commands.",
      {"hlo debug model.hlo", "printf 'break dot.5\\nrun\\noperands\\n' | hlo debug --args=args.npz model.hlo",
       "printf 'iteration while.1 3\\nprint s\\n' | hlo debug model.hlo"});
  AddArgumentFlags(flags, &run);
  flags.Group("Running");
  flags.Int("max_loop_iterations", &run.max_loop_iterations,
            "largest number of iterations of one while loop; 0: no limit");
  flags.Bytes("memory_limit", &run.memory_limit,
              "largest total size of values, such as 512MiB or 2GB; 0: three quarters of the machine's memory");
  AddLoadFlags(flags, &run.load,
               {ElidedValues::kRandom, ElidedValues::kZeros, ElidedValues::kIota, ElidedValues::kError});
  AddLogFlags(flags, &log);
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (positionals.size() != 1 || positionals[0] == "-")
    FAIL(flags.WrongFiles(Str("expected one module, found ", positionals.size()), positionals)
             .Hint("commands come from stdin, so the module must be a file"));
  TRY(Apply(log));
  ResolveRecording(flags, &run);
  TakeRecordedArguments(positionals[0], &run);
  const auto module = TRY(LoadModule(positionals[0], run.load));
  const auto filled = TRY(FillElided(*module, run.load, static_cast<uint64_t>(run.seed), run.memory_limit));
  if (filled > 0) std::fprintf(stderr, "note: %s\n", FilledText(filled, run.load).c_str());
  DebuggerOptions options;
  options.interpret = InterpreterOptions(run);
  options.prompt = isatty(STDIN_FILENO) != 0;
  const RunArguments arguments = TRY(PrepareArguments(*module, run, false, options.interpret));
  if (!arguments.by_device.empty()) FAIL(Unsupported("U002", "hlo debug runs only one device"));
  Debug(*module, arguments.values, options, stdin, stdout);
  WarnOfUnmetPatterns(log, /*quiet=*/false);
  return ExitCode::kOk;
}

}  // namespace hlo
