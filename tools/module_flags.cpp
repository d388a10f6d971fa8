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
#include "gpu/device/device.h"
#include "interp/arguments/arguments.h"
#include "passes/pipelines/selectors.h"
#include "passes/pipelines/text.h"
#include "tools/bundle_flags.h"
#include "tools/completion.h"

namespace hlo {

void AddLoadFlags(FlagSet& flags, LoadOptions* load, std::vector<std::string> elided) {
  flags.Group("Input");
  flags.Choice(
      "verify", &load->verify, {"strict", "default", "off"},
      "how much of the input is verified; off: nothing where text alone is read and printed, no warnings where "
      "a module is run, rewritten or counted");
  flags.Bytes("max_input", &load->max_input, "largest file, as 512MiB or 2GB", 1);
  flags.Int("max_depth", &load->max_depth, "deepest nesting of shapes, literals, operands and calls", 1);
  std::string help = "what becomes of constant({...}), whose elements were not printed";
  if (std::ranges::find(elided, "keep") != elided.end()) help += "; keep: its value is not known";
  if (std::ranges::find(elided, "random") != elided.end()) help += "; random: in range for what it indexes";
  flags.Choice("fill_elided_constants", &load->fill_elided_constants, std::move(elided), std::move(help));
}

void AddDeviceFlags(FlagSet& flags, LoadOptions* load) {
  flags.Int("num_replicas", &load->num_replicas, "replicas of the module; 0: as many as its header says");
  flags.Int("num_partitions", &load->num_partitions, "partitions of each replica; 0: as many as the header says");
}

void AddSplitFlag(FlagSet& flags, LoadOptions* load) {
  flags.Bool("split_input_file", &load->split_input_file,
             "lines '// -----' part a file into modules: FILE#1, FILE#2, ...; one of them by that name");
}

void AddArgumentFlags(FlagSet& flags, RunOptions* run) {
  flags.Group("Arguments");
  flags.String("args", &run->args, "FILE",
               ".npz or .npy, keys argN or parameter names; or a snapshot. A module that is a snapshot runs on what it "
               "recorded; '--args=' makes arguments up all the same");
  flags.Choice("args_are", &run->args_are, {"auto", "parts", "whole"},
               "arrays of --args for a partitioned module; whole: each partition gets the part that the parameter's "
               "sharding says, and the results are joined; parts: as they are; auto: whole where the shape is not the "
               "parameter's");
  flags.Repeated("arg", &run->arg, "WHICH=SPEC",
                 "one parameter, by number or name, ahead of --args: f.npy, f.npz:KEY, @f.bin, {1,2}, zeros, ones, "
                 "iota, special, replica_id, uniform(a,b), normal(m,s), randint(a,b); r1.WHICH: of replica 1 alone, "
                 "r1.p0.WHICH: of one partition of it");
  flags.Choice("cast_args", &run->cast_args, {"never", "safe", "force"},
               "arrays of another element type in files: safe: converted if no value changes; force: in any case");
  flags.String("input_profile", &run->input_profile, "LIST",
               Str("how the others are made up: ", Join(InputProfileNames(), ", "),
                   "; all. hlo-run runs each of a list in turn"));
  flags.Complete("input_profile", [] {
    const auto profiles = InputProfileNames();
    return std::vector<std::string>(profiles.begin(), profiles.end());
  });
  flags.String("arg_range", &run->arg_range, "A,B", "random floats lie in [A,B), whatever the profile");
  flags.Bool("constrain_inputs", &run->constrain_inputs,
             "indices in range, promises of order kept, initial values neutral, divisors not 0");
  flags.Int("random_seed", &run->seed, "of made-up arguments", INT64_MIN);
  flags.Alias("seed", "random_seed");
}

void SettleRecording(const FlagSet& flags, RunOptions* run) {
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
  flags.String(
      "pipeline", &passes->pipeline, "NAME|FILE",
      Str("the passes that run: ", Join(names, ", "), ", or a text of one's own, - is stdin; 'hlo help pipelines'"));
  flags.Complete("pipeline", [names] { return std::vector<std::string>(names.begin(), names.end()); });
  flags.String("passes", &passes->passes, "LIST",
               "run these instead of the pipeline, in the same words: a,b,c; simplification(fixed-point)");
  flags.List("xla_disable_hlo_passes", &passes->disabled, "LIST",
             "leave these out: names, pipelines, instances (algsimp#2)");
  flags.List("xla_enable_hlo_passes_only", &passes->only, "LIST", "run only these of the pipeline");
  for (const char* flag : {"passes", "xla_disable_hlo_passes", "xla_enable_hlo_passes_only"})
    flags.Complete(flag, PassNames);
  flags.Bool("xla_disable_all_hlo_passes", &passes->disable_all, "no passes at all");
  flags.Alias("disable_all_hlo_passes", "xla_disable_all_hlo_passes");
  flags.List("disable_rules", &passes->disabled_rules, "LIST",
             "leave these rewrite rules out: ids, or their first parts (A.add.1, A.add, A); 'hlo help algebra'");
  flags.List("xla_fuel", &passes->fuel, "WHAT=N", "at most N rewrites of a pass or of a rule");
  flags.Int("opt_bisect_limit", &passes->opt_bisect_limit, "skip pass instances with a higher number; -1: none", -1);
  flags.String("stop_after", &passes->stop_after, "NAME",
               "skip what comes behind this: a pass (its first instance), an instance (algsimp#2), a pipeline");
  flags.String("stop_before", &passes->stop_before, "NAME", "skip this and what comes behind it");
  flags.String("start_from", &passes->start_from, "NAME", "skip what comes before this");
  AddTargetFlag(flags, &passes->target);
}

void AddTargetFlag(FlagSet& flags, std::string* target) {
  flags.String("target", target, "DEVICE",
               Str("for which device is optimized and planned, whether it is there or not: ", TargetNames(),
                   ", sm_NN, or a file as XLA's --xla_gpu_target_config_filename takes; host is this machine"));
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
             "off: constants of more than 10 elements, and tuples, are {...}; default: as the form has it");
  flags.Bool("strip_metadata", &print->strip_metadata, "without metadata");
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
  flags.String("xla_dump_to", &dump->directory, "DIR",
               "module before and after the passes, and what was compiled from it; -: texts to stdout");
  flags.String("xla_dump_hlo_pass_re", &dump->pass_pattern, "RE",
               "also the module after each pass that changed it and matches");
  flags.String("xla_dump_emitter_re", &dump->emitter_pattern, "RE",
               "code of the compiled kernels to keep: of llvm, ptx, host; empty: all");
  flags.Bool("xla_dump_hlo_as_text", &dump->as_text, "in any case, so that each state runs alone");
  flags.Alias("xla_dump_hlo_as_long_text", "xla_dump_hlo_as_text");
  flags.Bool("xla_dump_hlo_as_proto", &dump->as_proto, "also each state as a protocol buffer, in full");
  flags.Bool("xla_dump_hlo_as_dot", &dump->as_dot, "also the entry's graph, for Graphviz");
  flags.Bool("xla_dump_hlo_as_html", &dump->as_html, "also the entry's graph as one page, unless it is too large");
  flags.Bool("xla_dump_large_constants", &dump->large_constants,
             "off: constants of more than 10 elements, and tuples, are dumped as {...}");
  flags.Bool("xla_dump_disable_metadata", &dump->disable_metadata, "modules are dumped without metadata");
  flags.Bool("xla_dump_hlo_snapshots", &dump->snapshots,
             "hlo-run: also the module as it was read, its arguments and its result in one protocol buffer, which "
             "--args and --reference take");
  flags.Choice(
      "dump_diff", &dump->diff, {"instructions", "unified", "none"},
      "beside each module after a pass: instructions: what the pass did, as --print_changed=diff; unified: the "
      "lines that differ from the state dumped before it, which patch takes");
  flags.Int("dump_limit_mib", &dump->limit_mib, "MiB; the dump of one module ends, with a note, before what is beyond",
            1, 1 << 30);
  flags.String("xla_dump_hlo_module_re", &dump->module_pattern, "RE", "only modules whose name matches");
}

