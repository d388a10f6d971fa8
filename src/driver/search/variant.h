// One way to compile a module among several, tried in a process of its own, so that whatever happens to it is one row
// of a table: what comes of the passes, the verdict, and how long it runs, as often as it is asked.
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
  // Of what the passes made.
  std::string fingerprint;  // "" where they failed.
  int64_t instructions = 0;
  double kernels = 0, bytes = 0, seconds = 0;  // The last by the description of the pipeline's device.
  // Pass instances and rules that changed the module: "fusion", "algsimp#2", their stage; ids of rules.
  struct Instance {
    std::string pass, name, stage;
    bool changed = false;
  };
  std::vector<Instance> instances;
  std::vector<std::string> rules;
  std::string failure;  // "FAILED(passes): ..."; "" where nothing failed.
  std::string verdict;  // Of a run; "" where none was made.
};

// A child process that holds one variant.
class VariantProcess {
 public:
  // Starts it. `runs`: the module is compiled, run and judged too, and then waits for Run. `threads` of it; 0: as many
  // as this process has.
  VariantProcess(const std::string& path, const RunOptions& options, bool runs, int threads = 0);

  // Waits for what it tells first. What ends it is a failure of the variant.
  const VariantOutcome& outcome();
  // Milliseconds of one execution, the median of those of a tenth of a second; nothing where it cannot run.
  std::optional<double> Run();

 private:
  ChildProcess child_;
  std::optional<VariantOutcome> outcome_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_VARIANT_H_
