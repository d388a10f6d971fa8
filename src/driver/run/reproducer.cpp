#include "driver/run/reproducer.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <tuple>
#include <vector>

#include "base/crash.h"
#include "base/files.h"
#include "base/parallel.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/command_line.h"
#include "driver/dump/dump.h"
#include "driver/optimize.h"
#include "driver/run/step_alone.h"
#include "interp/arguments/argument_files.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

struct Finding {
  const Module& module;
  std::string file;
  std::string name;  // "algsimp#2". Also a part of the folder's name.
  std::string what;  // "algsimp#2 of simplification changes results"
  std::optional<std::span<const Literal>> arguments;
  int exit = 0;
  // `target` is in the spelling of --target.
  std::function<std::string(const std::string& target)> command;
};

// The pass in the syntax of --passes, with the options that differ from the defaults.
std::string PassText(const PassRun& run) {
  // A list of passes cannot contain names with blanks.
  const std::string_view name = run.pass->name.contains(' ') ? run.pass->class_name : run.pass->name;
  std::vector<std::string> given;
  const std::vector<OptionText> options = Describe(run.options), defaults = Describe(run.pass->defaults());
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i].value != defaults[i].value) given.push_back(Str(options[i].name, "=", options[i].value));
  }
  return given.empty() ? std::string(name) : Str(name, "{", Join(given, ","), "}");
}

// "pass:algsimp:fault"
std::string FaultText(const PassRun& run) { return Str("pass:", run.pass->name, ":", run.fault); }

std::string PassCommand(const PassRun& run, bool judged, const RunOptions& options, const std::string& target) {
  std::string command = Str("hlo-opt ", ShellWord(Str("--passes=", PassText(run))));
  const auto add = [&](const std::string& flag) { command += " " + ShellWord(flag); };
  if (!target.empty()) add(Str("--target=", target));
  if (!options.pipeline.disabled_rules.empty())
    add(Str("--disable_rules=", Join(options.pipeline.disabled_rules, ",")));
  if (!run.fault.empty()) add(Str("--inject=", FaultText(run)));
  for (const std::string& flag : options.reproducer.flags) add(flag);
  const LoadOptions defaults;
  if (options.load.verify != defaults.verify) add(Str("--verify=", options.load.verify));
  if (options.load.max_depth != defaults.max_depth) add(Str("--max_depth=", options.load.max_depth));
  if (judged) {
    command += " --check_each_pass --args=args.npz";
    if (options.seed != 0) add(Str("--random_seed=", options.seed));
    if (options.work_limit >= 0) add(Str("--work_limit=", options.work_limit));
    return command + " before.hlo";
  }
  return command + " before.hlo -o /dev/null";
}

Finding OfPass(const Module& before, const PassRun& run, std::string_view what,
               std::optional<std::span<const Literal>> arguments, int exit, const RunOptions& options) {
  return {.module = before,
          .file = "before.hlo",
          .name = NameOf(run),
          .what = Str(NameOf(run), " of ", run.pipeline, " ", what),
          .arguments = arguments,
          .exit = exit,
          .command = [&run, &options, judged = arguments.has_value()](const std::string& target) {
            return PassCommand(run, judged, options, target);
          }};
}

std::string StepCommand(const RunOptions& options, const std::string& target) {
  std::string command = "hlo-run --passes= --args=args.npz";
  const auto add = [&](const std::string& flag) { command += " " + ShellWord(flag); };
  add(Str("--platform=", options.platform));
  if (!target.empty()) add(Str("--target=", target));
  if (!options.inject.empty()) add(Str("--inject=", options.inject));
  if (!options.libraries) add("--nolibraries");
  if (options.allow_tf32) add("--allow_tf32");
  if (options.seed != 0) add(Str("--random_seed=", options.seed));
  if (options.work_limit >= 0) add(Str("--work_limit=", options.work_limit));
  for (const std::string& flag : options.reproducer.flags) {
    if (flag.starts_with("--host_isa")) add(flag);
  }
  return command + " kernel.hlo";
}

// Users may not have the folder of hlo-run in their PATH.
std::string FolderOfProgram() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::string ScriptOf(const Finding& finding, const std::string& command) {
  return Str("#!/bin/sh\n# ", finding.what, ": exit ", finding.exit,
             ", and output.txt is what it printed.\ncd \"$(dirname \"$0\")\" || exit\n",
             "unset XLA_FLAGS HLO_FLAGS\nPATH=$PATH:", ShellWord(FolderOfProgram()), "\nexec ", command, "\n");
}

struct Tried {
  std::string output;
  int exit = 0;  // 128 plus the signal, if any.
};

