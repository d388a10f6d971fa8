// Planners: from a fusion and a device description to a plan (ir/fusion_plan.h), without a device.
//
//   ir/kernel_kinds.def   the kinds of kernels, in order of preference
//   Plan<Kind>            candidates, or why not; one for each kind, in this folder
//   Emit<Kind>            the kernel that obeys a plan, in gpu/emitters
//
// A kind without either does not link. What a planner and its emitter both need to know of a fusion (what it iterates
// over) is a space: worked out from the fusion alone, the same each time.
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
  // Each covers the whole fusion. The first is the one to take where nothing was measured.
  std::vector<std::vector<KernelPlan>> candidates;
  // Without candidates: why a fusion that has what this kind is for has to take a slower one. Empty: it has not, or is
  // too small for it to pay. With candidates: why these are slow.
  std::string why;
};

// What planners are asked about. What several of them look at is worked out once.
class PlanRequest {
 public:
  PlanRequest(const FusionBody& body, const DeviceDescription& device) : body_(body), device_(device) {}

  const FusionBody& body() const { return body_; }
  const DeviceDescription& device() const { return device_; }
  // The kernels that take the fusion element by element.
  Result<std::vector<const LoopSpace*>> Loops();

 private:
  const FusionBody& body_;
  const DeviceDescription& device_;
  std::vector<std::unique_ptr<LoopSpace>> loops_;
};

// What a region computes, as one kernel of ours where that is no slower than its parts: an attention next to two
// library calls and a kernel of rows between; a product that reads operands as they lie, next to a library's that reads
// what other kernels made of them.
Result<PlanAnswer> PlanAttentionOfRegion(PlanRequest& request);
Result<PlanAnswer> PlanProductOfRegion(PlanRequest& request);

// The kernels that go through `spaces`; `tiles`: as transposes where that is possible.
Result<std::vector<KernelPlan>> PlanElements(std::span<const LoopSpace* const> spaces, const DeviceDescription& device,
                                             bool tiles);

#define KERNEL_KIND(Name, text, fields, what) Result<PlanAnswer> Plan##Name(PlanRequest& request);
#include "ir/kernel_kinds.def"

// A plan for a fusion or a lone instruction. Errors (kUnsupported): no emitter for it.
Result<FusionPlan> PlanFusion(const Instruction& inst, const DeviceDescription& device);
// The same by kernels of ours, also for what is meant for a library or a fill.
Result<FusionPlan> PlanKernels(const Instruction& inst, const DeviceDescription& device);
// The plan that stands on it, else PlanFusion. Errors also C001, C002: it is malformed or for another device.
Result<FusionPlan> PlanOf(const Instruction& inst, const DeviceDescription& device);
// The same, but for what is no kernel of ours: PlanKernels.
Result<FusionPlan> KernelPlanOf(const Instruction& inst, const DeviceDescription& device);
// Regions (ir/region.h) of rows, attentions and products that are one kernel become a fusion each, without fusions in
// it; others stay where a planner takes them and one kernel is worth it, or are taken apart. Gives why, of those of
// rows and attentions. `library`: the plan of an attention or of statistics, as one fusion, that a library takes where
// no kernel of ours does; null: no library is known.
using LibraryOfRegion = std::function<std::optional<FusionPlan>(const Instruction& flat)>;
std::vector<std::string> TakeUnplannedRegionsApart(Module& module, const DeviceDescription& device,
                                                   const LibraryOfRegion& library = nullptr);
// Writes a plan on each fusion that runs and has none; those that are there are read and stay. What has no kernels is
// left without one.
Status PlanModule(Module& module, const DeviceDescription& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_PLANNER_H_
