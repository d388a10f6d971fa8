// Flags that several commands share, so that they are spelled and meant the same.
#ifndef HLO_TOOLS_MODULE_FLAGS_H_
#define HLO_TOOLS_MODULE_FLAGS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/dump/dump.h"
#include "driver/load.h"
#include "driver/run/run.h"
#include "driver/target.h"
#include "gpu/kernel/code_cache.h"
#include "ir/text/printer.h"
#include "passes/pipeline.h"
#include "tools/flags.h"

namespace hlo {

// Of --inject: a pass that crashes.
inline constexpr std::string_view kCrash = "crash:";

struct LogFlags {
  int64_t v = 0;
  std::vector<std::string> vmodule;
  bool to_stderr = true;
  int64_t threads = 0;
  std::string host_isa;
};

struct CacheFlags {
  std::string directory;
  int64_t size = kernel::CodeCache::kMostBytes;
};

struct PassFlags {
  std::optional<std::string> passes;
  std::string pipeline = "default";
  std::vector<std::string> disabled, only, disabled_rules, fuel;
  bool disable_all = false;
  int64_t opt_bisect_limit = -1;
  std::string start_from, stop_before, stop_after;
  std::string target;
  std::shared_ptr<const Target> device;  // What it names, from ReadTargetFlag on.
};

struct PrintFlags {
  std::string hlo_print = "long";
  std::optional<bool> large_constants;
  bool strip_metadata = false;
};

// `elided`: what --fill_elided_constants takes. Who runs nothing fills nothing.
void AddLoadFlags(FlagSet& flags, LoadOptions* load, std::vector<std::string> elided = {"keep", "error"});
// For commands that take several modules. After AddLoadFlags.
// --num_replicas, --num_partitions
void AddDeviceFlags(FlagSet& flags, LoadOptions* load);
void AddSplitFlag(FlagSet& flags, LoadOptions* load);
// Where arguments come from.
void AddArgumentFlags(FlagSet& flags, RunOptions* run);
// Leaves the recorded arguments of a snapshot unused where a flag gives arguments or how to make them.
void ResolveRecording(const FlagSet& flags, RunOptions* run);
void AddPassFlags(FlagSet& flags, PassFlags* passes);
// --target, which AddPassFlags has too.
void AddTargetFlag(FlagSet& flags, std::string* target);
// -o comes from the command.
void AddPrintFlags(FlagSet& flags, PrintFlags* print);
void AddDumpFlags(FlagSet& flags, DumpOptions* dump);
// After AddDumpFlags.
void AddReproducerFlag(FlagSet& flags, ReproducerOptions* reproducer);
void AddBundleFlag(FlagSet& flags, BundleOptions* bundle);
void AddLogFlags(FlagSet& flags, LogFlags* log);
// --cache_dir, --cache_size.
void AddCacheFlags(FlagSet& flags, CacheFlags* cache);
// Where --cache_dir, or else HLO_CACHE_DIR, says. Null: nowhere.
std::shared_ptr<kernel::CodeCache> CacheOf(const CacheFlags& cache);
// For commands without AddLogFlags. What it sets is for ChooseHostIsa, unless it is empty.
void AddHostIsaFlag(FlagSet& flags, std::string* host_isa);

// Reads the arguments, those of a bundle among the files first; returns what is no flag. Where a shell asks what a word
// may become, that is answered and the process ends.
Result<std::vector<std::string>> ParseArgs(FlagSet& flags, std::span<const std::string> args);
// Reads XLA_FLAGS, HLO_FLAGS and then the arguments; returns what is no flag. Prints a note on XLA flags without
// effect.
Result<std::vector<std::string>> ParseAll(FlagSet& flags, std::span<const std::string> args);
// The module as text. Errors: those of CheckBodies.
Result<std::string> PrintAs(const Module& module, const PrintFlags& flags);
// Sets threads, host_isa and logging, the latter from TF_CPP_* too.
Status Apply(const LogFlags& log);
// Warns at the end of patterns of --vmodule that matched no logging file. A pattern of TF_CPP_VMODULE may be meant for
// another program, so it gets a note, unless `quiet`.
void WarnOfUnmetPatterns(const LogFlags& log, bool quiet);
// [F004] when the pipeline and a module would both be read from stdin.
Status OneStdin(const PassFlags& passes, const std::vector<std::string>& modules);
// What the command of a reproducer needs. After ReadTargetFlag.
void ResolveReproducer(const PassFlags& passes, const LogFlags& log, const std::vector<std::string>& inject,
                       ReproducerOptions* reproducer);
// Finds the device that --target names, before PipelineOf: it is the pipeline's, and must outlive that.
Status ReadTargetFlag(PassFlags* passes);
// `--passes=` is an empty list, no `--passes` the pipeline of `--pipeline`. Of `inject` it takes what is planted in a
// pass, and the pass that is to crash.
Result<PipelineOptions> PipelineOf(const PassFlags& passes, const std::vector<std::string>& inject);

}  // namespace hlo

#endif  // HLO_TOOLS_MODULE_FLAGS_H_