Result<Tried> RunScript(const std::string& folder) {
  const std::string command = Str("exec 2>&1; cd ", ShellWord(folder), " && PATH=", ShellWord(FolderOfProgram()),
                                  ":$PATH; sh ./cmd.sh </dev/null; exit $?");
  std::fflush(nullptr);
  std::FILE* const pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) FAIL(DeviceError("A010", Str("cannot run cmd.sh: ", std::strerror(errno))));
  Tried tried;
  char chunk[4096];
  for (size_t count; (count = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) tried.output.append(chunk, count);
  const int status = pclose(pipe);
  tried.exit = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return tried;
}

// If the target is a file, copies it to the folder. Returns --target for the command.
Result<std::string> WriteTarget(const std::string& folder, const RunOptions& options) {
  const std::string& target = options.reproducer.target;
  std::error_code error;
  if (target.empty() || !fs::is_regular_file(target, error)) return target;
  TRY(WriteFile(Str(folder, "/target.txt"), TRY(ReadSource(target))->text()));
  return "./target.txt";
}

// Returns whether the command shows the finding.
Result<bool> Fill(const std::string& folder, const Finding& finding, const RunOptions& options) {
  TRY(WriteFile(Str(folder, "/", finding.file), Print(finding.module)));
  if (finding.arguments) TRY(WriteNpz(Str(folder, "/args.npz"), "arg", *finding.arguments));
  const std::string command = finding.command(TRY(WriteTarget(folder, options)));
  TRY(WriteFile(Str(folder, "/cmd.sh"), ScriptOf(finding, command)));
  const Tried tried = TRY(RunScript(folder));
  TRY(WriteFile(Str(folder, "/output.txt"), Str(tried.output, "exit ", tried.exit, "\n")));
  return tried.exit == finding.exit;
}

struct Folder {
  std::string path;
  bool shows = false;
};

Result<Folder> MakeReproducer(const Finding& finding, const RunOptions& options) {
  const std::string& directory = options.reproducer.directory;
  TRY(MakeReproducerDirectory(options.reproducer));
  Folder folder;
  folder.path =
      TRY(MakeFolder(Str(directory, "/", FileNamePart(finding.module.name()), ".", FileNamePart(finding.name)),
                     /*numbered=*/true, [&](const std::string& hidden) -> Status {
                       folder.shows = TRY(Fill(hidden, finding, options));
                       return {};
                     }));
  return folder;
}

std::string Reproduce(const Finding& finding, const RunOptions& options) {
  const auto folder = MakeReproducer(finding, options);
  if (!folder) return Str("none: ", folder.error().message());
  const std::string script = ShellWord(folder->path + "/cmd.sh");
  if (folder->shows) return Str("sh ", script, " shows the failure again");
  return Str("sh ", script, " has ",
             finding.file == "before.hlo" ? "the module and the pass" : "the kernel and its operands",
             ", which alone do not show the failure (output.txt)");
}

struct State {
  std::unique_ptr<Module> module;
  PassRun run;
};

std::optional<State> StateBefore(const Module& input, PipelineOptions pipeline,
                                 const std::function<bool(const PassRun&)>& is_meant) {
  std::optional<State> state;
  pipeline.fusions = nullptr;
  pipeline.after = nullptr;
  pipeline.before = [&](const PassRun& run, Module& module) -> Status {
    if (!is_meant(run)) return {};
    state = State{module.Clone(/*as_input=*/true), run};
    FAIL(InternalError("as far as was wanted"));
  };
  const auto module = input.Clone(/*as_input=*/true);
  std::ignore = Optimize(*module, std::move(pipeline), nullptr);
  return state;
}

// Runs in the child process. The real run reports notes and errors.
[[noreturn]] void RunAsChild(const Module& input, PipelineOptions pipeline, int* number) {
  rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  LeaveCrashesToParent();
  SetThreads(1);  // A child process has no pool of threads.
  pipeline.fusions = nullptr;
  pipeline.after = nullptr;
  pipeline.before = [number, before = std::move(pipeline.before)](const PassRun& run, Module& module) -> Status {
    *number = run.number;
    return before ? before(run, module) : Status();
  };
  const auto module = input.Clone(/*as_input=*/true);
  std::ignore = Optimize(*module, std::move(pipeline), nullptr);  // The real run finds an error again.
  std::fflush(nullptr);
  std::_Exit(0);
}

}  // namespace

Status MakeReproducerDirectory(const ReproducerOptions& options) {
  return options.directory.empty() ? Status() : MakeDirectories(options.directory);
}

std::string ReproduceWrongPass(const Module& before, const PassRun& run, std::span<const Literal> arguments,
                               const RunOptions& options) {
  return Reproduce(OfPass(before, run, "changes results", arguments, static_cast<int>(ExitCode::kNo), options),
                   options);
}

