#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "driver/command_line.h"
#include "driver/run/recording.h"
#include "driver/search/bisect.h"
#include "tools/command.h"
#include "tools/search_flags.h"

namespace hlo {
namespace {

struct BisectFlags {
  RunFlags run;
  SearchFlags search;
  BisectOver over = BisectOver::kPasses;
  std::string metric = "model", flags_good, flags_bad, out = "hlo-out";
};

FlagSet MakeFlags(BisectFlags* f) {
  FlagSet flags(
      "hlo-bisect", "[flags] MODULE",
      "Finds the cause of a failure: the pass instance and the single rewrite in it, the rule, the flag, the fusion, "
      "the decision of autotuning, or the libraries. The command accepts all flags of hlo-run. The exit code is 0 if "
      "the cause "
      "is found, and 7 if the failure does not occur or occurs only in some trials.",
      {"hlo-bisect --inject=pass:constant_folding:wrong_constant --reoptimize model.hlo",
       "hlo-bisect --over=fusions --inject=kernel:fusion.3:wrong_index model.hlo",
       "hlo-bisect --reoptimize '--script=! hlo-opt --reoptimize --opt_bisect_limit=$HLO_OPT_BISECT_LIMIT $1 "
       "| grep -q gemm' model.hlo",
       "hlo-bisect --reoptimize --property=kernels --over=flags --flags_bad='--passes= --nolibraries' model.hlo"});
  flags.Group("Search");
  flags.Choice(
      "over", &f->over,
      "search space; passes: the first wrong instance, then its first wrong rewrite; rules: the rules that cause the "
      "failure together; flags: the differences between --flags_good and --flags_bad; fusions: the fusions of the "
      "entry; libraries: library calls against hlokit's kernels; autotune: the decisions of the given lock file");
  AddSearchFlags(flags, &f->search);
  flags.Choice("metric", &f->metric, {"model", "time"},
               "source of the times for --property=slower; model: the description of --target's device; time: measured "
               "in turns on the platform; --over=autotune always measures");
  flags.String("flags_good", &f->flags_good, "FLAGS", "for --over=flags: flags of the good run");
  flags.String("flags_bad", &f->flags_bad, "FLAGS", "flags of the bad run, quoted as in XLA_FLAGS");
  flags.String("out", &f->out, "DIR",
               "folder for the modules before and after the change, or for the lock files; empty: write none");
  AddRunFlags(flags, &f->run);
  return flags;
}

const std::vector<std::string> kOwnFlags = {"over",       "property",  "bad",           "script",
                                            "fail_regex", "confirm",   "trial_timeout", "metric",
                                            "flags_good", "flags_bad", "out",           "json"};

// With --over=autotune, shown commands name the found locks instead of these flags.
const std::vector<std::string> kLockFlags = {"autotune_cache",
                                             "xla_gpu_per_fusion_autotune_cache_dir",
                                             "xla_gpu_load_autotune_results_from",
                                             "xla_gpu_dump_autotune_results_to",
                                             "require_cached_autotune",
                                             "xla_gpu_require_complete_aot_autotune_results",
                                             "xla_gpu_autotune_level",
                                             "autotune_level",
                                             "autotune_report"};

Result<RunOptions> OptionsWith(const std::string& path, const std::vector<std::string>& given,
                               const std::vector<std::string>& more,
                               std::vector<std::shared_ptr<const Target>>* targets) {
  RunFlags f;
  FlagSet flags("hlo-run", "", "", {});
  AddRunFlags(flags, &f);
  std::vector<std::string> all = given;
  all.insert(all.end(), more.begin(), more.end());
  const std::vector<std::string> positionals = TRY(flags.Parse(all));
  if (!positionals.empty())
    FAIL(UsageError("F003", Str("--flags_bad: '", Escaped(positionals.front()), "' is not a flag")));
  TRY(ResolveRunFlags(&f));
  ResolveRecording(flags, &f.run);
  TakeRecording(path, &f.run);
  targets->push_back(f.passes.device);  // The pipeline refers to the target, which must live as long.
  return f.run;
}

std::string CommandWith(const BisectFlags& f, const std::string& more) {
  // If the search wrote another module, `more` ends with its path.
  const size_t blank = more.rfind(' ');
  if (more.starts_with("--passes= ")) return RunAgain(f.run.run.flags, more.substr(0, blank), more.substr(blank + 1));
  return RunAgain(f.run.run.flags, more, f.run.path);
}

std::string TextOf(const Bisection& found, const BisectFlags& f, const Property& property) {
  std::string out = Str("property: ", found.symptom.detail, "\n  good: ", found.good_end, "   bad: ", found.bad_end,
                        "   (each ", f.search.confirm, " of ", f.search.confirm, ")\n");
  constexpr size_t kMostInALine = 6;
  for (size_t i = 0; i < found.trials.size(); ++i)
    out += Str(i % kMostInALine == 0 ? "  " : "   ", found.trials[i],
               i % kMostInALine + 1 == kMostInALine || i + 1 == found.trials.size() ? "\n" : "");
  out += Str("culprit: ", found.culprit, "   (", found.bad_with, " of ", f.search.confirm, " bad with it, ",
             found.good_without, " of ", f.search.confirm, " good without it)\n");
  if (!found.rewrite.empty()) out += Str("  ", found.rewrite, "\n");
  if (!found.change.empty()) out += Str("  what it changed:\n", found.change);
  if (!found.files.empty()) out += Str("  modules: ", Join(found.files, " "), "\n");
  if (property.kind == PropertyKind::kScript) return out;
  if (!found.show_flags.empty()) out += Str("  shows it:   ", CommandWith(f, found.show_flags), "\n");
  if (!found.without_flags.empty()) {
    out += Str("  without it: ", CommandWith(f, found.without_flags), "\n");
    if (found.others) out += "              which also fails, because a later change has the same effect\n";
  }
  return out;
}

std::string JsonOf(const Bisection& found, const BisectFlags& f) {
  JsonWriter json;
  const auto list = [&](std::string_view key, const std::vector<std::string>& texts) {
    json.Key(key).Open('[');
    for (const std::string& text : texts) json.Value(text);
    json.Close(']');
  };
  json.Open('{').Key("schema").Value("hlo.bisect/1").Key("path").Value(f.run.path).Key("over").Value(ToString(f.over));
  json.Key("property").Value(found.symptom.detail);
  list("trials", found.trials);
  list("guilty", found.culprits);
  json.Key("culprit").Value(found.culprit).Key("rewrite").Value(found.rewrite);
  json.Key("bad_with").Value(found.bad_with).Key("good_without").Value(found.good_without);
  json.Key("confirm").Value(f.search.confirm).Key("others").Value(found.others).Key("change").Value(found.change);
  list("files", found.files);
  if (!found.show_flags.empty()) json.Key("command").Value(CommandWith(f, found.show_flags));
  if (!found.without_flags.empty()) json.Key("without").Value(CommandWith(f, found.without_flags));
  json.Close('}');
  return json.text() + "\n";
}

Status ResolveLock(BisectOptions* options) {
  gpu::TuningOptions& tuning = options->run.tuning;
  const Property& property = options->property;
  if (tuning.read_from.empty())
    FAIL(UsageError("F004", "--over=autotune needs a lock file")
             .Hint("--autotune_cache=FILE.lock names the lock file of the run that was tuned"));
  if (property.kind == PropertyKind::kScript)
    FAIL(UsageError("F004", "--over=autotune takes no script, because a script receives the module and not the lock"));
  if (property.kind == PropertyKind::kKernels || property.kind == PropertyKind::kBytes)
    FAIL(UsageError("F004", Str("--property=", property.text,
                                " depends on what is fused, but a lock chooses only how kernels run")));
  tuning.level = 0;
  tuning.must_exist = true;
  tuning.require_cached = tuning.plant_wrong = false;
  tuning.write_to.clear();
  options->measured = property.kind == PropertyKind::kSlower;
  return {};
}

Result<BisectOptions> OptionsOf(const BisectFlags& f, std::vector<std::shared_ptr<const Target>>* targets) {
  BisectOptions options{.run = f.run.run,
                        .property = TRY(PropertyOf(f.search)),
                        .over = f.over,
                        .confirm = static_cast<int>(f.search.confirm),
                        .trial_seconds = f.search.trial_timeout,
                        .measured = f.metric == "time",
                        .directory = {},
                        .flags = SplitXlaFlags(f.flags_bad),
                        .with_flags = {},
                        .on_known = [](const std::string& known) { SetInterruptionNote(Str("so far: ", known)); }};
  const std::string stem = f.run.path == "-" ? "stdin" : std::filesystem::path(f.run.path).stem().string();
  if (!f.out.empty()) options.directory = Str(f.out, "/bisect-", FileNamePart(stem));
  if (options.measured && options.property.kind != PropertyKind::kSlower)
    FAIL(UsageError("F004", "--metric=time needs --property=slower"));
  if (options.over == BisectOver::kAutotune) TRY(ResolveLock(&options));
  if (options.over == BisectOver::kFlags && options.flags.empty())
    FAIL(UsageError("F004", "--over=flags wants --flags_bad")
             .Hint("for example: --flags_bad='--pipeline=2022 --nolibraries'"));
  if (options.over == BisectOver::kFlags) {
    const std::vector<std::string> good = SplitXlaFlags(f.flags_good);
    std::vector<std::string> shared = f.run.run.flags;
    std::ranges::copy(good, std::back_inserter(shared));
    std::erase_if(options.flags, [&](const auto& flag) { return std::ranges::find(good, flag) != good.end(); });
    options.with_flags = [path = f.run.path, shared, targets](const std::vector<std::string>& flags) {
      return OptionsWith(path, shared, flags, targets);
    };
    options.run = TRY(options.with_flags({}));
  }
  return options;
}

}  // namespace

Result<ExitCode> BisectCommand(Args args) {
  BisectFlags f;
  FlagSet flags = MakeFlags(&f);
  if (TRY(OneModule(flags, args, &f.run, kOwnFlags)).empty()) return ExitCode::kOk;
  TakeRecording(f.run.path, &f.run.run);
  std::vector<std::shared_ptr<const Target>> targets;
  const BisectOptions options = TRY(OptionsOf(f, &targets));
  SetInterruptionNote("no result yet");
  if (options.over == BisectOver::kAutotune) f.run.run.flags = WithoutFlags(f.run.run.flags, kLockFlags, f.run.path);
  auto found = Bisect(f.run.path, options, ProgressLine(f.run.path, f.run.quiet));
  ClearProgressLine(f.run.quiet);
  if (!found) FAIL(std::move(found).error());
  const std::optional<std::string>& json = f.run.json;
  if (json) TRY(WriteFile(json->empty() ? "-" : *json, JsonOf(*found, f)));
  const bool is_silent = (json && json->empty()) || f.run.silent;
  if (!is_silent) std::fputs(TextOf(*found, f, options.property).c_str(), stdout);
  const bool certain = found->bad_with == options.confirm && found->good_without == options.confirm;
  return certain ? ExitCode::kOk : ExitCode::kInconclusive;
}

}  // namespace hlo