void AddReproducerFlag(FlagSet& flags, ReproducerOptions* reproducer) {
  flags.String("reproducer", &reproducer->directory, "DIR",
               "of a pass that is found wrong, fails or crashes: a folder there with the module before it, the "
               "arguments, the one command that shows it again, and what that printed");
  flags.Alias("crash_reproducer", "reproducer");
}

void AddBundleFlag(FlagSet& flags, BundleOptions* bundle) {
  flags.String("bundle", &bundle->directory, "DIR",
               "a new folder with the module, flags, arguments, expected and actual results, the report, and the one "
               "command that runs it again: every command takes it as a module");
}

void AddLogFlags(FlagSet& flags, LogFlags* log) {
  flags.Group("Logging and threads");
  flags.Int("v", &log->v,
            "verbosity: 1 a line per pass and kernel, 2 decisions, 3 module text, 4 each instruction and why");
  flags.List("vmodule", &log->vmodule, "FILE=N",
             "verbosity by source file, * and ? allowed, ours or XLA's name of it (also TF_CPP_VMODULE)");
  flags.Bool("logtostderr", &log->to_stderr, "where they go in any case");
  flags.Int("threads", &log->threads, "threads to use; 0: as many as there are cores");
  AddHostIsaFlag(flags, &log->host_isa);
}

