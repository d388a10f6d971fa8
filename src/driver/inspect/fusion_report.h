// A report on the choice of kernels (--print_fusion_plan): reasons, and rejected fusions with their savings.
#ifndef HLO_DRIVER_INSPECT_FUSION_REPORT_H_
#define HLO_DRIVER_INSPECT_FUSION_REPORT_H_

#include <string>

#include "ir/module.h"
#include "passes/fusion/log.h"

namespace hlo {

struct FusionReportOptions {
  size_t blocks = 16;  // Number of groups of similar kernels to print. Further kernels are counted.
  size_t lines = 4;    // Most lines about rejected fusions for a kernel.
  size_t names = 4;
  double least = 0.01;  // A rejected fusion is printed if it would save this share of a kernel's traffic.
};

// For a module with plans (gpu::PlanModule), and the log of its fusion passes.
std::string FusionReport(const Module& module, const FusionLog& log, const FusionReportOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_FUSION_REPORT_H_
