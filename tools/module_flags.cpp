#include "tools/module_flags.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/host_isa.h"
#include "base/log.h"
#include "base/log_patterns.h"
#include "base/parallel.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/pattern.h"
#include "driver/run/arguments.h"
#include "gpu/device/device.h"
#include "interp/arguments/arguments.h"
#include "passes/pipelines/selectors.h"
#include "passes/pipelines/text.h"
#include "tools/bundle_flags.h"
#include "tools/completion.h"

namespace hlo {

void AddLoadFlags(FlagSet& flags, LoadOptions* load, std::initializer_list<ElidedValues> elided) {
  flags.Group("Input");
  flags.Choice("verify", &load->verify,
               "level of the verifier for the input; off: do not verify texts that are only read and printed, and give "
               "no warnings for modules that are run, rewritten or counted",
               {VerifyLevel::kStrict, VerifyLevel::kDefault, VerifyLevel::kOff});
  flags.Bytes("max_input", &load->max_input, "largest input file, such as 512MiB or 2GB", 1);
  flags.Int("max_depth", &load->max_depth, "deepest nesting of shapes, literals, operands and calls", 1);
  std::string help = "values of constants that were printed as {...}";
  if (std::ranges::find(elided, ElidedValues::kKeep) != elided.end()) help += "; keep: the value stays unknown";
  if (std::ranges::find(elided, ElidedValues::kRandom) != elided.end())
    help += "; random: random values, in range for indices";
  flags.Choice("fill_elided_constants", &load->fill_elided_constants, std::move(help), elided);
}

void AddDeviceFlags(FlagSet& flags, LoadOptions* load) {
  flags.Int("num_replicas", &load->num_replicas, "number of replicas; 0: the number in the module's header");
  flags.Int("num_partitions", &load->num_partitions,
            "number of partitions of each replica; 0: the number in the module's header");
}

void AddSplitFlag(FlagSet& flags, LoadOptions* load) {
  flags.Bool("split_input_file", &load->split_input_file,
             "split each file into modules at lines '// -----'; FILE#1, FILE#2, ... name one of them");
}

void AddArgumentFlags(FlagSet& flags, RunOptions* run, std::vector<InputProfile>* profiles) {
  flags.Group("Arguments");
  flags.String("args", &run->args, "FILE",
               "arguments from a .npz or .npy file, with keys argN or parameter names, or from a snapshot; a module "
               "that is a snapshot runs on its recorded arguments, and '--args=' generates arguments instead");
  flags.Choice("args_are", &run->args_are,
               "the arrays in --args for a partitioned module; whole: the arrays are whole, each partition gets the "
               "part that the parameter's sharding states, and the results are joined; parts: the arrays are parts of "
               "partitions; auto: whole if an array does not have the shape of its parameter");
  flags.String("result_shardings", &run->result_shardings, "MODULE",
               "join the parts of the results of a partitioned module by the shardings that MODULE states for its "
               "results, such as XLA's *before_spmd-partitioning.txt. Default: the shardings of the partitioned "
               "module's root");
  flags.Repeated("arg", &run->arg, "WHICH=SPEC",
                 "one argument, by the parameter's number or name; it takes precedence over --args. SPEC: f.npy, "
                 "f.npz:KEY, @f.bin, {1,2}, zeros, ones, iota, special, replica_id, uniform(a,b), normal(m,s) or "
                 "randint(a,b). r1.WHICH: for replica 1 only; r1.p0.WHICH: for one partition of it");
  flags.Choice("cast_args", &run->cast_args,
               "when arrays in files are converted to the element type of the parameter; safe: if no value changes; "
               "force: always");
  static constexpr auto& kProfiles = EnumWords<InputProfile>::kWords;
  flags.Parsed("input_profile", "LIST", Str(run->input_profile),
               Str("how missing arguments are generated: ", Join(kProfiles, ", "),
                   " or all; hlo-run runs once for each name of a list"),
               [run, profiles](std::string_view text) -> Status {
                 if (profiles != nullptr) *profiles = TRY(ParseProfiles(text));
                 run->input_profile = profiles != nullptr ? profiles->front() : TRY(ParseProfile(text));
                 return {};
               });
  flags.Complete("input_profile", [] { return std::vector<std::string>(std::begin(kProfiles), std::end(kProfiles)); });
  flags.String("arg_range", &run->arg_range, "A,B", "range [A,B) of random floats, with every profile");
  flags.Bool("constrain_inputs", &run->constrain_inputs,
             "generate arguments that suit their uses, such as indices in range, neutral initial values, and divisors "
             "other than 0");
  flags.Int("random_seed", &run->seed, "seed of generated arguments", INT64_MIN);
  flags.Alias("seed", "random_seed");
}

void ResolveRecording(const FlagSet& flags, RunOptions* run) {
  const auto is_given = [&](std::initializer_list<std::string_view> names) {
    return !flags.GivenOf({}, std::vector<std::string_view>(names)).empty();
  };
  if (is_given({"args", "input_profile", "arg_range", "random_seed", "iterations", "hlo_argument_mode"}))
    run->recorded_arguments = Recorded::kIgnored;
}

namespace {

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const PassRow& row : AllPasses()) names.emplace_back(row.name);
  return names;
}

}  // namespace

