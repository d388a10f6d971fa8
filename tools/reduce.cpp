#include <cstdio>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/processors.h"
#include "base/text.h"
#include "driver/command_line.h"
#include "driver/inspect/text.h"
#include "driver/run/recording.h"
#include "driver/search/reduce.h"
#include "tools/command.h"
#include "tools/search_flags.h"

namespace hlo {
namespace {

struct ReduceFlags {
  RunFlags run;
  SearchFlags search;
  std::string output;
  int64_t jobs = 0;
  double time_limit = 600;
};

FlagSet MakeFlags(ReduceFlags* f) {
  FlagSet flags(
      "hlo-reduce", "[flags] MODULE [-o SMALL.hlo]",
      "Makes a module smaller as long as it fails in the same way: the same kind of verdict and culprit, the same "
      "signal at the same place, the same error, or the same exit code of a script. The command accepts all flags of "
      "hlo-run.",
      {"hlo-reduce '--inject=kernel:*:dropped_term' model.hlo -o small.hlo",
       "hlo-reduce '--property=script:! grep -q dot $1' -o small.hlo model.hlo",
       "hlo-reduce --property=kernels:2 -o small.hlo model.hlo"});
  flags.Group("Search");
  AddSearchFlags(flags, &f->search);
  flags.String(
      "o", &f->output, "FILE",
      "file that always holds the smallest module so far; -: stdout; default: MODULE.small.hlo in this folder");
  flags.Int("j", &f->jobs,
            "number of processes; 0: one for each processor that taskset and cgroups allow; the result does not depend "
            "on it");
  flags.Double("time_limit", &f->time_limit,
               "seconds of the whole search; the smallest module at that time is the result");
  AddRunFlags(flags, &f->run);
  return flags;
}

const std::vector<std::string> kOwnFlags = {"property", "bad",           "script", "fail_regex", "confirm",
                                            "o",        "trial_timeout", "j",      "time_limit", "json"};

std::string OutputOf(const ReduceFlags& f) {
  if (!f.output.empty()) return f.output;
  const std::string stem = std::filesystem::path(f.run.path).stem().string();
  return Str(f.run.path == "-" ? "stdin" : stem, ".small.hlo");
}

std::string ShowCommand(const ReduceFlags& f, const ReducedModule& reduction, const Property& property) {
  const std::string& path = OutputOf(f);
  if (property.kind == PropertyKind::kScript) {
    std::string command = property.command;
    for (size_t at = 0; (at = command.find("%s", at)) != std::string::npos; at += path.size())
      command.replace(at, 2, path);
    return Str("sh -c ", ShellWord(command), " sh ", ShellWord(path));
  }
  if (property.IsFigure()) return Str("hlo-opt --pass_stats ", ShellWord(path), " -o /dev/null");
  std::string flags;
  if (!reduction.args.empty()) flags = Str("--args=", ShellWord(reduction.args));
  std::vector<std::string> given;
  for (const std::string& flag : f.run.run.flags) {
    const bool are_replaced = !reduction.args.empty() || reduction.made_up;
    if (!are_replaced || !(flag.starts_with("--arg=") || flag.starts_with("--args="))) given.push_back(flag);
  }
  std::string command = RunAgain(given, flags, path);
  if (flags.empty()) command.erase(command.find("  "), 1);
  return command;
}

std::string JsonOf(const ReducedModule& reduction, const ReduceFlags& f, const std::string& command) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.reduce/1").Key("path").Value(f.run.path);
  json.Key("fails").Value(reduction.symptom.way).Key("detail").Value(reduction.symptom.detail);
  json.Key("instructions").Open('[').Value(reduction.instructions_before).Value(reduction.instructions).Close(']');
  json.Key("elements").Open('[').Value(reduction.elements_before).Value(reduction.elements).Close(']');
  json.Key("lines").Open('[').Value(reduction.lines_before).Value(reduction.lines).Close(']');
  json.Key("tries").Value(reduction.tries).Key("timed_out").Value(reduction.timed_out);
  json.Key("reproduced").Open('[').Value(reduction.reproduced).Value(f.search.confirm).Close(']');
  json.Key("output").Value(OutputOf(f)).Key("command").Value(command).Close('}');
  return json.text() + "\n";
}

}  // namespace

Result<ExitCode> ReduceCommand(Args args) {
  ReduceFlags f;
  FlagSet flags = MakeFlags(&f);
  if (TRY(OneModule(flags, args, &f.run, kOwnFlags)).empty()) return ExitCode::kOk;
  TakeRecordedArguments(f.run.path, &f.run.run);
  ReduceOptions options{.run = f.run.run,
                        .property = TRY(PropertyOf(f.search)),
                        .output = OutputOf(f),
                        .jobs = f.jobs > 0 ? static_cast<int>(f.jobs) : UsableProcessors(),
                        .seconds = f.time_limit,
                        .trial_seconds = f.search.trial_timeout,
                        .confirm = static_cast<int>(f.search.confirm)};
  if (options.property.kind == PropertyKind::kSlower)
    FAIL(UsageError("F004", "--property=slower compares two ways to compile a module, which only hlo bisect does"));
  if (options.property.IsFigure() && !options.property.limit)
    FAIL(UsageError("F004", Str("--property=", options.property.text, " wants a number: ", options.property.text,
                                ":N, more than N")));
  SetInterruptionNote(options.output == "-" ? "no module was saved; -o=FILE always holds the smallest module so far"
                                            : "nothing smaller was found yet");
  if (options.output != "-")
    options.on_smaller = [&](int64_t instructions) {
      SetInterruptionNote(Str("the smallest module so far: ", options.output, ", ",
                              Counted(instructions, "instruction"), "; to continue, run hlo-reduce on this module"));
    };
  const bool to_stdout = options.output == "-", quiet = f.run.quiet;
  std::FILE* const talk = to_stdout || (f.run.json && f.run.json->empty()) ? stderr : stdout;
  const auto tell = ProgressLine(f.run.path, quiet);
  const auto line = [&](const std::string& text) {
    ClearProgressLine(quiet);
    if (!f.run.silent) std::fprintf(talk, "%s\n", text.c_str());
    std::fflush(talk);
  };
  auto reduced = Reduce(f.run.path, options, tell, line);
  ClearProgressLine(quiet);
  if (!reduced) FAIL(std::move(reduced).error());
  const ReducedModule& reduction = *reduced;
  const std::string command = ShowCommand(f, reduction, options.property);
  line(Str("wrote ", to_stdout ? "stdout" : options.output, reduction.args.empty() ? "" : Str(" and ", reduction.args),
           "  ", reduction.is_text ? "" : Str(Counted(reduction.instructions, "instruction"), ", "),
           Counted(reduction.lines, "line"), reduction.timed_out ? "  (--time_limit was reached)" : ""));
  line(Str(reduction.reproduced == options.confirm ? "still fails: " : "fails only sometimes: ", reduction.symptom.way,
           "  (", reduction.reproduced, " of ", options.confirm, ")"));
  if (!to_stdout) line(Str("shows it: ", command));
  if (to_stdout) TRY(WriteFile("-", reduction.text));
  if (f.run.json) TRY(WriteFile(f.run.json->empty() ? "-" : *f.run.json, JsonOf(reduction, f, command)));
  return reduction.reproduced == options.confirm ? ExitCode::kOk : ExitCode::kInconclusive;
}

}  // namespace hlo
