// A report of kernels (--print_fusion_plan): reasons, rejected alternatives, and savings.
#ifndef HLO_DRIVER_INSPECT_FUSION_REPORT_H_
#define HLO_DRIVER_INSPECT_FUSION_REPORT_H_

#include <string>

#include "ir/module.h"
#include "passes/fusion/log.h"

namespace hlo {

struct FusionReportOptions {
  size_t blocks = 16;  // Kernels to print, with similar ones grouped; others are counted.
  size_t lines = 4;    // Limit of the lines about rejected unions of a kernel.
  size_t names = 4;
  double least = 0.01;  // Prints a rejected union if it would save this share of a kernel's traffic.
};

// For a module with plans (gpu::PlanModule), and the log of its fusion passes.
std::string FusionReport(const Module& module, const FusionLog& log, const FusionReportOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_FUSION_REPORT_H_