void AddCacheFlags(FlagSet& flags, CacheFlags* cache) {
  flags.String(
      "cache_dir", &cache->directory, "DIR",
      "code of kernels is kept here for other processes, as in ~/.cache/hlo; also HLO_CACHE_DIR; neither: none "
      "is");
  flags.Bytes("cache_size", &cache->size, "of it at most, as 512MiB or 2GB; what was not used for longest goes first");
}

std::shared_ptr<kernel::CodeCache> CacheOf(const CacheFlags& cache) {
  const char* const variable = std::getenv("HLO_CACHE_DIR");
  const std::string directory = cache.directory.empty() && variable != nullptr ? variable : cache.directory;
  return directory.empty() ? nullptr : std::make_shared<kernel::CodeCache>(directory, cache.size);
}

void AddHostIsaFlag(FlagSet& flags, std::string* host_isa) {
  flags.Choice("host_isa", host_isa, {kHostIsaNames.begin(), kHostIsaNames.end()},
               "what kernels and libraries may use of this processor; native: all of it");
}

namespace {

// Who set a variable long ago must hear where the flag stands.
Error InVariable(std::string_view variable, Error error) {
  std::string& message = error.diagnostics.front().message;
  message = Str(variable, ": ", message);
  return error;
}

// A value that does not begin with - is the name of a file of flags, as in XLA.
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
  if (!rest->empty()) FAIL(UsageError("F003", Str("HLO_FLAGS: '", Escaped(rest->front()), "' is no flag")));
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
  constexpr const char* kNothing = "nothing that ran logs from such a file";
  for (const std::string& entry : log.vmodule) {
    if (met_nothing(entry)) std::fprintf(stderr, "warning: %s\n", MetNothing("vmodule", entry, kNothing).c_str());
  }
  if (quiet) return;
  for (const std::string& entry : ModulesOfEnvironment()) {
    if (met_nothing(entry)) std::fprintf(stderr, "note: %s=%s: %s\n", kVmodule, Escaped(entry).c_str(), kNothing);
  }
}

namespace {

// A file; where there is none, the name of a preset may have been meant.
Result<std::shared_ptr<const SourceText>> ReadPipeline(const std::string& path) {
  constexpr int64_t kMostBytes = 1 << 20;
  auto source = ReadSource(path, kMostBytes);
  if (source) return source;
  std::vector<std::string_view> names;
  for (const Preset& preset : AllPresets()) names.push_back(preset.name);
  const std::vector<std::string> near = NearNames(path, names);
  FAIL(UsageError("F004", Str("--pipeline: ", source.error().message(),
                              near.empty() ? "" : Str("; did you mean '", Join(near, "' or '"), "'?")))
           .Hint(Str("besides files there are: ", Join(names, ", "))));
}

// The observer that ends the process where the pass begins.
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

void SettleReproducer(const PassFlags& passes, const LogFlags& log, const std::vector<std::string>& inject,
                      ReproducerOptions* reproducer) {
  reproducer->target = passes.target;
  if (passes.target.empty() && passes.device != nullptr)
    reproducer->target = Str("sm_", passes.device->device.compute_capability);
  if (!log.host_isa.empty()) reproducer->flags.push_back(Str("--host_isa=", log.host_isa));
  for (const std::string& entry : inject) {
    // Whichever instance it was.
    if (entry.starts_with(kCrash)) reproducer->flags.push_back(Str("--inject=", entry.substr(0, entry.find('#'))));
  }
}

Status ReadTargetFlag(PassFlags* passes) {
  if (passes->target.empty()) return {};
  // This machine: its cores, and vectors of the level that --host_isa allows.
  passes->device =
      passes->target == "host" ? TargetOf(gpu::OpenHostDevice()->Describe()) : TRY(FindTarget(passes->target));
  return {};
}

Result<PipelineOptions> PipelineOf(const PassFlags& passes, const std::vector<std::string>& inject) {
  PipelineOptions options;
  options.passes = passes.passes;
  options.pipeline = passes.pipeline;
  if (passes.passes && passes.pipeline != "default")
    FAIL(UsageError("F004", "--passes and --pipeline both say what runs; one of them is enough"));
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
    if (!options.inject.empty()) FAIL(UsageError("F004", "--inject: one fault of a pass at a time"));
    options.inject = entry.substr(kPass.size());
    if (options.inject.empty()) FAIL(UsageError("F004", "--inject: expected pass:NAME:FAULT, got 'pass:'"));
  }
  TRY(CheckNames(options));
  return options;
}

}  // namespace hlo
