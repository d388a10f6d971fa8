#include "gpu/plan/planner.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/hash_bytes.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/plan/fill.h"
#include "gpu/plan/scalar.h"
#include "gpu/plan/segments.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/opcode_set.h"

namespace hlo::gpu {
namespace {

struct Planner {
  KernelKind kind;
  std::string_view text;
  bool is_kernel;
  Result<PlanAnswer> (*plan)(PlanRequest& request);
};
constexpr Planner kPlanners[] = {
#define OTHER_KIND(Name, text, fields, what) {KernelKind::k##Name, text, false, Plan##Name},
#define KERNEL_KIND(Name, text, fields, what) {KernelKind::k##Name, text, true, Plan##Name},
#include "ir/kernel_kinds.def"
};

// Rejects ops on different float types, which kernels, unlike the interpreter, cannot compute.
Status CheckFloatTypes(const Instruction& kernel) {
  constexpr OpcodeSet kOfOneType = {
      Opcode::kReduce,  Opcode::kReduceWindow, Opcode::kSelectAndScatter, Opcode::kScan,    Opcode::kSort,
      Opcode::kScatter, Opcode::kMap,          Opcode::kTriangularSolve,  Opcode::kCholesky};
  if (kOfOneType.Has(kernel.opcode()) || kernel.Is(kElementwise)) TRY(CheckOneFloatType(kernel));
  if (!kernel.Is(Opcode::kFusion)) return {};
  for (const Instruction* inside : kernel.attrs<FusionAttrs>().calls->Instructions()) TRY(CheckFloatTypes(*inside));
  return {};
}

// Plans with the first kind that has a candidate, and collects earlier kinds' reasons.
Result<FusionPlan> PlanBy(bool kernels, const Instruction& inst, const DeviceDescription& device) {
  if (kernels) TRY(CheckFloatTypes(inst));
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

// A kind of region that becomes one kernel with the contents of its fusions.
struct FlatKind {
  std::string_view region;
  Result<PlanAnswer> (*plan)(PlanRequest& request);
  // The reason if the planner gives none. Empty if there is nothing to report.
  std::string_view otherwise;
  bool may_be_library = false;
};
Result<PlanAnswer> PlanNothing(PlanRequest&) { return PlanAnswer{}; }
constexpr FlatKind kFlatKinds[] = {
    {"rows", PlanRows, "it has no long reduction whose result is used along the reduced row"},
    {"attention", PlanAttentionOfRegion, "it does not have two products with reductions of rows between them", true},
    {"product", PlanProductOfRegion, ""},
    // Only libraries have such kernels.
    {"statistics", PlanNothing, "", true},
    {"attention_gradient", PlanNothing, "", true},
};

std::optional<std::string> WhyNotFlat(const FlatKind& kind, const Instruction& flat, const DeviceDescription& device) {
  const FusionBody body(flat);
  PlanRequest request(body, device);
  const auto answer = kind.plan(request);
  if (!answer) return answer.error().message();
  if (!answer->candidates.empty()) return std::nullopt;
  return answer->why.empty() ? std::string(kind.otherwise) : answer->why;
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

// Libraries choose their algorithm when the module is compiled.
Result<PlanAnswer> PlanGemm(PlanRequest& request) {
  if (LibraryOf(request.body().source()) != "gemm") return PlanAnswer{};
  return PlanAnswer{.candidates = {{{.kind = KernelKind::kGemm}}}};
}

Result<PlanAnswer> PlanConvolution(PlanRequest& request) {
  if (LibraryOf(request.body().source()) != "convolution") return PlanAnswer{};
  return PlanAnswer{.candidates = {{{.kind = KernelKind::kConvolution}}}};
}

// Never plans: the compiler later replaces a planned attention if a library has it.
Result<PlanAnswer> PlanLibraryAttention(PlanRequest&) { return PlanAnswer{}; }

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

std::vector<std::string> TakeUnplannedRegionsApart(Module& module, const DeviceDescription& device,
                                                   const LibraryOfRegion& library) {
  std::map<std::pair<std::string_view, std::string>, std::vector<const Instruction*>> apart;
  std::set<const Computation*> flattened;
  for (Computation* computation : ComputationsOfKernels(module)) {
    std::vector<RegionAndFusion> one_kernel;
    for (Instruction* region : computation->Instructions()) {
      const auto kind = std::ranges::find(kFlatKinds, RegionOf(*region), &FlatKind::region);
      if (kind == std::end(kFlatKinds)) continue;
      Instruction* flat = AddFlattened(*region);
      const std::optional<std::string> why_not = flat != nullptr ? WhyNotFlat(*kind, *flat, device)
                                                 : kind->plan == PlanNothing
                                                     ? ""
                                                     : "it has instructions that are not kernels";
      if (!why_not) {
        one_kernel.push_back({region, flat});
        continue;
      }
      if (library != nullptr && flat != nullptr && kind->may_be_library) {
        if (const std::optional<FusionPlan> plan = library(*flat)) {
          SetPlan(*flat, *plan);
          one_kernel.push_back({region, flat});
          continue;
        }
      }
      if (!why_not->empty()) apart[{kind->region, *why_not}].push_back(region);
      if (flat != nullptr) computation->Remove(*flat);
    }
    for (const auto& [region, flat] : one_kernel) flattened.insert(&FusedComputation(*region));
    ReplaceRegions(*computation, one_kernel);
  }
  std::vector<std::string> notes;
  for (auto& [kind_and_why, regions] : apart) {
    std::erase_if(regions, [&](const Instruction* region) { return flattened.contains(&region->computation()); });
    if (regions.empty()) continue;
    const std::string more = regions.size() > 1 ? Str(" and ", regions.size() - 1, " more") : "";
    notes.push_back(Str("'", regions.front()->name(), "'", more, " cannot run as one kernel of kind ",
                        kind_and_why.first, ": ", kind_and_why.second));
  }
  const std::vector<Computation*> sequential = SequentialComputations(module);
  TakeRegionsApart(module, [&](const Instruction& region) -> std::optional<RegionGroups> {
    // A segments region inside another region is expanded: its kernels belong to the outer region.
    const bool is_launch = std::ranges::find(sequential, &region.computation()) != sequential.end();
    const bool is_segments = RegionOf(region) == "segments";
    if (is_segments && !is_launch) return RegionGroups();
    const auto plan = PlanOf(region, device);
    // A region whose plan does not fit stays, so that its compilation reports the error.
    if (plan ? !plan->kernels.empty() : plan.error().exit != ExitCode::kUnsupported) return std::nullopt;
    return is_segments ? GroupSegments(region, device) : RegionGroups();
  });
  PlanSegments(module, device);
  module.RemoveUnreachable();
  return notes;
}

namespace {

uint64_t KeyOf(const Instruction& fusion) {
  uint64_t key = Fingerprint(FusedComputation(fusion));
  const auto mix = [&](uint64_t value) { key = (key ^ value) * 0x9E3779B97F4A7C15 + (key >> 31); };
  mix(static_cast<uint64_t>(fusion.attrs<FusionAttrs>().kind));
  mix(HashBytes(fusion.common().backend_config.text));
  mix(HashBytes(fusion.shape().ToStringWithLayout()));
  for (const Instruction* operand : fusion.operands()) mix(HashBytes(operand->shape().ToStringWithLayout()));
  return key;
}

// Adapts a plan for `from` to `to`'s instruction names. nullopt if the plan names an unknown instruction, or has a
// reason text, which may contain names.
std::optional<FusionPlan> Renamed(FusionPlan plan, const Instruction& from, const Instruction& to) {
  if (!plan.slow.empty()) return std::nullopt;
  std::unordered_map<std::string_view, std::string_view> names;
  const std::vector<Instruction*> theirs = FusedComputation(from).Instructions(),
                                  own = FusedComputation(to).Instructions();
  for (size_t i = 0; i < theirs.size(); ++i) names.emplace(theirs[i]->name(), own[i]->name());
  for (KernelPlan& kernel : plan.kernels) {
    for (std::vector<std::string>* list : {&kernel.heroes, &kernel.kept}) {
      for (std::string& name : *list) {
        const auto renamed = names.find(name);
        if (renamed == names.end()) return std::nullopt;
        name = renamed->second;
      }
    }
  }
  return plan;
}

}  // namespace

Status PlanModule(Module& module, const DeviceDescription& device) {
  std::vector<Instruction*> fusions;
  for (Computation* computation : ComputationsOfKernels(module)) {
    for (Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kFusion)) fusions.push_back(inst);
    }
  }
  std::unordered_map<uint64_t, size_t> first_of;
  std::vector<size_t> firsts, like(fusions.size());
  for (size_t i = 0; i < fusions.size(); ++i) {
    like[i] = HasPlan(*fusions[i]) ? i : first_of.emplace(KeyOf(*fusions[i]), i).first->second;
    if (like[i] == i) firsts.push_back(i);
  }
  std::vector<std::optional<Result<FusionPlan>>> plans(fusions.size());
  ParallelFor(std::ssize(firsts), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) plans[firsts[i]] = PlanOf(*fusions[firsts[i]], device);
  });
  for (size_t i = 0; i < fusions.size(); ++i) {
    const Result<FusionPlan>& plan = *plans[like[i]];
    if (!plan && plan.error().exit != ExitCode::kUnsupported) FAIL(plan.error());
    if (!plan || plan->kernels.empty()) continue;
    const auto renamed = like[i] == i ? *plan : Renamed(*plan, *fusions[like[i]], *fusions[i]);
    SetPlan(*fusions[i], renamed ? *renamed : TRY(PlanOf(*fusions[i], device)));
  }
  return {};
}

}  // namespace hlo::gpu
