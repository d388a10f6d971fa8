#include "tools/run_flags.h"

#include <filesystem>
#include <utility>

#include "base/text.h"
#include "driver/bundle.h"
#include "driver/run/oracles.h"
#include "driver/run/tuning.h"

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
  flags.Choice("reference_platform", &run->reference_platform,
               "platform that computes the expected results; default: the interpreter, if it needs only seconds; cpu: "
               "hlokit's kernels on this processor, to check another platform; none: run without comparing");
  flags.String("reference", &run->reference_file, "FILE",
               "expected results, from a .npz file, a snapshot or a bundle, instead of a reference run; a bundle also "
               "gives the arguments, and with a bundle of --save_run the value of each instruction is compared");
  std::vector<std::string> about;
  for (const CompareModeRow& row : AllCompareModes()) about.push_back(Str(row.mode, ": ", row.what));
  flags.Choice("compare_mode", &run->compare_mode, Str(Join(about, "; "), "; 'hlo help oracles'"));
  flags.Double("abs_error_bound", &f->abs_bound,
               "compare by a tolerance: an element is wrong if its error exceeds both bounds",
               /*may_be_infinite=*/true);
  flags.Alias("atol", "abs_error_bound");
  flags.Double("rel_error_bound", &f->rel_bound,
               "relative bound of the tolerance whose absolute bound is --abs_error_bound", /*may_be_infinite=*/true);
  flags.Alias("rtol", "rel_error_bound");
  flags.Int("max_ulp", &f->max_ulp, "the tolerance also accepts a difference of at most N units in the last place");
  flags.Choice("tolerance", &f->tolerance,
               "compare by a tolerance; dtype: the table by element type; xla: 1e-3; exact: equality");
  flags.Choice("nan", &f->nan,
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
  flags.Choice("top_by", &run->compare.top_by, "order of the elements that are shown",
               {TopBy::kRel, TopBy::kAbs, TopBy::kUlp, TopBy::kIndex});
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
  flags.Choice("detect_nan", &run->watch.detect_nan,
               "name the first instruction that makes a NaN, and its operands; for kernels, one more run finds the "
               "first such kernel and the instruction inside; fail: stop there with exit code 1");
  flags.Alias("xla_gpu_detect_nan", "detect_nan");
  flags.Choice("detect_inf", &run->watch.detect_inf, "like --detect_nan, for infinities");
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
  AddArgumentFlags(flags, run, with_searches ? &f->input_profiles : nullptr);
  flags.Int("iterations", &f->iterations, "runs on different data; their seeds start at --random_seed", 1);
  flags.Choice("hlo_argument_mode", &run->argument_mode,
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
  flags.Choice("output_mode", &run->output_mode,
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

  AddLoadFlags(flags, &run->load,
               {ElidedValues::kRandom, ElidedValues::kZeros, ElidedValues::kIota, ElidedValues::kError});
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
  const std::string word = f->profile.value_or("false");
  if (word.empty() || word == "true" || word == "1" || word == "summary")
    f->run.profile.detail = ProfileDetail::kSummary;
  else if (word == "full") f->run.profile.detail = ProfileDetail::kFull;
  else if (word != "false" && word != "0")
    FAIL(UsageError("F004", Str("--profile: '", Escaped(word), "' is not summary or full")));
  return {};
}

bool HasBound(const RunFlags& f) { return f.abs_bound >= 0 || f.rel_bound >= 0 || f.max_ulp >= 0; }

std::string NameOfBound(const RunFlags& f) {
  return f.abs_bound >= 0 ? "--abs_error_bound" : f.rel_bound >= 0 ? "--rel_error_bound" : "--max_ulp";
}

bool GivesTolerance(const RunFlags& f) {
  return f.run.compare_mode != CompareMode::kAuto || f.tolerance || HasBound(f);
}

// --compare_mode, as other flags change its default.
CompareMode ModeOf(const RunFlags& f) {
  if (f.tolerance == ToleranceKind::kExact) return CompareMode::kBitwise;
  if (f.run.compare_mode != CompareMode::kAuto) return f.run.compare_mode;
  const bool by_outputs =
      f.run.reference_platform == ReferencePlatform::kCpu || GivesTolerance(f) || !f.run.reference_file.empty();
  return by_outputs ? CompareMode::kTolerance : CompareMode::kAuto;
}

std::optional<Tolerance> ToleranceOf(const RunFlags& f) {
  std::optional<Tolerance> tolerance;
  if (f.tolerance == ToleranceKind::kXla || f.abs_bound >= 0 || f.rel_bound >= 0) {
    tolerance = XlaTolerance();
    if (f.abs_bound >= 0) tolerance->abs = f.abs_bound;
    if (f.rel_bound >= 0) tolerance->rel = f.rel_bound;
  }
  if (f.max_ulp < 0) return tolerance;
  if (!tolerance) tolerance = Tolerance{};
  tolerance->max_ulps = f.max_ulp;
  return tolerance;
}

bool JudgesParts(CompareMode mode) {
  return mode == CompareMode::kAuto || mode == CompareMode::kLocal || mode == CompareMode::kAll;
}

using F = const RunFlags&;
constexpr std::string_view kGiveOne = "give one of them";
constexpr FlagRule kRules[] = {
    {[](F f) { return f.run.is_interpreter() && f.run.profile.any(); },
     "--profile, --trace and --profile_json time kernels, which the interpreter does not have",
     "--platform=cpu runs kernels; --stats has times by opcode and by instruction"},
    {[](F f) { return !f.run.save_run.empty() && !f.run.bundle.directory.empty(); },
     "--save_run writes everything that --bundle writes; give only one of them"},
    {[](F f) { return f.tolerance == ToleranceKind::kExact && HasBound(f); },
     "--tolerance=exact and % contradict each other: equality allows no error", kGiveOne, NameOfBound},
    {[](F f) { return f.tolerance == ToleranceKind::kDtype && HasBound(f); },
     "--tolerance=dtype and % contradict each other: the table by type has its own bounds", kGiveOne, NameOfBound},
    {[](F f) { return f.run.compare_mode == CompareMode::kBitwise && HasBound(f); },
     "--compare_mode=bitwise and % contradict each other: equality allows no error", kGiveOne, NameOfBound},
    {[](F f) {
       return f.run.compare_mode == CompareMode::kBitwise && f.tolerance && f.tolerance != ToleranceKind::kExact;
     },
     "--compare_mode=bitwise and --tolerance=% contradict each other: equality allows no error", kGiveOne,
     [](F f) { return Str(*f.tolerance); }},
    {[](F f) {
       return f.tolerance == ToleranceKind::kExact && f.run.compare_mode != CompareMode::kBitwise &&
              f.run.compare_mode != CompareMode::kAuto;
     },
     "--compare_mode=% and --tolerance=exact contradict each other: both select how to compare", kGiveOne,
     [](F f) { return Str(f.run.compare_mode); }},
    {[](F f) { return !f.html.empty() && f.json && *f.json == f.html; }, "--html and --json both write '%'",
     "give each its own file", [](F f) { return Escaped(f.html); }},
    {[](F f) { return f.run.dump.snapshots && f.run.dump.directory.empty(); },
     "--xla_dump_hlo_snapshots wants a folder for the snapshots", "--xla_dump_to=DIR names the folder"},
    {[](F f) { return f.run.dump.snapshots && f.run.dump.directory == "-"; },
     "--xla_dump_hlo_snapshots and --xla_dump_to=-: snapshots do not go to stdout",
     "--xla_dump_to=DIR names the folder"},
    {[](F f) { return f.json && f.json->empty() && f.run.dump.directory == "-"; },
     "--json and --xla_dump_to=- both write to stdout", "--json=FILE writes the report to a file"},
    {[](F f) {
       return f.run.reference_platform == ReferencePlatform::kNone && f.run.reference_file.empty() && GivesTolerance(f);
     },
     "--reference_platform=none compares nothing, and % says how to compare",
     "--reference=FILE or --reference_platform=interpreter gives something to compare with",
     [](F f) {
       return f.run.compare_mode == CompareMode::kAuto ? "a tolerance" : Str("--compare_mode=", f.run.compare_mode);
     }},
    {[](F f) { return f.run.reference_platform == ReferencePlatform::kCpu && !f.run.reference_file.empty(); },
     "--reference and --reference_platform=cpu both select the expected results; give only one of them"},
    {[](F f) { return f.run.scopes.any() && f.run.is_interpreter(); },
     "--scope_* select what is compiled, but the interpreter compiles nothing",
     "--platform=cpu compiles for this machine"},
    {[](F f) {
       return f.run.first_divergence &&
              (f.run.is_interpreter() || f.run.reference_platform == ReferencePlatform::kNone);
     },
     "--first_divergence compares kernels with the interpreter, so both must run",
     "use --platform=cpu, and leave out --reference_platform=none"},
    {[](F f) { return f.run.first_divergence && !JudgesParts(ModeOf(f)); },
     "--first_divergence takes --compare_mode=auto, local or all, and no --reference"},
    {[](F f) {
       const WatchOptions& watch = f.run.watch;
       return !f.run.is_interpreter() && (!watch.trace_values.empty() || watch.log_minmax || watch.stats);
     },
     "--trace_values, --log_minmax and --stats work only in the interpreter",
     "--platform=interpreter runs the module there"},
};

// Faults of passes and of autotuning are planted elsewhere.
Status ResolveInject(const std::vector<std::string>& faults, std::string* inject) {
  for (const std::string& fault : faults) {
    if (fault.starts_with("pass:") || fault.starts_with(kCrash) || fault == kWrongCandidate) continue;
    TRY(fault.starts_with(kFaultOfDecision) ? CheckFaultOfDecision(fault) : gpu::CheckFault(fault));
    if (!inject->empty())
      FAIL(UsageError("F004",
                      "--inject: only one fault of a kernel, library call or the run time can be planted at a time"));
    *inject = fault;
  }
  return {};
}

// Measured code is planned for the device that runs it.
Status ResolveTarget(RunFlags* f) {
  RunOptions& run = f->run;
  TRY(ReadTargetFlag(&f->passes));
  TRY(ResolveTuningFlags(f->tuning, f->inject, &run));
  const bool for_speed = run.bench || run.tuning.any();
  run.obeys_plans = for_speed && f->passes.device == nullptr;
  if (f->passes.device == nullptr)
    f->passes.device = TargetOfPlatform(run.platform, for_speed, run.library_path, &run.why_no_target);
  return {};
}

}  // namespace

Status CheckRules(std::span<const FlagRule> rules, const RunFlags& f) {
  for (const FlagRule& rule : rules) {
    if (!rule.breaks(f)) continue;
    const size_t value = rule.value == nullptr ? rule.message.npos : rule.message.find('%');
    Error error = UsageError("F004", value == rule.message.npos ? std::string(rule.message)
                                                                : Str(rule.message.substr(0, value), rule.value(f),
                                                                      rule.message.substr(value + 1)));
    FAIL(rule.hint.empty() ? std::move(error) : std::move(error).Hint(std::string(rule.hint)));
  }
  return {};
}

Status ResolveRunFlags(RunFlags* f) {
  RunOptions& run = f->run;
  TRY(ResolveProfile(f));
  TRY(ResolveTarget(f));
  run.pipeline = TRY(PipelineOf(f->passes, f->inject));
  run.cache = CacheOf(f->cache);
  ResolveReproducer(f->passes, f->log, f->inject, &run.reproducer);
  TRY(CheckCustomCallPolicies(run.custom_call));
  TRY(ResolveInject(f->inject, &run.inject));
  TRY(CheckRules(kRules, *f));
  f->quiet |= f->silent;
  if (f->command_buffers) run.cuda_graphs &= !f->command_buffers->empty();
  if (f->concurrent) run.concurrency = *f->concurrent ? gpu::Concurrency::kAlways : gpu::Concurrency::kNever;
  if (!run.save_run.empty()) run.bundle.directory = run.save_run;
  // If --reference is a bundle, its arguments are used.
  const std::string arguments = run.reference_file + "/args.npz";
  if (run.args.empty() && run.arg.empty() && IsBundle(run.reference_file) && std::filesystem::exists(arguments))
    run.args = arguments;
  run.tolerance_given = GivesTolerance(*f);
  run.tolerance = ToleranceOf(*f);
  run.compare_mode = ModeOf(*f);
  run.compare.strict_nan = f->nan == NanEquality::kStrict;
  run.watch.to_stderr = f->json && f->json->empty();
  return Apply(f->log);
}

}  // namespace hlo
