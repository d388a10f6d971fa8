// Planners choose a plan (ir/fusion_plan.h) from a fusion and a device description, without a device.
//
//   ir/kernel_kinds.def   the kinds of kernels, in order of preference
//   Plan<Kind>            returns candidates or a reason why not; one function for each kind, in this folder
//   Emit<Kind>            emits the kernel for a plan, in gpu/emitters
#ifndef HLO_GPU_PLAN_PLANNER_H_
#define HLO_GPU_PLAN_PLANNER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/plan/elemental.h"
#include "gpu/plan/loop_space.h"
#include "ir/device_description.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

struct PlanAnswer {
  // Each candidate covers the whole fusion. The first is taken.
  std::vector<std::vector<KernelPlan>> candidates;
  // Without candidates: why a fusion that suits this kind needs a slower kind, if so. With candidates: why these are
  // slow.
  std::string why;
};

class PlanRequest {
 public:
  PlanRequest(const FusionBody& body, const DeviceDescription& device) : body_(body), device_(device) {}

  const FusionBody& body() const { return body_; }
  const DeviceDescription& device() const { return device_; }
  Result<std::vector<const LoopSpace*>> Loops();

 private:
  const FusionBody& body_;
  const DeviceDescription& device_;
  std::vector<std::unique_ptr<LoopSpace>> loops_;
};

// These planners have no candidate if library calls are faster: for an attention two calls with a kernel between them,
// for a product a call on prepared operands.
Result<PlanAnswer> PlanAttentionOfRegion(PlanRequest& request);
Result<PlanAnswer> PlanProductOfRegion(PlanRequest& request);

// With `tiles`, plans transpose kernels where possible.
Result<std::vector<KernelPlan>> PlanElements(std::span<const LoopSpace* const> spaces, const DeviceDescription& device,
                                             bool tiles);

#define KERNEL_KIND(Name, text, fields, what) Result<PlanAnswer> Plan##Name(PlanRequest& request);
#include "ir/kernel_kinds.def"

// Errors (kUnsupported): the instruction has no emitter.
Result<FusionPlan> PlanFusion(const Instruction& inst, const DeviceDescription& device);
// Plans our kernels even for a library's fusion or a fill.
Result<FusionPlan> PlanKernels(const Instruction& inst, const DeviceDescription& device);
// The instruction's own plan, or else PlanFusion's. More errors: C001 (malformed plan) and C002 (plan for another
// device).
Result<FusionPlan> PlanOf(const Instruction& inst, const DeviceDescription& device);
// Like PlanOf, but PlanKernels' plan in place of a library call or fill.
Result<FusionPlan> KernelPlanOf(const Instruction& inst, const DeviceDescription& device);
// Regions of rows, attentions and products become fusions if one kernel computes them. Other regions
// (ir/analysis/region.h) stay if a planner supports them. The rest is expanded. Returns the reasons for expanding.
// `library`, which may be null, plans regions without a kernel of ours.
using LibraryOfRegion = std::function<std::optional<FusionPlan>(const Instruction& flat)>;
std::vector<std::string> TakeUnplannedRegionsApart(Module& module, const DeviceDescription& device,
                                                   const LibraryOfRegion& library = nullptr);
// Plans all fusions. Existing plans are checked and kept. Fusions without kernels get none.
Status PlanModule(Module& module, const DeviceDescription& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_PLANNER_H_