void AddPassFlags(FlagSet& flags, PassFlags* passes) {
  flags.Group("Passes");
  std::vector<std::string_view> names;
  for (const Preset& preset : AllPresets()) names.push_back(preset.name);
  flags.String("pipeline", &passes->pipeline, "NAME|FILE",
               Str("the passes that run: ", Join(names, ", "), ", a file, or - for stdin; 'hlo help pipelines'"));
  flags.Complete("pipeline", [names] { return std::vector<std::string>(names.begin(), names.end()); });
  flags.String("passes", &passes->passes, "LIST",
               "passes to run instead of the pipeline, in the same notation: a,b,c or simplification(fixed-point)");
  flags.List("xla_disable_hlo_passes", &passes->disabled, "LIST",
             "passes, pipelines or pass instances (algsimp#2) that do not run");
  flags.List("xla_enable_hlo_passes_only", &passes->only, "LIST", "run only these passes of the pipeline");
  for (const char* flag : {"passes", "xla_disable_hlo_passes", "xla_enable_hlo_passes_only"})
    flags.Complete(flag, PassNames);
  flags.Bool("xla_disable_all_hlo_passes", &passes->disable_all, "run no passes");
  flags.Alias("disable_all_hlo_passes", "xla_disable_all_hlo_passes");
  flags.List("disable_rules", &passes->disabled_rules, "LIST",
             "rewrite rules that are not applied, by id or prefix (A.add.1, A.add, A); 'hlo help algebra'");
  flags.List("xla_fuel", &passes->fuel, "WHAT=N", "at most N rewrites of a pass or of a rule");
  flags.Int("opt_bisect_limit", &passes->opt_bisect_limit, "skip pass instances with a number above N; -1: skip none",
            -1);
  flags.String("stop_after", &passes->stop_after, "NAME",
               "skip everything after this pass (its first instance), pass instance (algsimp#2) or pipeline");
  flags.String("stop_before", &passes->stop_before, "NAME",
               "skip this pass, instance or pipeline, and everything after it");
  flags.String("start_from", &passes->start_from, "NAME", "skip everything before this pass, instance or pipeline");
  AddTargetFlag(flags, &passes->target);
}

void AddTargetFlag(FlagSet& flags, std::string* target) {
  flags.String("target", target, "DEVICE",
               Str("device for which the module is optimized and planned, present or not: ", TargetNames(),
                   ", sm_NN, or a file in the format of XLA's --xla_gpu_target_config_filename; host is this machine"));
  flags.Alias("xla_gpu_target_config_filename", "target");
}

