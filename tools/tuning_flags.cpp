#include "tools/tuning_flags.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace hlo {
namespace {

// XLA's default level, which applies here only with a lock to fill or a report.
constexpr int64_t kLevelOfCache = 4;

}  // namespace

Result<std::string> LockFile(const std::string& path, bool written) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  if (path.empty() || (path.ends_with(".lock") && !is_folder)) return path;
  if (!is_folder && std::filesystem::exists(path, error)) return path;  // A file with another name.
  if (written) TRY(MakeDirectories(path));
  return path + "/autotune.lock";
}

void AddTuningFlags(FlagSet& flags, TuningFlags* tuning) {
  flags.Group("Autotuning (measures only if one of these flags requires it)");
  flags.Int("xla_gpu_autotune_level", &tuning->level,
            "0: measure nothing and use the plans of a lock file; 1: measure libraries, their algorithms and the tile "
            "sizes of our kernels; 2: measure on random arguments instead of zeros; 4: also check the results, and "
            "that nothing is written outside of them; 5: check without messages. Default: 4 with --autotune_cache or "
            "--autotune_report, otherwise 0",
            -1, 5);
  flags.Alias("autotune_level", "xla_gpu_autotune_level");
  flags.String("autotune_cache", &tuning->cache, "DIR|FILE.lock",
               "lock file from which measured plans are read, and to which new ones are written");
  flags.Alias("xla_gpu_per_fusion_autotune_cache_dir", "autotune_cache");
  flags.String("xla_gpu_load_autotune_results_from", &tuning->load, "FILE", "lock file that is only read");
  flags.String("xla_gpu_dump_autotune_results_to", &tuning->dump, "FILE", "lock file that is only written");
  flags.Bool("require_cached_autotune", &tuning->require_cached,
             "measure nothing; a plan that is missing in the lock file is an error, C030");
  flags.Alias("xla_gpu_require_complete_aot_autotune_results", "require_cached_autotune");
  flags.Bool("autotune_report", &tuning->report,
             "print the candidates with their times and checks, and mark those that are not measurably slower than the "
             "fastest one");
  flags.Double("autotune_budget", &tuning->budget,
               "seconds for measuring; plans that were not measured in this time stay as they are");
  flags.Double("autotune_share", &tuning->share,
               "smallest share of the run's estimated time that a step must take to be measured");
  flags.String("xla_gpu_algorithm_denylist_path", &tuning->denylist, "FILE",
               "candidates that are never used: lines of key=KEY or *, followed by words of a plan");
  flags.Bool("xla_gpu_crash_on_verification_failures", &tuning->crash,
             "a candidate with wrong results is an error, C031, instead of being skipped");
  flags.Bool("xla_gpu_strict_conv_algorithm_picker", &tuning->strict,
             "a convolution for which no candidate passes the checks is an error, C032, instead of a note");
  flags.Bool("deterministic", &tuning->deterministic,
             "choose plans by the model only: measure nothing and read no lock file");
}

Status ResolveTuningFlags(const TuningFlags& tuning, const std::vector<std::string>& inject, RunOptions* run) {
  gpu::TuningOptions& options = run->tuning;
  const bool names_lock = !tuning.cache.empty() || !tuning.load.empty() || !tuning.dump.empty();
  if (tuning.deterministic && (tuning.level > 0 || names_lock || tuning.require_cached))
    FAIL(UsageError("F004",
                    "--deterministic chooses plans by the model alone, but another flag asks for measured ones"));
  if (tuning.require_cached && tuning.level > 0)
    FAIL(UsageError("F004",
                    "--require_cached_autotune measures nothing, but --xla_gpu_autotune_level asks for measurements"));
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
    FAIL(UsageError("F004", Str("--inject=", kWrongCandidate, " changes a measurement, but nothing is measured"))
             .Hint("--xla_gpu_autotune_level=4 measures"));
  run->autotune_report = tuning.report;
  return {};
}

}  // namespace hlo
