// Compiles a variant of a module in a child process, so that any failure is only a row in a table. Returns the results
// of the passes and the verdict, and measures the run time on request.
#ifndef HLO_DRIVER_SEARCH_VARIANT_H_
#define HLO_DRIVER_SEARCH_VARIANT_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/run/run.h"
#include "driver/search/child.h"

namespace hlo {

struct VariantOutcome {
  // The results of the passes.
  std::string fingerprint;  // "" if they failed.
  int64_t instructions = 0;
  double kernels = 0, bytes = 0, seconds = 0;  // `seconds` by the description of the pipeline's device.
  // The pass instances and rules that changed the module: pass, name ("algsimp#2") and stage; ids of rules.
  struct Instance {
    std::string pass, name, stage;
    bool changed = false;
  };
  std::vector<Instance> instances;
  std::vector<std::string> rules;
  std::string failure;  // "FAILED(passes): ...", or "" for no failure.
  std::string verdict;  // "" if it did not run.
};

// A child process for one variant.
class VariantProcess {
 public:
  // Starts the process. With `runs`, it also compiles, runs and judges the module, and then waits for Run. `threads` of
  // 0 is the number of this process.
  VariantProcess(const std::string& path, const RunOptions& options, bool runs, int threads = 0);

  // Waits for the first results. The end of the process counts as a failure of the variant.
  const VariantOutcome& outcome();
  // Milliseconds of one execution: the median over a tenth of a second. nullopt if it cannot run.
  std::optional<double> Run();

 private:
  ChildProcess child_;
  std::optional<VariantOutcome> outcome_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_VARIANT_H_
