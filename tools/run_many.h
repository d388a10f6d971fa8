// Runs of several modules, seeds or input profiles, as a table with one row each.
#ifndef HLO_TOOLS_RUN_MANY_H_
#define HLO_TOOLS_RUN_MANY_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/run_flags.h"

namespace hlo {

struct Job {
  std::string path, title;
  InputProfile profile = InputProfile::kNormal;
  int64_t seed = 0;
};

Result<std::vector<Job>> JobsOf(const std::vector<std::string>& paths, const RunFlags& f);
// Runs each job in a process of its own.
Result<ExitCode> RunMany(const std::vector<Job>& jobs, const RunFlags& f);

}  // namespace hlo

#endif  // HLO_TOOLS_RUN_MANY_H_
