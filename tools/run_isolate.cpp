#include "tools/run_isolate.h"

#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "driver/load.h"
#include "driver/run/isolate.h"
#include "driver/run/recording.h"

namespace hlo {

void AddIsolateFlags(FlagSet& flags, IsolateFlags* f) {
  flags.Group("Isolation: each kernel, or each instruction, alone");
  flags.OptionalString(
      "isolate", &f->by, "kernel|instruction",
      "compile, run and judge each by itself, the bad ones first; kernel: kernels and library calls of "
      "the optimized module; instruction: those of the module as it is read, each through the passes");
  flags.Bool("isolate_instructions", &f->instructions, "the same as --isolate=instruction, as XLA has it");
  flags.Choice("isolate_inputs", &f->inputs, {"golden", "actual", "random"},
               "what each is given; golden: what the interpreter makes up to there; actual: of kernels, what the run "
               "made; random: as --input_profile has it, without interpreting the whole");
  flags.String("filter_by_name", &f->filter_by_name, "RE", "only those with such a name");
  flags.String("skip_by_name", &f->skip_by_name, "RE", "not those");
  flags.String("filter_by_opcode", &f->filter_by_opcode, "RE", "only those with such an opcode, of a kernel in it");
  flags.String("skip_by_opcode", &f->skip_by_opcode, "RE", "not those");
}

namespace {

Result<std::optional<Pattern>> PatternOf(const std::string& text, std::string_view flag) {
  if (text.empty()) return std::nullopt;
  return TRY(Pattern::Compile(text, flag));
}

Result<IsolateOptions> OptionsOf(const RunOptions& run, const IsolateFlags& f) {
  IsolateOptions options;
  const std::string by = f.by.value_or(f.instructions ? "instruction" : "");
  options.instructions = by == "instruction";
  if (!options.instructions && !by.empty() && by != "kernel")
    FAIL(UsageError("F004", Str("--isolate wants kernel or instruction, not '", Escaped(by), "'")));
  options.inputs = f.inputs == "actual"   ? IsolateInputs::kActual
                   : f.inputs == "random" ? IsolateInputs::kRandom
                                          : IsolateInputs::kGolden;
  if (options.instructions && options.inputs == IsolateInputs::kActual)
    FAIL(UsageError("F004", "--isolate_inputs=actual is of kernels: a run has no values of single instructions")
             .Hint("--isolate_inputs=golden"));
  if (run.platform == "interpreter")
    FAIL(UsageError("F004", "--isolate judges kernels by the interpreter").Hint("--platform=cpu"));
  if (run.compare_mode != "auto" || !run.reference_file.empty())
    FAIL(UsageError("F004",
                    "--isolate judges each within the bounds derived for it: it takes no --compare_mode, no "
                    "tolerance and no --reference"));
  options.filter_by_name = TRY(PatternOf(f.filter_by_name, "filter_by_name"));
  options.skip_by_name = TRY(PatternOf(f.skip_by_name, "skip_by_name"));
  options.filter_by_opcode = TRY(PatternOf(f.filter_by_opcode, "filter_by_opcode"));
  options.skip_by_opcode = TRY(PatternOf(f.skip_by_opcode, "skip_by_opcode"));
  return options;
}

}  // namespace

Result<ExitCode> IsolateModules(const std::vector<std::string>& paths, const RunOptions& run, const IsolateFlags& f,
                                const std::optional<std::string>& json, bool quiet, bool silent) {
  const IsolateOptions options = TRY(OptionsOf(run, f));
  if (json && paths.size() > 1) FAIL(UsageError("F004", "--json keeps one isolation, and there are several modules"));
  ExitCode exit = ExitCode::kOk;
  for (const std::string& path : paths) {
    Progress progress(quiet);
    RunOptions own = run;
    TakeRecordedArguments(path, &own);
    auto found = Isolate(path, own, options, progress);
    progress.Clear();
    if (!found) FAIL(std::move(found).error());
    if (quiet) found->notes.clear();
    exit = WorseOf(exit, ExitCodeOf(found->verdict()));
    if (json) TRY(WriteFile(json->empty() ? "-" : *json, IsolationJson(*found)));
    if (!silent && !(json && json->empty())) std::fputs(IsolationText(*found).c_str(), stdout);
  }
  return exit;
}

}  // namespace hlo
