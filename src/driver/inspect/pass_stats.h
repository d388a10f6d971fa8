// The effect of each pass in instructions, kernels, bytes moved and estimated time (--pass_stats).
#ifndef HLO_DRIVER_INSPECT_PASS_STATS_H_
#define HLO_DRIVER_INSPECT_PASS_STATS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/inspect/cost.h"
#include "passes/pipeline.h"

namespace hlo {

struct ModuleFigures {
  int64_t instructions = 0;
  double kernels = 0, bytes = 0, seconds = 0;  // For one run of the entry, where loops count all their trips.
};
// Dead instructions do not count, so that their removal is attributed to the pass that replaced them and not to dce.
Result<ModuleFigures> FiguresOf(const Module& module, const DeviceDescription& device);

class PassStats {
 public:
  explicit PassStats(const DeviceDescription& device) : device_(&device) {}

  // Begin is called with the initial module, and After with each instance.
  Status Begin(const Module& module);
  Status After(const PassRun& run, const Module& module);

  // The passes in the order of their first runs. Passes without changes are only counted, unless `all` is true.
  std::string Text(bool all) const;
  std::string Json() const;  // "hlo.pass_stats/1"

 private:
  struct Row {
    std::string_view name;
    int runs = 0, changed = 0, skipped = 0;
    double ms = 0;
    ModuleFigures delta;
    int64_t rewrites = 0;
  };
  const DeviceDescription* device_;
  ModuleFigures begin_, last_;
  std::vector<Row> rows_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_PASS_STATS_H_