void AddPrintFlags(FlagSet& flags, PrintFlags* print) {
  std::vector<std::string> names, about;
  for (const PrintForm& form : PrintForms()) {
    names.emplace_back(form.name);
    about.push_back(Str(form.name, ": ", form.what));
  }
  flags.Choice("hlo_print", &print->hlo_print, names, Join(about, "; "));
  flags.Bool("print_large_constants", &print->large_constants,
             "off: print constants of more than 10 elements, and tuples, as {...}; default: depends on the form of "
             "--hlo_print");
  flags.Bool("strip_metadata", &print->strip_metadata, "print without metadata");
}

Result<std::string> PrintAs(const Module& module, const PrintFlags& flags) {
  const auto forms = PrintForms();
  const auto form =
      std::find_if(forms.begin(), forms.end(), [&](const PrintForm& f) { return f.name == flags.hlo_print; });
  PrintOptions options = form->options;
  if (flags.large_constants) options.constants = *flags.large_constants ? Constants::kAll : Constants::kSmall;
  if (flags.strip_metadata) options.metadata = false;
  if (options.bodies) TRY(CheckBodies(module));
  return Print(module, options);
}

void AddDumpFlags(FlagSet& flags, DumpOptions* dump) {
  flags.Group("Dumps");
  flags.String(
      "xla_dump_to", &dump->directory, "DIR",
      "write the module before and after the passes, and the code compiled from it, to DIR; -: write texts to stdout");
  flags.String("xla_dump_hlo_pass_re", &dump->pass_pattern, "RE",
               "also write the module after each matching pass that changed it");
  flags.String("xla_dump_emitter_re", &dump->emitter_pattern, "RE",
               "kinds of code of the compiled kernels to write: llvm, ptx or host; empty: all");
  flags.Bool("xla_dump_hlo_as_text", &dump->as_text,
             "write each state as text, even when another format is chosen, so that each can be run alone");
  flags.Alias("xla_dump_hlo_as_long_text", "xla_dump_hlo_as_text");
  flags.Bool("xla_dump_hlo_as_proto", &dump->as_proto, "also write each state as a protocol buffer with all constants");
  flags.Bool("xla_dump_hlo_as_dot", &dump->as_dot, "also write the entry computation's graph for Graphviz");
  flags.Bool("xla_dump_hlo_as_html", &dump->as_html,
             "also write the entry computation's graph as a page, unless it is too large");
  flags.Bool("xla_dump_large_constants", &dump->large_constants,
             "off: write constants of more than 10 elements, and tuples, as {...}");
  flags.Bool("xla_dump_disable_metadata", &dump->disable_metadata, "write modules without metadata");
  flags.Bool("xla_dump_hlo_snapshots", &dump->snapshots,
             "hlo-run: also write the module as it was read, its arguments and its result as one protocol buffer, "
             "which --args and --reference read");
  flags.Choice("dump_diff", &dump->diff,
               "file written beside each module after a pass; instructions: the changes of the pass, as "
               "--print_changed=diff shows them; unified: the lines that differ from the state before, for patch");
  flags.Int("dump_limit_mib", &dump->limit_mib, "largest dump of one module in MiB; the dump ends there with a note", 1,
            1 << 30);
  flags.String("xla_dump_hlo_module_re", &dump->module_pattern, "RE", "dump only modules with a matching name");
}

void AddReproducerFlag(FlagSet& flags, ReproducerOptions* reproducer) {
  flags.String("reproducer", &reproducer->directory, "DIR",
               "for a pass that is wrong, fails or crashes, write a folder in DIR with the module before the pass, the "
               "arguments, the command that repeats it, and the command's output");
  flags.Alias("crash_reproducer", "reproducer");
}

void AddBundleFlag(FlagSet& flags, BundleOptions* bundle) {
  flags.String("bundle", &bundle->directory, "DIR",
               "write a new folder with the module, the flags, the arguments, the expected and actual results, the "
               "report and the command that repeats the run; every command accepts the folder in place of a module");
}

