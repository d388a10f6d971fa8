// Flags of autotuning (docs/runtime.md#autotuning), XLA's names beside ours.
#ifndef HLO_TOOLS_TUNING_FLAGS_H_
#define HLO_TOOLS_TUNING_FLAGS_H_

#include <string>
#include <vector>

#include "driver/run/run.h"
#include "tools/flags.h"

namespace hlo {

struct TuningFlags {
  int64_t level = -1;  // Not said.
  std::string cache, load, dump, denylist;
  bool require_cached = false, report = false, crash = false, strict = false, deterministic = false;
  double budget = 20, share = 0.02;
};

// Of a folder `autotune.lock` in it; one that is to be written is made.
Result<std::string> LockFile(const std::string& path, bool written);
void AddTuningFlags(FlagSet& flags, TuningFlags* tuning);
// What they and --inject mean for a run. Errors [F004]: flags of which one says to measure and one not to.
Status ResolveTuningFlags(const TuningFlags& tuning, const std::vector<std::string>& inject, RunOptions* run);

}  // namespace hlo

#endif  // HLO_TOOLS_TUNING_FLAGS_H_
