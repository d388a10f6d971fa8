// A report of kernels (--print_fusion_plan): reasons, rejected alternatives, and savings.
#ifndef HLO_DRIVER_INSPECT_FUSION_REPORT_H_
#define HLO_DRIVER_INSPECT_FUSION_REPORT_H_

#include <string>

#include "ir/module.h"
#include "passes/fusion/log.h"

namespace hlo {

struct FusionReportOptions {
  size_t blocks = 16;  // Similar kernels share one; others are counted.
  size_t lines = 4;    // Rejected unions shown for each kernel.
  size_t names = 4;
  double least = 0.01;  // A rejected union is shown if it saves this share of a kernel's traffic.
};

// For a module with plans (gpu::PlanModule) and its fusion passes' log.
std::string FusionReport(const Module& module, const FusionLog& log, const FusionReportOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_FUSION_REPORT_H_