void AddLogFlags(FlagSet& flags, LogFlags* log) {
  flags.Group("Logging and threads");
  flags.Int("v", &log->v,
            "verbosity; 1: a line for each pass and kernel; 2: decisions; 3: texts of modules; 4: the change of each "
            "instruction, with the reason");
  flags.List("vmodule", &log->vmodule, "FILE=N",
             "verbosity by source file, by our name or XLA's; * and ? are allowed (also TF_CPP_VMODULE)");
  flags.Bool("logtostderr", &log->to_stderr, "accepted because XLA has this flag; logs always go to stderr");
  flags.Int("threads", &log->threads, "number of threads; 0: one for each processor that taskset and cgroups allow");
  AddHostIsaFlag(flags, &log->host_isa);
}

void AddCacheFlags(FlagSet& flags, CacheFlags* cache) {
  flags.String("cache_dir", &cache->directory, "DIR",
               "keep the code of kernels for later processes in DIR, such as ~/.cache/hlo; default: the folder in the "
               "variable HLO_CACHE_DIR, otherwise no cache");
  flags.Bytes(
      "cache_size", &cache->size,
      "largest size of the cache, such as 512MiB or 2GB; the entries that were unused for longest are removed first");
}

std::shared_ptr<kernel::CodeCache> CacheOf(const CacheFlags& cache) {
  const char* const variable = std::getenv("HLO_CACHE_DIR");
  const std::string directory = cache.directory.empty() && variable != nullptr ? variable : cache.directory;
  return directory.empty() ? nullptr : std::make_shared<kernel::CodeCache>(directory, cache.size);
}

void AddHostIsaFlag(FlagSet& flags, std::string* host_isa) {
  flags.Choice("host_isa", host_isa, {kHostIsaNames.begin(), kHostIsaNames.end()},
               "instruction set that kernels and libraries use on this processor; native: everything that it has");
}

namespace {

// Adds the name of the variable, which the user may have set long ago.
Error InVariable(std::string_view variable, Error error) {
  std::string& message = error.diagnostics.front().message;
  message = Str(variable, ": ", message);
  return error;
}

// A value that does not begin with '-' names a file of flags, as in XLA.
Status ParseXlaFlags(FlagSet& flags, std::string value) {
  if (const std::string_view path = Trim(value); !path.empty() && path.front() != '-') {
    const auto file = ReadSource(std::string(path));
    if (!file) {
      std::fprintf(stderr, "warning: XLA_FLAGS: %s\n", file.error().message().c_str());
      return {};
    }
    value = (*file)->text();
  }
  const auto ignored = flags.ParseEnvironment(value);
  if (!ignored) FAIL(InVariable("XLA_FLAGS", ignored.error()));
  if (!ignored->known_to_xla.empty())
    std::fprintf(stderr, "note: XLA_FLAGS: no effect here: %s\n", Join(ignored->known_to_xla, ", ").c_str());
  for (const std::string& name : ignored->unknown)
    std::fprintf(stderr, "warning: XLA_FLAGS: unknown flag '%s'\n", Escaped(name).c_str());
  return {};
}

Status ParseHloFlags(FlagSet& flags, std::string_view value) {
  const auto rest = flags.Parse(SplitXlaFlags(value));
  if (!rest) FAIL(InVariable("HLO_FLAGS", rest.error()));
  if (!rest->empty()) FAIL(UsageError("F003", Str("HLO_FLAGS: '", Escaped(rest->front()), "' is not a flag")));
  return {};
}

}  // namespace

Result<std::vector<std::string>> ParseArgs(FlagSet& flags, std::span<const std::string> args) {
  if (const auto word = WordToComplete()) CompleteFlags(flags, args, *word);
  return flags.Parse(TRY(WithFlagsOfBundle(flags, args)));
}

Result<std::vector<std::string>> ParseAll(FlagSet& flags, std::span<const std::string> args) {
  if (const char* value = std::getenv("XLA_FLAGS")) TRY(ParseXlaFlags(flags, value));
  if (const char* value = std::getenv("HLO_FLAGS")) TRY(ParseHloFlags(flags, value));
  return ParseArgs(flags, args);
}

