// Which kernels a module has become, why, what else was looked at, and what it saves: for people (--print_fusion_plan).
#ifndef HLO_DRIVER_INSPECT_FUSION_REPORT_H_
#define HLO_DRIVER_INSPECT_FUSION_REPORT_H_

#include <string>

#include "ir/module.h"
#include "passes/fusion/log.h"

namespace hlo {

struct FusionReportOptions {
  size_t blocks = 16;  // Kernels that are shown, those alike together; the rest is counted.
  size_t lines = 4;    // Of each that is kept apart, too.
  size_t names = 4;
  double least = 0.01;  // Of a kernel's traffic that a union would save, if the reason against it is to be shown.
};

// Of a module with plans (gpu::PlanModule), and what the passes that fused it wrote down.
std::string FusionReport(const Module& module, const FusionLog& log, const FusionReportOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_FUSION_REPORT_H_
