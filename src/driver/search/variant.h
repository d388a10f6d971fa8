// Compiles a variant in a child process, so that a failure is only a row in a table.
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
  std::string fingerprint;  // "" if the passes failed.
  int64_t instructions = 0;
  double kernels = 0, bytes = 0, seconds = 0;  // `seconds` are modelled for the pipeline's device.
  struct Instance {
    std::string pass, name, stage;
    bool changed = false;
  };
  std::vector<Instance> instances;
  std::vector<std::string> rules;
  std::string failure;  // "FAILED(passes): ..."
  std::string verdict;  // "" if the variant did not run.
};

class VariantProcess {
 public:
  // With `runs`, the process also runs and judges the module, then waits for Run. If `threads` is 0, it has as many
  // threads as this process.
  VariantProcess(const std::string& path, const RunOptions& options, bool runs, int threads = 0);

  // Waits for the outcome. If the process ends early, the variant failed.
  const VariantOutcome& outcome();
  // Median milliseconds over a tenth of a second. nullopt if the variant cannot run.
  std::optional<double> Run();

 private:
  ChildProcess child_;
  std::optional<VariantOutcome> outcome_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_VARIANT_H_