namespace {

constexpr const char* kVmodule = "TF_CPP_VMODULE";

std::vector<std::string> ModulesOfEnvironment() {
  std::vector<std::string> entries;
  if (const char* text = std::getenv(kVmodule); text != nullptr && *text != '\0') {
    for (const std::string_view entry : Split(text, ',')) entries.emplace_back(entry);
  }
  return entries;
}

}  // namespace

Status Apply(const LogFlags& log) {
  constexpr int64_t kMostThreads = 1024;
  if (log.threads < 0 || log.threads > kMostThreads)
    FAIL(UsageError("F004", Str("--threads wants 0 to ", kMostThreads, ", not ", log.threads)));
  if (log.threads > 0) SetThreads(static_cast<int>(log.threads));
  if (!log.host_isa.empty()) TRY(ChooseHostIsa(log.host_isa));
  LogOptions options;
  options.level = static_cast<int>(log.v);
  for (const char* name : {"TF_CPP_MAX_VLOG_LEVEL", "TF_CPP_MIN_VLOG_LEVEL"}) {
    const char* const text = std::getenv(name);
    if (text == nullptr || *text == '\0') continue;
    int64_t level = 0;
    if (!ParseInt(text, &level)) FAIL(UsageError("F004", Str(name, " wants an integer, not '", Escaped(text), "'")));
    options.level = std::max(options.level, static_cast<int>(level));
  }
  const auto add_modules = [&](std::string_view name, std::span<const std::string> entries) -> Status {
    for (const std::string& entry : entries) {
      const size_t equals = entry.find('=');
      int64_t level = 0;
      if (equals == std::string::npos || !ParseInt(std::string_view(entry).substr(equals + 1), &level))
        FAIL(UsageError("F004", Str(name, " wants FILE=N, not '", Escaped(entry), "'")));
      options.modules.emplace_back(entry.substr(0, equals), static_cast<int>(level));
    }
    return {};
  };
  TRY(add_modules("--vmodule", log.vmodule));
  TRY(add_modules(kVmodule, ModulesOfEnvironment()));
  if (const char* path = std::getenv("TF_CPP_VLOG_FILENAME")) options.path = path;
  int64_t thread_id = 0;
  const char* const wants_thread_id = std::getenv("TF_CPP_LOG_THREAD_ID");
  options.thread_id = wants_thread_id != nullptr && ParseInt(wants_thread_id, &thread_id) && thread_id != 0;
  SetLogOptions(std::move(options));
  return {};
}

void WarnOfUnmetPatterns(const LogFlags& log, bool quiet) {
  const std::vector<std::string> unmet = UnmetLogPatterns();
  const auto met_nothing = [&](const std::string& entry) {
    return std::ranges::find(unmet, entry.substr(0, entry.find('='))) != unmet.end();
  };
  constexpr const char* kNothing = "no file of that name logged anything";
  for (const std::string& entry : log.vmodule) {
    if (met_nothing(entry)) std::fprintf(stderr, "warning: %s\n", MetNothing("vmodule", entry, kNothing).c_str());
  }
  if (quiet) return;
  for (const std::string& entry : ModulesOfEnvironment()) {
    if (met_nothing(entry)) std::fprintf(stderr, "note: %s=%s: %s\n", kVmodule, Escaped(entry).c_str(), kNothing);
  }
}