std::string ReproduceWrongPass(const Module& input, const std::string& name, std::span<const Literal> arguments,
                               const RunOptions& options) {
  const auto state = StateBefore(input, options.pipeline, [&](const PassRun& run) { return NameOf(run) == name; });
  if (!state) return "none: the passes ran differently this time";
  return ReproduceWrongPass(*state->module, state->run, arguments, options);
}

std::string ReproduceWrongStep(Experiment& experiment, const std::string& name) {
  const auto placed = experiment.Placed();
  const Instruction* step = nullptr;
  for (const gpu::StepInfo& info : placed ? (*placed)->steps() : std::span<const gpu::StepInfo>()) {
    if (info.instruction->name() == name) step = info.instruction;
  }
  if (step == nullptr) return "none: no step has that name";
  // Later steps may overwrite the operands.
  std::optional<std::vector<Literal>> read;
  const gpu::Observer look = {
      .wants = [&](const Instruction& inst, std::span<const gpu::LoopStep>) { return &inst == step && !read; },
      .observe = [&](const Instruction&, std::span<const gpu::LoopStep>, std::span<const Literal> inputs,
                     const Literal&) -> Status {
        read = KeptInputs(inputs);
        return {};
      }};
  std::ignore = (*placed)->Execute({.observer = &look});
  const std::unique_ptr<Module> alone = ExtractStep(*step);
  if (!read) return "none: the operands of the step are not known";
  const std::vector<Literal> arguments = ArgumentsOf(*alone, *step, *read);
  const RunOptions& options = experiment.options();
  const Finding finding{.module = *alone,
                        .file = "kernel.hlo",
                        .name = name,
                        .what = Str("'", name, "' is wrong"),
                        .arguments = arguments,
                        .exit = static_cast<int>(ExitCode::kNo),
                        .command = [&](const std::string& target) { return StepCommand(options, target); }};
  return Reproduce(finding, options);
}

Status ReportReproducer(Experiment& experiment, RunReport* report) {
  Culprit& culprit = report->culprit;
  const bool is_step = culprit.kind == Culprit::Kind::kKernel || culprit.kind == Culprit::Kind::kLibrary;
  const bool wanted = !experiment.options().reproducer.directory.empty();
  const auto add = [&](std::string_view title, std::string_view text) {
    culprit.text += Str("\n                ", title, text);
  };
  if (culprit.sort.empty() && culprit.kind != Culprit::Kind::kPass) return {};  // The culprit has no name.
  if (is_step && !wanted)
    add("look:  ", Str(RunAgain(experiment.options().flags, "--reproducer=found", report->path),
                       "   writes this step and its operands to a folder"));
  if (!wanted || (!is_step && culprit.kind != Culprit::Kind::kPass)) return {};
  experiment.progress().Stage("writing the reproducer");
  add("repro: ", is_step ? ReproduceWrongStep(experiment, culprit.name)
                         : ReproduceWrongPass(*TRY(experiment.Input())->module, culprit.name,
                                              TRY(experiment.Arguments())->values, experiment.Running()));
  return {};
}

Error Reproduced(Error error, const Module& input, const RunOptions& options) {
  if (error.pass.empty() || options.reproducer.directory.empty()) return error;
  const auto state =
      StateBefore(input, options.pipeline, [&](const PassRun& run) { return NameOf(run) == error.pass; });
  if (!state) return error;
  const Finding finding =
      OfPass(*state->module, state->run, "fails", std::nullopt, static_cast<int>(error.exit), options);
  std::string line = Str("repro: ", Reproduce(finding, options));
  return std::move(error).AddNote(std::move(line));
}

Status TryPasses(const Module& input, const RunOptions& options) {
  void* const shared = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return {};  // The run itself will show a crash.
  int* const number = new (shared) int(0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) RunAsChild(input, options.pipeline, number);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  const int last = *number;
  munmap(shared, sizeof(int));
  if (child < 0 || status == 0 || last == 0) return {};
  const auto state = StateBefore(input, options.pipeline, [&](const PassRun& run) { return run.number == last; });
  if (!state) return {};
  const bool by_signal = WIFSIGNALED(status);
  const std::string how = by_signal ? strsignal(WTERMSIG(status)) : "an internal check failed";
  const Finding finding = OfPass(*state->module, state->run, Str("crashes (", how, ")"), std::nullopt,
                                 static_cast<int>(ExitCode::kInternal), options);
  Error error = InternalError(Str(Describe(state->run), " crashes: ", how));
  error.pass = NameOf(state->run);
  FAIL(std::move(error).AddNote(Str("repro: ", Reproduce(finding, options))));
}

}  // namespace hlo
