// The pipelines as a list, for --list_pipelines, and what they count to.
#ifndef HLO_DRIVER_LIST_PIPELINES_H_
#define HLO_DRIVER_LIST_PIPELINES_H_

#include <string>

#include "ir/module.h"
#include "passes/pipelines/text.h"

namespace hlo {

// Each preset: its pipelines in order of execution, what each is for, how many passes it names, and the counts.
std::string PipelineList();

// How the study of XLA's passes counts, each fixed point once (passes named twice are two invocations). What partitions
// over devices is none of the invocations of one device; what prepares emission is an invocation and no optimization;
// what XLA does outside of its pipelines is neither.
struct PassCounts {
  int distinct = 0;             // Passes by name, behind shut gates too.
  int distinct_one_device = 0;  // Without those that partitioning alone has.
  int invocations = 0;          // For this module on this device.
};
PassCounts CountsOf(const Pipeline& pipeline, const Module& module, const DeviceDescription& device);

// "75 passes by name, 72 of them on one device, where 97 run".
std::string ToString(const PassCounts& counts);

}  // namespace hlo

#endif  // HLO_DRIVER_LIST_PIPELINES_H_