namespace {

Result<std::shared_ptr<const SourceText>> ReadPipeline(const std::string& path) {
  constexpr int64_t kMostBytes = 1 << 20;
  auto source = ReadSource(path, kMostBytes);
  if (source) return source;
  std::vector<std::string_view> names;
  for (const Preset& preset : AllPresets()) names.push_back(preset.name);
  const std::vector<std::string> near = NearNames(path, names);
  FAIL(UsageError("F004", Str("--pipeline: ", source.error().message(),
                              near.empty() ? "" : Str("; did you mean '", Join(near, "' or '"), "'?")))
           .Hint(Str("besides files, --pipeline accepts ", Join(names, ", "))));
}

Result<PassObserver> CrashIn(const std::string& name, const PipelineOptions& pipeline) {
  const Pipeline parsed = TRY(ParsePipeline(TextOf(pipeline)));
  const Selector where = TRY(ParseSelector(name, parsed));
  return [where](const PassRun& run, Module&) -> Status {
    const std::vector<std::string_view> stages(run.stages.begin(), run.stages.end());
    if (where.Matches(run, stages)) std::abort();
    return {};
  };
}

}  // namespace

Status OneStdin(const PassFlags& passes, const std::vector<std::string>& modules) {
  if (passes.pipeline != "-" || std::ranges::find(modules, "-") == modules.end()) return {};
  FAIL(UsageError("F004", "--pipeline=-: the module comes from stdin already"));
}

void ResolveReproducer(const PassFlags& passes, const LogFlags& log, const std::vector<std::string>& inject,
                       ReproducerOptions* reproducer) {
  reproducer->target = passes.target;
  if (passes.target.empty() && passes.device != nullptr)
    reproducer->target =
        passes.device->device.is_gpu ? Str("sm_", passes.device->device.compute_capability) : std::string("host");
  if (!log.host_isa.empty()) reproducer->flags.push_back(Str("--host_isa=", log.host_isa));
  for (const std::string& entry : inject) {
    // Without the instance number, each instance of the pass has the fault.
    if (entry.starts_with(kCrash)) reproducer->flags.push_back(Str("--inject=", entry.substr(0, entry.find('#'))));
  }
}

Status ReadTargetFlag(PassFlags* passes) {
  if (passes->target.empty()) return {};
  // This machine's vector level follows --host_isa.
  passes->device =
      passes->target == "host" ? TargetOf(gpu::OpenHostDevice()->Describe()) : TRY(FindTarget(passes->target));
  return {};
}

Result<PipelineOptions> PipelineOf(const PassFlags& passes, const std::vector<std::string>& inject) {
  PipelineOptions options;
  options.passes = passes.passes;
  options.pipeline = passes.pipeline;
  if (passes.passes && passes.pipeline != "default")
    FAIL(UsageError("F004", "--passes and --pipeline both select the passes; give only one of them"));
  if (FindPreset(passes.pipeline) == nullptr) options.text = TRY(ReadPipeline(passes.pipeline));
  if (passes.device != nullptr) options.device = &passes.device->device;
  if (passes.disable_all) options.passes = "";
  options.disabled = passes.disabled;
  options.only = passes.only;
  options.disabled_rules = passes.disabled_rules;
  options.opt_bisect_limit = static_cast<int>(passes.opt_bisect_limit);
  options.start_from = passes.start_from;
  options.stop_before = passes.stop_before;
  options.stop_after = passes.stop_after;
  for (const std::string& entry : passes.fuel) {
    const size_t equals = entry.find('=');
    int64_t units = 0;
    if (equals == std::string::npos || !ParseInt(std::string_view(entry).substr(equals + 1), &units)) {
      FAIL(UsageError("F004", Str("--xla_fuel wants PASS=N or RULE=N, not '", Escaped(entry), "'")));
    }
    options.fuel.emplace_back(entry.substr(0, equals), units);
  }
  constexpr std::string_view kPass = "pass:";
  for (const std::string& entry : inject) {
    if (entry.starts_with(kCrash)) options.before = TRY(CrashIn(entry.substr(kCrash.size()), options));
    if (!entry.starts_with(kPass)) continue;
    if (!options.inject.empty())
      FAIL(UsageError("F004", "--inject: only one fault of a pass can be planted at a time"));
    options.inject = entry.substr(kPass.size());
    if (options.inject.empty()) FAIL(UsageError("F004", "--inject: expected pass:NAME:FAULT, got 'pass:'"));
  }
  TRY(CheckNames(options));
  return options;
}

}  // namespace hlo
