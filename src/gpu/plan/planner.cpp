#include "gpu/plan/planner.h"

#include <algorithm>
#include <map>

#include "base/parallel.h"
#include "base/text.h"
#include "gpu/plan/fill.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/region.h"

namespace hlo::gpu {
namespace {

struct Planner {
  KernelKind kind;
  std::string_view text;
  bool is_kernel;  // Of ours.
  Result<PlanAnswer> (*plan)(PlanRequest& request);
};
constexpr Planner kPlanners[] = {
#define OTHER_KIND(Name, text, fields, what) {KernelKind::k##Name, text, false, Plan##Name},
#define KERNEL_KIND(Name, text, fields, what) {KernelKind::k##Name, text, true, Plan##Name},
#include "ir/kernel_kinds.def"
};

// The first kind that has a candidate, with the reasons of those before it. A region is a kernel of the kind of its
// name.
Result<FusionPlan> PlanBy(bool kernels, const Instruction& inst, const DeviceDescription& device) {
  const FusionBody body(inst);
  PlanRequest request(body, device);
  FusionPlan plan{.target = std::string(device.name)};
  std::vector<std::string> reasons;
  for (const Planner& planner : kPlanners) {
    if (planner.is_kernel != kernels || (IsRegion(inst) && planner.text != RegionOf(inst))) continue;
    PlanAnswer answer = TRY(planner.plan(request));
    if (!answer.why.empty() && std::ranges::find(reasons, answer.why) == reasons.end())
      reasons.push_back(std::move(answer.why));
    if (answer.candidates.empty()) continue;
    plan.kernels = std::move(answer.candidates.front());
    break;
  }
  plan.slow = Join(reasons, "; ");
  return plan;
}

// Why what a region of rows computes is no kernel of rows; "" where it is one.
std::string WhyNotRows(const Instruction& flat, const DeviceDescription& device) {
  const FusionBody body(flat);
  PlanRequest request(body, device);
  const auto answer = PlanRows(request);
  if (!answer) return answer.error().message();
  if (!answer->candidates.empty()) return "";
  return answer->why.empty() ? "no long reduction is used along the row that it reduced" : answer->why;
}

}  // namespace

Result<std::vector<const LoopSpace*>> PlanRequest::Loops() {
  if (loops_.empty()) loops_ = TRY(LoopSpacesOf(body_, AllRoots(body_)));
  std::vector<const LoopSpace*> borrowed;
  for (const auto& space : loops_) borrowed.push_back(space.get());
  return borrowed;
}

Result<PlanAnswer> PlanFill(PlanRequest& request) {
  if (FilledWith(request.body().source()) == nullptr) return PlanAnswer{};
  return PlanAnswer{.candidates = {{{.kind = KernelKind::kFill}}}};
}

// Which library takes it and by which algorithm, the device's libraries tell when it is compiled.
Result<PlanAnswer> PlanGemm(PlanRequest& request) {
  if (LibraryOf(request.body().source()) != "gemm") return PlanAnswer{};
  return PlanAnswer{.candidates = {{{.kind = KernelKind::kGemm}}}};
}

Result<PlanAnswer> PlanConvolution(PlanRequest& request) {
  if (LibraryOf(request.body().source()) != "convolution") return PlanAnswer{};
  return PlanAnswer{.candidates = {{{.kind = KernelKind::kConvolution}}}};
}

Result<FusionPlan> PlanKernels(const Instruction& inst, const DeviceDescription& device) {
  return PlanBy(/*kernels=*/true, inst, device);
}

Result<FusionPlan> PlanFusion(const Instruction& inst, const DeviceDescription& device) {
  FusionPlan plan = TRY(PlanBy(/*kernels=*/false, inst, device));
  return plan.kernels.empty() ? PlanKernels(inst, device) : std::move(plan);
}

Result<FusionPlan> PlanOf(const Instruction& inst, const DeviceDescription& device) {
  std::optional<FusionPlan> plan = TRY(ReadPlan(inst));
  if (!plan) return PlanFusion(inst, device);
  if (plan->target.empty() || plan->target == device.name) return std::move(*plan);
  Error error = PlanError(inst, Str("it is for '", Escaped(plan->target), "', not for '", device.name, "'"));
  error.diagnostics.front().code = "C002";
  FAIL(std::move(error).Hint(Str("--target=", plan->target, " compiles for that device")));
}

Result<FusionPlan> KernelPlanOf(const Instruction& inst, const DeviceDescription& device) {
  FusionPlan plan = TRY(PlanOf(inst, device));
  return plan.kernels.empty() || IsOwnKernel(plan.kernels.front().kind) ? std::move(plan) : PlanKernels(inst, device);
}

std::vector<std::string> TakeUnplannedRegionsApart(Module& module, const DeviceDescription& device) {
  std::map<std::string, std::vector<std::string_view>> apart;  // By reason.
  for (Computation* computation : ComputationsOfKernels(module)) {
    std::vector<RegionAndFusion> rows;
    for (Instruction* region : computation->Instructions()) {
      if (RegionOf(*region) != "rows") continue;
      Instruction* flat = AddFlattened(*region);
      const std::string why_not = flat == nullptr ? "it holds more than kernels" : WhyNotRows(*flat, device);
      if (why_not.empty()) {
        rows.push_back({region, flat});
        continue;
      }
      apart[why_not].push_back(region->name());
      if (flat != nullptr) computation->Remove(*flat);
    }
    ReplaceRegions(*computation, rows);
  }
  std::vector<std::string> notes;
  for (const auto& [why, names] : apart) {
    const std::string more = names.size() > 1 ? Str(" and ", names.size() - 1, " more are") : " is";
    notes.push_back(Str("'", names.front(), "'", more, " no kernel of rows: ", why));
  }
  TakeRegionsApart(module, [&](const Instruction& region) {
    const auto plan = PlanOf(region, device);
    // One whose plan does not fit stays, so that who compiles it says so.
    return plan ? !plan->kernels.empty() : plan.error().exit != ExitCode::kUnsupported;
  });
  module.RemoveUnreachable();
  return notes;
}

Status PlanModule(Module& module, const DeviceDescription& device) {
  std::vector<Instruction*> fusions;
  for (Computation* computation : ComputationsOfKernels(module)) {
    for (Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kFusion)) fusions.push_back(inst);
    }
  }
  std::vector<std::optional<Result<FusionPlan>>> plans(fusions.size());
  ParallelFor(std::ssize(fusions), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) plans[i] = PlanOf(*fusions[i], device);
  });
  for (size_t i = 0; i < fusions.size(); ++i) {
    if (!*plans[i] && plans[i]->error().exit != ExitCode::kUnsupported) FAIL(std::move(*plans[i]).error());
    if (*plans[i] && !(*plans[i])->kernels.empty()) SetPlan(*fusions[i], **plans[i]);
  }
  return {};
}

}  // namespace hlo::gpu
