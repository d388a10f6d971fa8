#include "tools/tuning_flags.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace hlo {
namespace {

// What XLA measures at where nothing is said; here where a lock is to be filled.
constexpr int64_t kLevelOfCache = 4;

}  // namespace

Result<std::string> LockFile(const std::string& path, bool written) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  if (path.empty() || (path.ends_with(".lock") && !is_folder)) return path;
  if (!is_folder && std::filesystem::exists(path, error)) return path;  // Under a name of its own.
  if (written) TRY(MakeDirectories(path));
  return path + "/autotune.lock";
}

void AddTuningFlags(FlagSet& flags, TuningFlags* tuning) {
  flags.Group("Autotuning (nothing is measured unless one of these asks for it)");
  flags.Int("xla_gpu_autotune_level", &tuning->level,
            "0: nothing is measured, what is in a lock is taken; 1: libraries, their algorithms and sizes of our "
            "kernels are run against each other; 2: on random arguments, not zeros; 4: results and what is written "
            "outside are checked; 5: without a word. Not said: 4 with --autotune_cache or --autotune_report, else 0",
            -1, 5);
  flags.Alias("autotune_level", "xla_gpu_autotune_level");
  flags.String("autotune_cache", &tuning->cache, "DIR|FILE.lock",
               "what was measured is kept there, and taken from there");
  flags.Alias("xla_gpu_per_fusion_autotune_cache_dir", "autotune_cache");
  flags.String("xla_gpu_load_autotune_results_from", &tuning->load, "FILE", "it is only taken from there");
  flags.String("xla_gpu_dump_autotune_results_to", &tuning->dump, "FILE", "it is only kept there");
  flags.Bool("require_cached_autotune", &tuning->require_cached,
             "what is not in the lock is an error, C030, and nothing is measured");
  flags.Alias("xla_gpu_require_complete_aot_autotune_results", "require_cached_autotune");
  flags.Bool("autotune_report", &tuning->report, "candidates, their times and checks, and what is within noise");
  flags.Double("autotune_budget", &tuning->budget, "seconds; what is not measured by then stays as it is");
  flags.Double("autotune_share", &tuning->share, "of a run, as it is modelled: steps below it are not measured");
  flags.String("xla_gpu_algorithm_denylist_path", &tuning->denylist, "FILE",
               "candidates that are never taken: lines of key=KEY or *, and words of a plan");
  flags.Bool("xla_gpu_crash_on_verification_failures", &tuning->crash,
             "a candidate with wrong results is an error, C031, not only out of the race");
  flags.Bool("xla_gpu_strict_conv_algorithm_picker", &tuning->strict,
             "a convolution of which no candidate passes is an error, C032, not only a note");
  flags.Bool("deterministic", &tuning->deterministic, "plans by the model alone: nothing is measured, no lock is read");
}

Status SettleTuningFlags(const TuningFlags& tuning, const std::vector<std::string>& inject, RunOptions* run) {
  gpu::TuningOptions& options = run->tuning;
  const bool names_lock = !tuning.cache.empty() || !tuning.load.empty() || !tuning.dump.empty();
  if (tuning.deterministic && (tuning.level > 0 || names_lock || tuning.require_cached))
    FAIL(UsageError("F004", "--deterministic takes plans by the model alone; another flag asks for measured ones"));
  if (tuning.require_cached && tuning.level > 0)
    FAIL(UsageError("F004", "--require_cached_autotune measures nothing, and --xla_gpu_autotune_level asks for it"));
  const bool fills = !tuning.cache.empty() || !tuning.dump.empty() || tuning.report;
  options.level = static_cast<int>(tuning.level >= 0 ? tuning.level : fills ? kLevelOfCache : 0);
  if (tuning.require_cached || tuning.deterministic) options.level = 0;
  options.read_from = TRY(LockFile(tuning.load.empty() ? tuning.cache : tuning.load, false));
  options.must_exist = !tuning.load.empty();
  options.write_to = TRY(LockFile(tuning.dump.empty() ? tuning.cache : tuning.dump, true));
  options.require_cached = tuning.require_cached;
  options.stop_on_wrong = tuning.crash;
  options.strict = tuning.strict;
  options.denylist = tuning.denylist;
  options.budget_seconds = tuning.budget;
  options.least_share = tuning.share;
  options.plant_wrong = std::ranges::find(inject, kWrongCandidate) != inject.end();
  if (options.plant_wrong && options.level == 0)
    FAIL(UsageError("F004", Str("--inject=", kWrongCandidate, " spoils what is measured, and nothing is"))
             .Hint("--xla_gpu_autotune_level=4"));
  run->autotune_report = tuning.report;
  return {};
}

}  // namespace hlo
