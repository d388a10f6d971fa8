// Flags of several commands, with the same names and meanings.
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
#include "gpu/codegen/code_cache.h"
#include "ir/text/printer.h"
#include "passes/pipeline.h"
#include "tools/flags.h"

namespace hlo {

// --inject=crash:NAME names a pass that crashes.
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
  std::shared_ptr<const Target> device;  // Set by ReadTargetFlag.
};

struct PrintFlags {
  std::string hlo_print = "long";
  std::optional<bool> large_constants;
  bool strip_metadata = false;
};

// `elided`: the values of --fill_elided_constants.
void AddLoadFlags(FlagSet& flags, LoadOptions* load,
                  std::initializer_list<ElidedValues> elided = {ElidedValues::kKeep, ElidedValues::kError});
void AddDeviceFlags(FlagSet& flags, LoadOptions* load);
// Must follow AddLoadFlags.
void AddSplitFlag(FlagSet& flags, LoadOptions* load);
// With `profiles`, --input_profile accepts a list.
void AddArgumentFlags(FlagSet& flags, RunOptions* run, std::vector<InputProfile>* profiles = nullptr);
// If a flag determines the arguments, ignores those of a snapshot.
void ResolveRecording(const FlagSet& flags, RunOptions* run);
void AddPassFlags(FlagSet& flags, PassFlags* passes);
// AddPassFlags also adds this flag.
void AddTargetFlag(FlagSet& flags, std::string* target);
// The command itself adds -o.
void AddPrintFlags(FlagSet& flags, PrintFlags* print);
void AddDumpFlags(FlagSet& flags, DumpOptions* dump);
// Must follow AddDumpFlags.
void AddReproducerFlag(FlagSet& flags, ReproducerOptions* reproducer);
void AddBundleFlag(FlagSet& flags, BundleOptions* bundle);
void AddLogFlags(FlagSet& flags, LogFlags* log);
void AddCacheFlags(FlagSet& flags, CacheFlags* cache);
// The cache in --cache_dir or HLO_CACHE_DIR, or null if neither is set.
std::shared_ptr<kernel::CodeCache> CacheOf(const CacheFlags& cache);
// Commands without AddLogFlags must pass a nonempty value to ChooseHostIsa.
void AddHostIsaFlag(FlagSet& flags, std::string* host_isa);

// Reads a bundle's flags first. Returns the arguments that are not flags. Prints completions that a shell requests and
// ends the process.
Result<std::vector<std::string>> ParseArgs(FlagSet& flags, std::span<const std::string> args);
// Like ParseArgs, but first reads XLA_FLAGS and HLO_FLAGS. Prints a note about XLA flags without effect.
Result<std::vector<std::string>> ParseAll(FlagSet& flags, std::span<const std::string> args);
// Errors: see CheckBodies.
Result<std::string> PrintAs(const Module& module, const PrintFlags& flags);
// TF_CPP_* variables also affect logging.
Status Apply(const LogFlags& log);
// Warns of --vmodule patterns without effect. TF_CPP_VMODULE gives only a note, because it may be meant for another
// program.
void WarnOfUnmetPatterns(const LogFlags& log, bool quiet);
// [F004] if both the pipeline and a module would be read from stdin.
Status OneStdin(const PassFlags& passes, const std::vector<std::string>& modules);
// Must follow ReadTargetFlag.
void ResolveReproducer(const PassFlags& passes, const LogFlags& log, const std::vector<std::string>& inject,
                       ReproducerOptions* reproducer);
// Must precede PipelineOf, whose options refer to the device in `passes`.
Status ReadTargetFlag(PassFlags* passes);
// `--passes=` means no passes. Takes the fault of a pass and the pass that crashes from `inject`.
Result<PipelineOptions> PipelineOf(const PassFlags& passes, const std::vector<std::string>& inject);

}  // namespace hlo

#endif  // HLO_TOOLS_MODULE_FLAGS_H_
