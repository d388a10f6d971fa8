#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <tuple>

#include "base/crash.h"
#include "base/files.h"
#include "base/json.h"
#include "base/source_text.h"
#include "base/terminal.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/run/arguments.h"
#include "driver/run/error_report.h"
#include "driver/run/oracles.h"
#include "driver/run/report_page.h"
#include "driver/run/run.h"
#include "driver/run/tuning.h"
#include "tools/bundle_flags.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/module_flags.h"
#include "tools/run_ablate.h"
#include "tools/run_flags.h"

namespace hlo {
namespace {

void AddComparisonFlags(FlagSet& flags, RunFlags* f) {
  RunOptions* run = &f->run;
  flags.Group("Platform and comparison");
  flags.String("platform", &run->platform, "P",
               "auto, interpreter, cpu (= host) or cuda[:N] (= gpu); auto chooses the interpreter for modules that "
               "need several devices");
  flags.Complete("platform", [] { return std::vector<std::string>{"auto", "interpreter", "cpu", "cuda"}; });
  flags.Alias("device", "platform");
  flags.Choice("reference_platform", &run->reference_platform, {"default", "interpreter", "cpu", "none", ""},
               "platform that computes the expected results; default: the interpreter, if it needs only seconds; cpu: "
               "hlokit's kernels on this processor, to check another platform; none: run without comparing");
  flags.String("reference", &run->reference_file, "FILE",
               "expected results, from a .npz file, a snapshot or a bundle, instead of a reference run; a bundle also "
               "gives the arguments, and with a bundle of --save_run the value of each instruction is compared");
  std::vector<std::string> modes, about;
  for (const CompareMode& mode : AllCompareModes()) {
    modes.emplace_back(mode.name);
    about.push_back(Str(mode.name, ": ", mode.what));
  }
  flags.Choice("compare_mode", &run->compare_mode, modes, Str(Join(about, "; "), "; 'hlo help oracles'"));
  flags.Double("abs_error_bound", &f->abs_bound,
               "compare by a tolerance: an element is wrong if its error exceeds both bounds",
               /*may_be_infinite=*/true);
  flags.Alias("atol", "abs_error_bound");
  flags.Double("rel_error_bound", &f->rel_bound,
               "relative bound of the tolerance whose absolute bound is --abs_error_bound", /*may_be_infinite=*/true);
  flags.Alias("rtol", "rel_error_bound");
  flags.Int("max_ulp", &f->max_ulp, "the tolerance also accepts a difference of at most N units in the last place");
  flags.Choice("tolerance", &f->tolerance, {"dtype", "xla", "exact"},
               "compare by a tolerance; dtype: the table by element type; xla: 1e-3; exact: equality");
  flags.Choice("nan", &f->nan, {"equal", "strict"},
               "equal: all NaNs are equal; strict: compare the bits of NaNs that the module only moves");
  flags.Int("work_limit", &run->work_limit,
            "most scalar operations for judging the kernels, and as many for the passes; beyond the limit, only "
            "samples of the largest values are compared; 0: no limit; -1: 3e9, or more if the run itself takes long");
  flags.Bool(
      "poison_padding", &run->poison_padding,
      "judge the partitioned program with NaN as the padding of uneven parts, then with another value; its results "
      "must be the same");
  flags.Bool("first_divergence", &run->first_divergence,
             "print a table of the steps with the error that each received and the error that it added, and the first "
             "wrong instruction inside the first wrong kernel");
  flags.Int("max_mismatches", &run->compare.max_mismatches, "number of elements that are shown of each wrong output");
  flags.Choice("top_by", &f->top_by, {"rel", "abs", "ulp", "index"}, "order of the elements that are shown");
}

void AddProfileFlags(FlagSet& flags, RunFlags* f) {
  ProfileOptions* profile = &f->run.profile;
  flags.Group("Profile (of kernels, in additional runs)");
  flags.OptionalString("profile", &f->profile, "summary|full",
                       "print where the time goes: busy and idle time, time by kernel and library call, by loop and by "
                       "precision; full: also by scope and source line, the contents of memory, and all rows");
  flags.Alias("xla_hlo_profile", "profile");
  flags.String("trace", &profile->trace, "FILE.json[.gz]", "write a timeline for ui.perfetto.dev or chrome://tracing");
  flags.Int("trace_max_events", &profile->most_events,
            "number of steps and copies in the trace, from the first on; 0: all");
  flags.String("profile_json", &profile->json, "FILE.json",
               "write the tables for 'hlo-inspect profile' and for programs");
  flags.Int("examples_per_run", &profile->examples_per_run,
            "number of training or inference examples that one run computes; reports then show examples/s");
}

void AddRunningFlags(FlagSet& flags, RunFlags* f) {
  RunOptions* run = &f->run;
  flags.Group("Code generation");
  AddCacheFlags(flags, &f->cache);
  flags.List("library_path", &run->library_path, "DIR",
             "folders that are searched first for oneDNN, CUDA, cuBLASLt and cuDNN");
  flags.Bool(
      "fallback", &run->fallback,
      "run steps without a kernel in the interpreter, and name them in the report; off: the verdict is UNSUPPORTED");
  flags.Bool("libraries", &run->libraries,
             "use libraries for matrix products and convolutions; off: use our own kernels");
  flags.Bool("allow_tf32", &run->allow_tf32, "cuda: allow f32 products with operands rounded to tf32");
  flags.Bool("cuda_graphs", &run->cuda_graphs, "cuda: launch all steps as one graph; off: launch them one by one");
  flags.String("xla_gpu_enable_command_buffer", &f->command_buffers, "KIND,...",
               "XLA's flag; an empty value means --cuda_graphs=false");
  flags.Bool("xla_gpu_enable_pdl", &run->early_launches,
             "cuda: launch kernels of a graph before their predecessors have ended; each kernel then waits for its "
             "predecessors itself");
  flags.Bool("xla_gpu_graph_enable_concurrent_region", &f->concurrent,
             "cuda: on: run all independent steps of a graph concurrently; off: run none concurrently; default: run "
             "those concurrently that take long and do not fill the device");
  flags.Bool("sync_check", &run->sync_check,
             "cuda: wait after each step, so that an error is attributed to the step that caused it");

  flags.Group("Custom calls");
  flags.Repeated("custom_call", &run->custom_call, "TARGET=POLICY",
                 "execution of the calls of a target; native: by hlokit; zeros: the results are 0; passthrough: the "
                 "results are operands; error: a call is an error; FILE.hlo[:COMPUTATION]: by this computation. Every "
                 "policy except native makes the verdict MATCH(with stubs)");
  flags.Alias("stub", "custom_call");
  flags.Group("Running");
  flags.Bool("bench", &run->bench,
             "warm up, then run at least 10 times and for at least 3 s on the same arguments; on a host, kernels are "
             "planned for that host unless --target names another device");
  flags.Double("bench_seconds", &run->bench_seconds, "shortest time of the runs of --bench");
  flags.Int("num_repeats", &run->num_repeats, "number of timed runs without --bench", 1);
  flags.Int("max_loop_iterations", &run->max_loop_iterations,
            "largest number of iterations of one while loop; 0: no limit");
  flags.Bytes("memory_limit", &run->memory_limit,
              "largest total size of values in the interpreter, such as 512MiB or 2GB; 0: three quarters of the "
              "machine's memory");
  flags.Choice("detect_nan", &run->watch.detect_nan, {"none", "warn", "fail"},
               "name the first instruction that makes a NaN, and its operands; for kernels, one more run finds the "
               "first such kernel and the instruction inside; fail: stop there with exit code 1");
  flags.Alias("xla_gpu_detect_nan", "detect_nan");
  flags.Choice("detect_inf", &run->watch.detect_inf, {"none", "warn", "fail"}, "like --detect_nan, for infinities");
  flags.Alias("xla_gpu_detect_inf", "detect_inf");
  flags.Group("Watching the interpreter (--platform=interpreter)");
  flags.String("trace_values", &run->watch.trace_values, "RE",
               "print the values of instructions with a matching name; only the first elements of large ones");
  flags.Bool("log_minmax", &run->watch.log_minmax,
             "print a table of the smallest and largest value of each instruction");
  flags.Bool("stats", &run->watch.stats, "print tables of the time by opcode and by instruction");
}

}  // namespace

void AddRunFlags(FlagSet& flags, RunFlags* f, bool with_searches) {
  RunOptions* run = &f->run;
  AddComparisonFlags(flags, f);
  AddArgumentFlags(flags, run);
  flags.Int("iterations", &f->iterations, "runs on different data; their seeds start at --random_seed", 1);
  flags.Choice("hlo_argument_mode", &run->argument_mode, {"use_shared_random_inputs", "use_device_id_as_input"},
               "arguments of several devices; use_shared_random_inputs: all devices have the same; "
               "use_device_id_as_input: each element is the number of the device");
  flags.String("save_args", &run->save_args, "FILE.npz", "write the arguments of the run");
  flags.String("save_outputs", &run->save_outputs, "FILE.npz", "write the results");
  flags.String("infeed", &run->infeed, "FILE.npz",
               "values that infeeds read, in the order of execution, with the keys in0, in1, ... or out0, out1, ...");
  flags.String("outfeed", &run->outfeed, "FILE.npz",
               "write the values that outfeeds of device 0 send, with the keys out0, out1, ...; without the flag these "
               "values are dropped");

  flags.Group("Several devices (--platform=interpreter runs them all, in turns)");
  AddDeviceFlags(flags, &run->load);
  flags.Bool("check_replicas", &run->check_replicas, "require that all replicas have the same results, bit for bit");
  flags.Choice("output_mode", &run->output_mode, {"return_device_0_outputs", "return_outputs"},
               "devices whose results --print_literals and --save_outputs write: device 0 or all");

  AddPassFlags(flags, &f->passes);
  flags.Bool("reoptimize", &run->reoptimize, "run the passes even if the module is already optimized");
  flags.String("scope_compile", &run->scopes.compile, "RE",
               "compile only instructions with a matching op_name or in a computation with a matching name as one "
               "program; run each other instruction as a kernel of its own; report the time of both");
  flags.String("scope_interpret", &run->scopes.interpret, "RE",
               "run the instructions that match one by one, and compile the rest: the opposite of --scope_compile");
  AddRunningFlags(flags, f);
  AddTuningFlags(flags, &f->tuning);
  AddProfileFlags(flags, f);

  if (with_searches) {
    AddAblateFlags(flags, &f->ablate);
    AddTriageFlags(flags, &f->triage);
    AddIsolateFlags(flags, &f->isolate);
  }

  flags.Group("Report");
  flags.Bool("print_literals", &run->print_literals, "print the results as text");
  flags.OptionalString("json", &f->json, "FILE",
                       "print the report as JSON instead of text, or write it to FILE as well");
  if (with_searches)
    flags.String(
        "html", &f->html, "FILE",
        "also write the report as a page: the verdict, the culprit, its place in the program, and the worst elements");
  flags.Bool("q", &f->quiet, "print no notes and no progress");
  flags.Bool("qq", &f->silent, "print nothing; only the exit code tells the verdict");

  AddLoadFlags(flags, &run->load, {"random", "zeros", "iota", "error"});
  AddSplitFlag(flags, &run->load);
  AddDumpFlags(flags, &run->dump);
  AddReproducerFlag(flags, &run->reproducer);
  if (with_searches) {
    AddBundleFlag(flags, &run->bundle);
    flags.String("save_run", &run->save_run, "DIR",
                 "write a bundle that also holds the value of each instruction, for --reference=DIR of another run");
  }
  AddLogFlags(flags, &f->log);
  flags.Group("Testing hlokit itself");
  flags.Repeated(
      "inject", &f->inject, "KIND:NAME:FAULT",
      "plant a fault. pass:algsimp[#k]: multiply_by_zero, drop_add_zero_sign, swapped_permutation; kernel:NAME or "
      "kernel:*: tail, dropped_term, max_ignores_nan, rounded_twice, ties_away, wrong_index, near_limit, zero_scalar; "
      "for every "
      "pass and kernel: "
      "swapped_operands, wrong_constant, ... (an unknown name lists them); library:NAME or library:*: bit, zero, "
      "scale; runtime:NAME or runtime:*: early, branch, copies, late, place; crash:algsimp[#k]: the pass crashes; "
      "autotune:wrong: a candidate gives wrong results and would be the fastest; autotune:NAME:tail, ...: a fault in a "
      "kernel or library call whose plan comes from a lock file");
}

namespace {

// --profile may have no value, or true or false as --xla_hlo_profile.
Status ResolveProfile(RunFlags* f) {
  ProfileOptions& profile = f->run.profile;
  const std::string word = f->profile.value_or("false");
  if (word.empty() || word == "true" || word == "1") profile.detail = "summary";
  else if (word == "summary" || word == "full") profile.detail = word;
  else if (word != "false" && word != "0")
    FAIL(UsageError("F004", Str("--profile: '", Escaped(word), "' is not summary or full")));
  if (f->run.platform == "interpreter" && profile.any())
    FAIL(UsageError("F004", "--profile, --trace and --profile_json time kernels, which the interpreter does not have")
             .Hint("--platform=cpu runs kernels; --stats has times by opcode and by instruction"));
  return {};
}

Status CheckTolerance(const RunFlags& f) {
  const bool exact = f.tolerance == "exact", by_bits = f.run.compare_mode == "bitwise";
  const std::string tolerance = Str("--tolerance=", f.tolerance), mode = Str("--compare_mode=", f.run.compare_mode);
  const std::string bound = f.abs_bound >= 0   ? "--abs_error_bound"
                            : f.rel_bound >= 0 ? "--rel_error_bound"
                            : f.max_ulp >= 0   ? "--max_ulp"
                                               : "";
  const auto refuse = [](std::string_view one, std::string_view other, std::string_view why) -> Status {
    FAIL(UsageError("F004", Str(one, " and ", other, " contradict each other: ", why)).Hint("give one of them"));
  };
  if (exact && !bound.empty()) return refuse(tolerance, bound, "equality allows no error");
  if (f.tolerance == "dtype" && !bound.empty()) return refuse(tolerance, bound, "the table by type has its own bounds");
  if (by_bits && !bound.empty()) return refuse(mode, bound, "equality allows no error");
  if (by_bits && !f.tolerance.empty() && !exact) return refuse(mode, tolerance, "equality allows no error");
  if (exact && !by_bits && f.run.compare_mode != "auto") return refuse(mode, tolerance, "both select how to compare");
  return {};
}

}  // namespace

Status ResolveRunFlags(RunFlags* f) {
  RunOptions& run = f->run;
  TRY(ResolveProfile(f));
  f->quiet |= f->silent;
  if (f->command_buffers) run.cuda_graphs &= !f->command_buffers->empty();
  if (f->concurrent) run.concurrency = *f->concurrent ? gpu::Concurrency::kAlways : gpu::Concurrency::kNever;
  TRY(ReadTargetFlag(&f->passes));
  TRY(ResolveTuningFlags(f->tuning, f->inject, &run));
  // Measured code is planned for the device that runs it.
  const bool for_speed = run.bench || run.tuning.any();
  run.obeys_plans = for_speed && f->passes.device == nullptr;
  if (f->passes.device == nullptr)
    f->passes.device = TargetOfPlatform(run.platform, for_speed, run.library_path, &run.why_no_target);
  run.pipeline = TRY(PipelineOf(f->passes, f->inject));
  run.cache = CacheOf(f->cache);
  ResolveReproducer(f->passes, f->log, f->inject, &run.reproducer);
  TRY(CheckCustomCallPolicies(run.custom_call));
  for (const std::string& fault : f->inject) {
    if (fault.starts_with("pass:") || fault.starts_with(kCrash) || fault == kWrongCandidate) continue;
    TRY(fault.starts_with(kFaultOfDecision) ? CheckFaultOfDecision(fault) : gpu::CheckFault(fault));
    if (!run.inject.empty())
      FAIL(UsageError("F004",
                      "--inject: only one fault of a kernel, library call or the run time can be planted at a time"));
    run.inject = fault;
  }
  if (!run.save_run.empty() && !run.bundle.directory.empty())
    FAIL(UsageError("F004", "--save_run writes everything that --bundle writes; give only one of them"));
  if (!run.save_run.empty()) run.bundle.directory = run.save_run;
  // If --reference is a bundle, its arguments are used.
  const std::string arguments = run.reference_file + "/args.npz";
  if (run.args.empty() && run.arg.empty() && IsBundle(run.reference_file) && std::filesystem::exists(arguments))
    run.args = arguments;
  TRY(CheckTolerance(*f));
  run.tolerance_given =
      run.compare_mode != "auto" || !f->tolerance.empty() || f->abs_bound >= 0 || f->rel_bound >= 0 || f->max_ulp >= 0;
  if (!f->html.empty() && f->json && *f->json == f->html)
    FAIL(UsageError("F004", Str("--html and --json both write '", Escaped(f->html), "'"))
             .Hint("give each its own file"));
  if (run.dump.snapshots && run.dump.directory.empty())
    FAIL(UsageError("F004", "--xla_dump_hlo_snapshots wants a folder for the snapshots")
             .Hint("--xla_dump_to=DIR names the folder"));
  if (run.dump.snapshots && run.dump.directory == "-")
    FAIL(UsageError("F004", "--xla_dump_hlo_snapshots and --xla_dump_to=-: snapshots do not go to stdout")
             .Hint("--xla_dump_to=DIR names the folder"));
  if (f->json && f->json->empty() && run.dump.directory == "-")
    FAIL(UsageError("F004", "--json and --xla_dump_to=- both write to stdout")
             .Hint("--json=FILE writes the report to a file"));
  if (run.reference_platform == "none" && run.reference_file.empty() && run.tolerance_given) {
    const bool has_mode = run.compare_mode != "auto";
    FAIL(UsageError("F004",
                    Str("--reference_platform=none compares nothing, and ",
                        has_mode ? Str("--compare_mode=", run.compare_mode) : "a tolerance", " says how to compare"))
             .Hint("--reference=FILE or --reference_platform=interpreter gives something to compare with"));
  }
  if (run.reference_platform == "cpu" && run.compare_mode == "auto") run.compare_mode = "tolerance";
  if (run.reference_platform == "cpu" && !run.reference_file.empty())
    FAIL(UsageError(
        "F004", "--reference and --reference_platform=cpu both select the expected results; give only one of them"));
  if (run.scopes.any() && run.platform == "interpreter")
    FAIL(UsageError("F004", "--scope_* select what is compiled, but the interpreter compiles nothing")
             .Hint("--platform=cpu compiles for this machine"));
  if (run.tolerance_given || !run.reference_file.empty()) {
    if (run.compare_mode == "auto") run.compare_mode = "tolerance";
    if (f->tolerance == "exact") run.compare_mode = "bitwise";
    if (f->tolerance == "xla" || f->abs_bound >= 0 || f->rel_bound >= 0) {
      run.tolerance = XlaTolerance();
      if (f->abs_bound >= 0) run.tolerance->abs = f->abs_bound;
      if (f->rel_bound >= 0) run.tolerance->rel = f->rel_bound;
    }
    if (f->max_ulp >= 0) {
      if (!run.tolerance) run.tolerance = Tolerance{};
      run.tolerance->max_ulps = f->max_ulp;
    }
  }
  if (run.first_divergence && (run.platform == "interpreter" || run.reference_platform == "none"))
    FAIL(UsageError("F004", "--first_divergence compares kernels with the interpreter, so both must run")
             .Hint("use --platform=cpu, and leave out --reference_platform=none"));
  if (run.first_divergence && run.compare_mode != "auto" && run.compare_mode != "local" && run.compare_mode != "all")
    FAIL(UsageError("F004", "--first_divergence takes --compare_mode=auto, local or all, and no --reference"));
  const WatchOptions& watch = run.watch;
  if (run.platform != "interpreter" && (!watch.trace_values.empty() || watch.log_minmax || watch.stats))
    FAIL(UsageError("F004", "--trace_values, --log_minmax and --stats work only in the interpreter")
             .Hint("--platform=interpreter runs the module there"));
  run.watch.to_stderr = f->json && f->json->empty();
  run.compare.strict_nan = f->nan == "strict";
  run.compare.top_by = f->top_by == "abs"     ? TopBy::kAbs
                       : f->top_by == "ulp"   ? TopBy::kUlp
                       : f->top_by == "index" ? TopBy::kIndex
                                              : TopBy::kRel;
  return Apply(f->log);
}

namespace {

FlagSet MakeFlags(RunFlags* f) {
  FlagSet flags(
      "hlo-run", "[flags] MODULE...",
      "Runs a module on given or generated arguments, compares every kernel and the passes with the interpreter, "
      "and names the culprit if a result is wrong.",
      {"hlo-run model.hlo", "hlo-run --args=args.npz --save_outputs=out.npz model.hlo",
       "hlo-run --platform=cpu --reference_platform=none --bench model.hlo",
       "hlo-run --platform=interpreter --num_replicas=4 --arg=r1.x=ones step.hlo      all devices",
       "hlo-run --ablate --pipeline=2022 --target=a100 --svg=worth.svg model.hlo",
       "hlo-run dumps      a folder that XLA's dump flags filled: one line a module or recorded run"});
  AddRunFlags(flags, f, /*with_searches=*/true);
  flags.Common({"platform", "args", "arg", "random_seed", "reference", "tolerance", "print_literals", "save_outputs",
                "bench", "profile", "detect_nan", "triage", "bundle", "xla_dump_to", "json"});
  return flags;
}

Result<ExitCode> RunOne(const std::string& path, const RunFlags& f) {
  Progress progress(f.quiet);
  auto report = RunModuleWithPage(path, f.run, f.html, progress);
  progress.Clear();
  if (!report) {
    const bool verdict = report.error().exit == ExitCode::kUnsupported || report.error().exit == ExitCode::kLimit;
    if (verdict && !f.silent && !(f.json && f.json->empty())) {
      const std::string next = NextOf(report.error(), f.run, path);
      std::printf("%s: %s\n%s", path.c_str(), VerdictOf(report.error()).c_str(),
                  next.empty() ? "" : Str("  next: ", next, "\n").c_str());
    }
    FAIL(std::move(report).error());
  }
  if (f.quiet) report->notes.clear();
  if (!f.quiet && !report->warnings.empty()) std::fprintf(stderr, "note: %s\n", report->warnings.c_str());
  if (f.json) {
    TRY(WriteFile(f.json->empty() ? "-" : *f.json, ReportJson(*report)));
    if (f.json->empty()) return report->exit;
  }
  if (!f.silent) std::fputs(ReportText(*report).c_str(), stdout);
  return report->exit;
}

struct Row {
  std::string verdict, error = "-", run = "-", detail, json;
  ExitCode exit = ExitCode::kOk;
};

std::string WorstError(const RunReport& report) {
  if (!report.outputs) return "-";
  double worst = 0;
  for (const TensorComparison& output : report.outputs->outputs) worst = std::max(worst, output.norm_rel);
  return worst == 0 ? "0" : Format("%.1e", worst);
}

std::string FirstLineOf(const std::string& text) { return text.substr(0, text.find('\n')); }

// Moves a long reason from the verdict to the details, so that columns stay aligned.
Row RowOf(const RunReport& report) {
  Row row;
  const size_t reason = report.verdict.find('(');
  row.verdict = report.verdict.substr(0, reason);
  if (reason != std::string::npos)
    row.detail = report.verdict.substr(reason + 1, report.verdict.size() - reason - 2) + "; ";
  row.detail += report.culprit.kind == Culprit::Kind::kNone ? report.detail : FirstLineOf(report.culprit.text);
  row.error = WorstError(report);
  if (report.times.runs > 0) row.run = HumanMilliseconds(report.times.run);
  row.json = ReportJson(report);
  row.exit = report.exit;
  return row;
}

Row FailedRow(const std::string& path, std::string verdict, std::string detail, ExitCode exit) {
  Row row{.verdict = std::move(verdict), .detail = std::move(detail), .exit = exit};
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.run/1").Key("path").Value(path).Key("verdict").Value(row.verdict);
  json.Key("exit").Value(static_cast<int>(exit)).Key("detail").Value(row.detail).Close('}');
  row.json = json.text();
  return row;
}

Row RowOf(const std::string& path, const Error& error, const RunOptions& options) {
  const std::string verdict = VerdictOf(error);
  const bool is_word = error.exit == ExitCode::kUnsupported || error.exit == ExitCode::kLimit;
  return {.verdict = is_word ? verdict.substr(0, verdict.find('(')) : verdict,
          .detail = DetailOf(error),
          .json = ErrorJson("hlo.run/1", path, error, NextOf(error, options, path)),
          .exit = error.exit};
}

// The parts are separated by NUL, which reports and diagnostics escape.
std::string Packed(const Row& row) {
  return Join(std::array{row.verdict, row.error, row.run, row.detail, row.json}, std::string(1, '\0'));
}

// Uses a child process, so that a crash becomes a row of the table.
Row RunInChild(const std::string& path, const RunFlags& f, const std::string& title) {
  int ends[2];
  if (pipe(ends) != 0) return FailedRow(path, "FAILED(pipe)", std::strerror(errno), ExitCode::kDevice);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // A child must not outlive its parent.
    close(ends[0]);
    LeaveCrashesToParent(ends[1]);
    Progress progress(f.quiet, title);
    const auto report = RunModuleWithPage(path, f.run, f.html, progress);
    progress.Clear();
    const Row row = report ? RowOf(*report) : RowOf(path, report.error(), f.run);
    const std::string bytes = Packed(row);
    FILE* const out = fdopen(ends[1], "w");
    std::fwrite(bytes.data(), 1, bytes.size(), out);
    std::fflush(out);
    std::_Exit(static_cast<int>(row.exit));
  }
  close(ends[1]);
  std::string bytes;
  char chunk[4096];
  for (ssize_t count; (count = read(ends[0], chunk, sizeof chunk)) > 0;) bytes.append(chunk, count);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const std::vector<std::string_view> parts = Split(bytes, '\0');
  if (child < 0 || WIFSIGNALED(status) || parts.size() != 5) {
    const bool says_where = parts.size() == 1 && !bytes.empty();
    return FailedRow(path, "FAILED(crash)",
                     says_where            ? bytes
                     : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                           : "the process that ran the module ended without a report",
                     ExitCode::kInternal);
  }
  return {std::string(parts[0]), std::string(parts[1]), std::string(parts[2]),
          std::string(parts[3]), std::string(parts[4]), static_cast<ExitCode>(WEXITSTATUS(status))};
}

struct Job {
  std::string path, title;
  std::string profile;
  int64_t seed = 0;
};

// The file's name, or for a dump directory, the name of module and execution.
std::string TitleOf(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const auto state = DumpedStateOf(name);
  return state ? state->title : name;
}

Result<std::vector<Job>> JobsOf(const std::vector<std::string>& paths, const RunFlags& f) {
  const std::vector<std::string> profiles = TRY(ParseProfiles(f.run.input_profile));
  const auto folder_of = [](const std::string& path) { return std::filesystem::path(path).parent_path(); };
  const bool is_one_folder =
      std::ranges::all_of(paths, [&](const std::string& path) { return folder_of(path) == folder_of(paths[0]); });
  std::vector<Job> jobs;
  for (const std::string& path : paths) {
    for (const std::string& profile : profiles) {
      for (int64_t i = 0; i < f.iterations; ++i) {
        std::vector<std::string> what;
        if (profiles.size() > 1) what.push_back(profile);
        const auto seed = static_cast<int64_t>(static_cast<uint64_t>(f.run.seed) + static_cast<uint64_t>(i));
        if (f.iterations > 1) what.push_back(Str("seed ", seed));
        const std::string title = is_one_folder ? TitleOf(path) : path;
        jobs.push_back({path, what.empty() ? title : Str(title, " (", Join(what, ", "), ")"), profile, seed});
      }
    }
  }
  if (jobs.size() > paths.size() && !f.run.args.empty())
    FAIL(UsageError("F004", "--iterations and lists of --input_profile generate arguments, but --args gives them"));
  if (jobs.size() > paths.size() && (!f.run.save_args.empty() || !f.run.save_outputs.empty()))
    FAIL(UsageError("F004", "--save_args and --save_outputs keep one run, but there are several"));
  if (jobs.size() > 1 && !f.run.bundle.directory.empty())
    FAIL(UsageError("F004", "--bundle keeps one run, but there are several"));
  const ProfileOptions& profile = f.run.profile;
  if (jobs.size() > 1 && (!profile.trace.empty() || !profile.json.empty()))
    FAIL(UsageError("F004", "--trace and --profile_json keep one run, but there are several"));
  if (jobs.size() > 1 && !f.html.empty())
    FAIL(UsageError("F004", "--html is the page of one run, but there are several"));
  return jobs;
}

Result<ExitCode> RunMany(const std::vector<Job>& jobs, const RunFlags& f) {
  const bool table = !f.silent && (!f.json || !f.json->empty());
  constexpr size_t kColumns = 100, kOthers = 42, kMostOfName = 32;  // Widths of a row, its other fields, and a name.
  size_t width = 6;
  for (const Job& job : jobs) width = std::max(width, job.title.size());
  width = std::min(width, kMostOfName);
  std::string in_full;  // Details that are too long for a row.
  const auto print = [&](const std::string& number, const std::string& title, const Row& row) {
    if (!table) return;
    const size_t left = kColumns - kOthers - width;
    const bool fits = row.detail.size() <= left;
    std::printf("%3s  %-*s  %-14s %8s %9s  %s\n", number.c_str(), static_cast<int>(width), CutTo(title, width).c_str(),
                row.verdict.c_str(), row.error.c_str(), row.run.c_str(),
                fits ? row.detail.c_str() : Str(row.detail.substr(0, left - 3), "...").c_str());
    std::fflush(stdout);
    if (!fits && row.exit != ExitCode::kOk) in_full += Format("%3s  ", number.c_str()) + row.detail + "\n";
  };
  print("#", "module", {.verdict = "verdict", .error = "error", .run = "run", .detail = "detail"});
  ExitCode worst = ExitCode::kOk;
  std::map<std::string, int> counts;
  JsonWriter json;
  json.Open('[');
  for (size_t i = 0; i < jobs.size(); ++i) {
    RunFlags one = f;
    one.run.input_profile = jobs[i].profile;
    one.run.seed = jobs[i].seed;
    const Row row = RunInChild(jobs[i].path, one, Str("[", i + 1, " of ", jobs.size(), "] ", jobs[i].title, ": "));
    print(Str(i + 1), jobs[i].title, row);
    json.Raw(Trim(row.json));
    worst = WorseOf(worst, row.exit);
    std::string word = row.verdict.substr(0, row.verdict.find('('));
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    ++counts[word];
  }
  json.Close(']');
  if (f.json) TRY(WriteFile(f.json->empty() ? "-" : *f.json, json.text() + "\n"));
  const bool runs = jobs.size() > 1 && jobs[0].path == jobs[1].path;
  std::string summary;
  for (const auto& [word, count] : counts) summary += Str(summary.empty() ? "" : ", ", count, " ", word);
  if (table)
    std::printf("%s%zu %s: %s   exit %d\n", in_full.c_str(), jobs.size(), runs ? "runs" : "modules", summary.c_str(),
                static_cast<int>(worst));
  return worst;
}

// The given flags that affect only kernels. Without --reference, they include flags of the comparison.
std::vector<std::string> FlagsOfKernels(const FlagSet& flags, const RunOptions& run) {
  constexpr std::string_view kGroups[] = {"Passes", "Code generation"};
  std::vector<std::string_view> names = {"bench",     "bench_seconds", "work_limit",          "xla_dump_hlo_pass_re",
                                         "dump_diff", "reproducer",    "xla_dump_emitter_re", "host_isa",
                                         "inject"};
  if (run.reference_file.empty()) {
    for (const std::string_view name :
         {"compare_mode", "abs_error_bound", "rel_error_bound", "max_ulp", "tolerance", "nan"})
      names.push_back(name);
  }
  return flags.GivenOf(kGroups, names);
}

// Refuses flags that change nothing without --ablate.
Status CheckAblate(const FlagSet& flags, const AblateFlags& ablate) {
  constexpr std::string_view kFlags[] = {"ablate_metric",    "ablate_pairs", "ablate_repeats",
                                         "ablate_threshold", "csv",          "svg"};
  const std::vector<std::string> given = flags.GivenOf({}, kFlags);
  if (ablate.asked() || given.empty()) return {};
  FAIL(UsageError("F004", Str(given[0].substr(0, given[0].find('=')), " does nothing without --ablate"))
           .Hint("give --ablate, too"));
}

Result<ExitCode> RunParsed(Args args, RunFlags& f) {
  FlagSet flags = MakeFlags(&f);
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (positionals.empty())
    FAIL(flags.WrongFiles("no module given", positionals).Hint("hlo-run model.hlo; '-' is stdin"));
  f.path = positionals.front();
  std::ranges::remove_copy_if(args, std::back_inserter(f.run.flags), [&](const std::string& arg) {
    return std::ranges::find(positionals, arg) != positionals.end() || arg.starts_with("--html=");
  });
  TRY(OneStdin(f.passes, positionals));
  TRY(CheckAblate(flags, f.ablate));
  TRY(ResolveRunFlags(&f));
  ResolveRecording(flags, &f.run);
  TRY(ResolveBundle(flags, "--bundle", &f.run.bundle));
  if (!f.html.empty() && (f.triage.asked() || f.isolate.asked() || f.ablate.asked()))
    FAIL(UsageError("F004", "--html is the page of a run, not of --triage, --isolate or --ablate"));
  f.run.of_kernels = FlagsOfKernels(flags, f.run);
  if (f.triage.asked() && positionals.size() == 1) return TriageModule(f.path, f.run, f.triage, flags, f.json, f.quiet);
  if (f.triage.asked()) FAIL(UsageError("F002", "--triage wants one module"));
  f.run.load.one_state = true;
  std::vector<std::string> notes;
  const std::vector<std::string> paths = TRY(ExpandPaths(positionals, f.run.load, &notes));
  for (const std::string& note : notes) {
    if (!f.quiet) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  if (f.isolate.asked()) return IsolateModules(paths, f.run, f.isolate, f.json, f.quiet, f.silent);
  if (f.ablate.asked()) return AblateModules(paths, f.run, f.ablate, f.json, f.quiet);
  const std::vector<Job> jobs = TRY(JobsOf(paths, f));
  if (jobs.size() != 1) return RunMany(jobs, f);
  f.run.input_profile = jobs[0].profile;
  const ExitCode exit = TRY(RunOne(jobs[0].path, f));
  WarnOfUnmetPatterns(f.log, f.quiet);
  return exit;
}

}  // namespace

// Writes requested JSON even if the command fails.
Result<ExitCode> RunCommand(Args args) {
  RunFlags f;
  auto exit = RunParsed(args, f);
  if (exit) return exit;
  // The flag may also come from XLA_FLAGS or HLO_FLAGS.
  const std::optional<std::string> json = f.json ? f.json : JsonDestination(args);
  if (json) {
    const std::string report = ErrorJson("hlo.run/1", f.path, exit.error(), NextOf(exit.error(), f.run, f.path));
    std::ignore = WriteFile(json->empty() ? "-" : *json, report);
  }
  return exit;
}

}  // namespace hlo
