// Flags of autotuning (docs/runtime.md#autotuning), under XLA's names and our own.
#ifndef HLO_TOOLS_TUNING_FLAGS_H_
#define HLO_TOOLS_TUNING_FLAGS_H_

#include <string>
#include <vector>

#include "driver/run/run.h"
#include "tools/flags.h"

namespace hlo {

struct TuningFlags {
  int64_t level = -1;  // -1 if not given.
  std::string cache, load, dump, denylist;
  bool require_cached = false, report = false, crash = false, strict = false, deterministic = false;
  double budget = 20, share = 0.02;
};

// If `path` is a folder, the lock file is `autotune.lock` in it. If `written`, a missing folder is created.
Result<std::string> LockFile(const std::string& path, bool written);
void AddTuningFlags(FlagSet& flags, TuningFlags* tuning);
// Error [F004]: the flags contradict each other.
Status ResolveTuningFlags(const TuningFlags& tuning, const std::vector<std::string>& inject, RunOptions* run);

}  // namespace hlo

#endif  // HLO_TOOLS_TUNING_FLAGS_H_
