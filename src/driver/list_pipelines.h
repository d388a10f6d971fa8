// The list of pipelines for --list_pipelines, with counts of passes.
#ifndef HLO_DRIVER_LIST_PIPELINES_H_
#define HLO_DRIVER_LIST_PIPELINES_H_

#include <string>

#include "ir/module.h"
#include "passes/pipelines/text.h"

namespace hlo {

// Each preset with its pipelines in order of execution, their purposes, and counts.
std::string PipelineList();

// Counts as in the study of XLA's passes: each fixed point once, and passes named twice are two invocations. On one
// device, invocations exclude partitioning. Passes that prepare emission are invocations but not optimizations. XLA's
// work outside its pipelines is neither.
struct PassCounts {
  int distinct = 0;             // Distinct passes, including those behind closed gates.
  int distinct_one_device = 0;  // Without passes used only for partitioning.
  int invocations = 0;          // For this module on this device.
};
PassCounts CountsOf(const Pipeline& pipeline, const Module& module, const DeviceDescription& device);

// "75 passes by name, 72 of them on one device, where 97 run".
std::string ToString(const PassCounts& counts);

}  // namespace hlo

#endif  // HLO_DRIVER_LIST_PIPELINES_H_
