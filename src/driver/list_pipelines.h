// The list of pipelines for --list_pipelines, with counts of passes.
#ifndef HLO_DRIVER_LIST_PIPELINES_H_
#define HLO_DRIVER_LIST_PIPELINES_H_

#include <string>

#include "ir/module.h"
#include "passes/pipelines/text.h"

namespace hlo {

// All presets with their pipelines in order of execution.
std::string PipelineList();

// A stage that runs until nothing changes counts once, and a pass named twice is two
// invocations. `distinct_one_device` and `invocations` exclude partitioning. Passes that prepare emission count only as
// invocations.
struct PassCounts {
  int distinct = 0;  // Includes passes whose gate (pipeline.h) is closed.
  int distinct_one_device = 0;
  int invocations = 0;  // For this module on this device.
};
PassCounts CountsOf(const Pipeline& pipeline, const Module& module, const DeviceDescription& device);

std::string ToString(const PassCounts& counts);

}  // namespace hlo

#endif  // HLO_DRIVER_LIST_PIPELINES_H_
