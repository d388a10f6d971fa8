// What each pass does to a module, in figures: instructions, kernels, bytes moved, time by the device's description.
// For
// --pass_stats.
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
  double kernels = 0, bytes = 0, seconds = 0;  // Of one run of the entry; loops by their trips.
};
// What is dead and waits for dce does not count: it is whoever replaced it that did away with it.
Result<ModuleFigures> FiguresOf(const Module& module, const DeviceDescription& device);

class PassStats {
 public:
  explicit PassStats(const DeviceDescription& device) : device_(&device) {}

  // Of what the pipeline begins with, and after each of its instances.
  Status Begin(const Module& module);
  Status After(const PassRun& run, const Module& module);

  // Passes by name, in order of their first run; those that changed nothing are counted, or shown too.
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
